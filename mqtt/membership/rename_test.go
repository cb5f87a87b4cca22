package membership

import (
	"errors"
	"strings"
	"testing"
)

// Any member may call any device otherwise; the host decides, and everybody learns it, the host whose wish it was. What cannot be is refused, and nothing has changed.
func TestRenaming(t *testing.T) {
	host, m := room(t, "kitchen", "cellar")
	kitchen, cellar := m[0], m[1]
	until(t, "the kitchen has the list", func() bool { return kitchen.Member(cellar.id.ID()) })
	for _, d := range []*device{host, kitchen} {
		for _, row := range []struct {
			id   Device
			name string
			want error
		}{
			{cellar.id.ID(), "KITCHEN", ErrTaken}, {cellar.id.ID(), "k\u0456tchen", ErrTaken}, {cellar.id.ID(), string(cellar.id.ID()), ErrName}, {cellar.id.ID(), "", ErrName}, {cellar.id.ID(), "a\nb", ErrName}, {cellar.id.ID(), "\u202eabc", ErrName},
			{cellar.id.ID(), strings.Repeat("a", maxName+1), ErrName}, {identity(t).ID(), "attic", ErrNoMember},
		} {
			if err := d.Rename(t.Context(), row.id, row.name); !errors.Is(err, row.want) {
				t.Errorf("%q: %v; want %v", row.name, err, row.want)
			}
		}
	}
	version := host.Room().Version
	if err := kitchen.Rename(t.Context(), cellar.id.ID(), "Cellar"); err != nil { // its own name, spelled otherwise
		t.Fatal(err)
	}
	for _, d := range []*device{host, cellar} {
		if c := d.change(Renamed, cellar.id.ID()); c.Name != "Cellar" || d == host && c.By != kitchen.id.ID() {
			t.Errorf("%+v", c)
		}
	}
	if got := host.Room().Version; got != version+1 {
		t.Errorf("version %d after %d", got, version)
	}
	if got := open(t, cellar.dir, cellar.id, Clock{}).Room().Called; got != "Cellar" {
		t.Errorf("on disk it is called %q", got)
	}
}
