package mqtt

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// Closed while something is on its way to us, a connection is reset, and a broker that has not read the goodbye by then sends the
// will. So it is the broker who hangs up.
func TestTheBrokerHangsUp(t *testing.T) {
	for name, broker := range map[string]struct {
		hangsUp bool
		after   time.Duration
	}{
		"soon":  {true, 30 * time.Millisecond},
		"never": {false, hangUp},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close()
				p := newPatient(ours, nil)
				heard := make(chan error, 1)
				go func() { _, err := io.Copy(io.Discard, p); heard <- err }()
				closed := make(chan time.Duration, 1)
				begin := time.Now()
				go func() {
					if err := packets.NewControlPacket(packets.Disconnect).Write(p); err != nil {
						t.Error(err)
					}
					_ = p.Close()
					closed <- time.Since(begin)
				}()
				if cp, err := packets.ReadPacket(theirs); err != nil || cp.(*packets.DisconnectPacket) == nil {
					t.Fatal(cp, err)
				}
				time.Sleep(30 * time.Millisecond)
				if err := packets.NewControlPacket(packets.Pingresp).Write(theirs); err != nil {
					t.Errorf("what was on its way met a closed connection: %v", err)
				}
				if broker.hangsUp {
					_ = theirs.Close()
				}
				if got := <-closed; got != broker.after {
					t.Errorf("closed after %v; want %v", got, broker.after)
				}
				if err := <-heard; !errors.Is(err, net.ErrClosed) {
					t.Errorf("the reader has heard %v; want what says that it was meant", err)
				}
			})
		})
	}
}
