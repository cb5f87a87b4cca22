package membership

import (
	"os"
	"path/filepath"
	"testing"

	"conch/mqtt"
)

// Who looks leaves half a room as it is, and sees a whole one.
func TestLookChangesNothing(t *testing.T) {
	dir := t.TempDir()
	id, err := mqtt.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, roomDir, keyFile)
	if err := os.Mkdir(filepath.Dir(half), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Look(dir, id)
	if err != nil || m.Room() != nil {
		t.Errorf("half a room is %v, %v", m.Room(), err)
	}
	if _, err := os.Stat(half); err != nil {
		t.Errorf("it was cleared away: %v", err)
	}
	if _, err := Open(dir, id, Clock{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("Open has left it: this test would prove nothing")
	}

	host, err := Open(dir, id, Clock{})
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Found("home", "kitchen", false); err != nil {
		t.Fatal(err)
	}
	other, err := mqtt.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Admit(t.Context(), Party{Device: other.ID(), Key: other.PublicKey(), Name: "hall"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, roomDir, roomFile+newFile)
	if err := os.WriteFile(path, []byte("being written"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err = Look(dir, id); err != nil || len(m.Room().Members) != 2 || !m.IsHost() {
		t.Errorf("%+v, %v", m.Room(), err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("what is being written was cleared away: %v", err)
	}
}
