package rehearse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRehearsalRoomFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("mia.toml", "name = \"Mia\"\nrole = \"the gardener\"\nexpertise = [\"roses\"]\n")
	write("bad.toml", "name = \"Mia\"\ntalkativeness = 5\n")
	for _, c := range []struct{ name, text, want, err string }{
		{"two on one device, and a card of one's own", "[[device]]\nname = \"küche\"\ncompanions = [\"Ada\", \"cleo\"]\n[[device]]\nname = \"garden\"\ncards = [\"mia.toml\"]\n",
			"küche: Ada, the cook of the house and Cleo, the one by the door; garden: Mia, the gardener", ""},
		{"no device", "", "", "has 0 devices ([[device]]); must be 1 to 16"},
		{"no companion", "[[device]]\nname = \"a\"\n", "", "device 1 (a): has 0 companions"},
		{"an unknown companion", "[[device]]\nname = \"a\"\ncompanions = [\"Dora\"]\n", "", `companions: unknown "Dora": must be one of Ada, Ben, Cleo, or a file in cards`},
		{"a name of two words", "[[device]]\nname = \"living room\"\ncompanions = [\"Ada\"]\n", "", `name = "living room": must be one word`},
		{"a name twice", "[[device]]\nname = \"a\"\ncompanions = [\"Ada\"]\n[[device]]\nname = \"A\"\ncompanions = [\"Ben\"]\n", "", "another device has it"},
		{"a companion twice", "[[device]]\nname = \"a\"\ncompanions = [\"Ada\", \"ada\"]\n", "", "companion ada is there twice"},
		{"an unknown key", "[[device]]\nname = \"a\"\ncompanion = [\"Ada\"]\n", "", "device.companion: unknown key"},
		{"a card with a mistake", "[[device]]\nname = \"a\"\ncards = [\"bad.toml\"]\n", "", "bad.toml:2: talkativeness = 5"},
		{"a card that is not there", "[[device]]\nname = \"a\"\ncards = [\"no.toml\"]\n", "", "no.toml: no such file or directory"},
		{"no TOML", "[[device\n", "", "room.toml:1: a section"},
	} {
		room, err := ReadRoom(write("room.toml", c.text))
		switch {
		case c.err == "" && (err != nil || room.String() != c.want):
			t.Errorf("%s: %s, %v; want %s", c.name, room, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: error %v; want %q", c.name, err, c.err)
		}
	}
	if _, err := ReadRoom(dir); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	const want = "kitchen: Ada, the cook of the house; bedroom: Ben, the reader of the house; hall: Cleo, the one by the door"
	if got := DefaultRoom().String(); got != want {
		t.Errorf("default: %s\nwant %s", got, want)
	}
}
