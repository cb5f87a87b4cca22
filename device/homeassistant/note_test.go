package homeassistant

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What was told where survives, bounded; what is forgotten is no file.
func TestNote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "homeassistant.json")
	if n, err := load(path); err != nil || len(n.Places) != 0 {
		t.Fatalf("a note that is not there: %+v, %v", n, err)
	}
	at := func(i int) place {
		return place{Broker: fmt.Sprintf("mqtt://house-%d:1883", i), Prefix: "homeassistant", Device: string(kitchen), Entities: map[string]string{"stop": "button"}}
	}
	n := note{ID: newID()}
	for i := range maxPlaces + 3 {
		n = n.with(at(i))
	}
	more := at(5)
	more.User, more.Entities = "conch", map[string]string{"talk": "switch"}
	n = n.with(more)
	if err := n.save(path); err != nil {
		t.Fatal(err)
	}
	got, err := load(path)
	if err != nil || len(got.Places) != maxPlaces || got.ID != n.ID {
		t.Fatalf("%d places, id %q, %v; want the last %d, %q", len(got.Places), got.ID, err, maxPlaces, n.ID)
	}
	if p := got.at(at(5)); p.User != "conch" || p.Entities["talk"] != "switch" || p.Entities["stop"] != "button" {
		t.Errorf("a place that was told of twice: %+v", p)
	}
	for _, p := range got.Places {
		got = got.without(p)
	}
	got.ID = ""
	if err := got.save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("an empty note is a file: %v", err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A note that is broken, or hostile, is no note.
func TestBrokenNote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "homeassistant.json")
	for _, text := range []string{"", "{", `{"places":[{"broker":"mqtt://a","prefix":"x/#","device":"d"}]}`, `{"places":[{"device":"../+","prefix":"p"}],"id":"a/b"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, _ := load(path); len(n.Places) > 0 || n.ID != "" {
			t.Errorf("%q is %+v", text, n)
		}
	}
}
