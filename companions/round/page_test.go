package round

import (
	"testing"
	"time"
)

// The page of a device is told beside its cards; what is none is not believed, and costs the member nothing else.
func TestAMemberTellsOfItsPage(t *testing.T) {
	const own, other = "http://kitchen.local:7485/", "http://192.168.7.9:7485/"
	m := New(Config{Self: "a", Name: "kitchen", Cards: []Card{cook()}, Page: own})
	at := time.Duration(0)
	step := func(ev Event) (told []Beat) {
		var out []Effect
		m, out = Step(m, ev)
		for _, e := range out {
			if s, ok := e.(Send); ok {
				if b, ok := s.Packet.(Beat); ok {
					told = append(told, b)
				}
			}
		}
		return told
	}
	told := step(LinkChanged{at, true})
	for range 5 {
		at += time.Second
		told = append(told, step(Tick{At: at})...)
	}
	cards := 0
	for _, b := range told {
		want := ""
		if b.Cards != nil {
			cards++
			want = own
		}
		if b.Page != want {
			t.Errorf("beside %d cards the page is %q", len(b.Cards), b.Page)
		}
	}
	if cards == 0 {
		t.Fatal("its cards are never told")
	}
	list := []Card{astronomer()}
	for _, c := range []struct {
		beat Beat
		want string
	}{
		{Beat{Name: "hall", Digest: digestOf(list), Cards: list, Page: other}, other},
		{Beat{Name: "hall", Digest: digestOf(list)}, other},
		{Beat{Name: "hall", Digest: digestOf(list), Cards: list, Page: "https://bank.example:443/"}, ""},
		{Beat{Name: "hall", Digest: digestOf(list), Cards: list}, ""}, // as of a device that does not know of pages
	} {
		at += time.Second
		step(Received{at, "b", c.beat})
		all := m.Members()
		if len(all) != 2 || all[0].Page != own || all[1].Page != c.want || len(all[1].Cards) != 1 {
			t.Errorf("after %+v: %+v", c.beat, all)
		}
	}
}
