package membership

import (
	"fmt"
	"strings"

	"conch/mqtt"
)

// MosquittoACL is an access list (acl_file) for a room on a Mosquitto: whoever may connect reads the room, and writes only under the
// device id that it connects with. Mosquitto believes a client's id; what is signed is not believed because of it.
func MosquittoACL(room string) (string, error) {
	if err := mqtt.CheckRoom(room); err != nil {
		return "", err
	}
	if strings.TrimSpace(room) != room {
		return "", fmt.Errorf("membership: room %q: an access list cannot hold spaces at the ends of a name", room)
	}
	return fmt.Sprintf(`# Room %s of conch. %%c is the client's id, and that is the device's id (conch room id).
# Each device reads the room, and writes under its own id only.
pattern read conch/v1/%[1]s/+/+
pattern write conch/v1/%[1]s/+/%%c
`, room), nil
}
