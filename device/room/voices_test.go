package room

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/voice"
	"conch/coordinator/turn"
	"conch/device/config"
)

type orders []turn.Order

func (o *orders) Do(order turn.Order)                     { *o = append(*o, order) }
func (o *orders) Tools([]turn.ToolSpec)                   {}
func (o *orders) Names(names []string)                    { *o = append(*o, turn.AddText{Text: strings.Join(names, " ")}) }
func (o *orders) Append(turn.ID, []int16)                 {}
func (o *orders) Nudge()                                  {}
func (o *orders) Call(func()) bool                        { return false }
func (o *orders) Run(context.Context, voice.Outlet) error { return nil }

// The tool of a turn that was cut may answer when many others have been given to somebody else.
func TestALateOrderOfAnOldTurn(t *testing.T) {
	of := map[round.CompanionID]*orders{"ada": {}, "ben": {}}
	v := newVoices(slog.New(slog.DiscardHandler))
	v.Add("ada", of["ada"], nil)
	v.Add("ben", of["ben"], nil)
	m := turn.New(turn.DefaultConfig())
	feed := func(evs ...turn.Event) {
		for _, ev := range evs {
			var effects []turn.Effect
			m, effects = turn.Step(m, ev)
			for _, e := range effects {
				if o, ok := e.(turn.Order); ok {
					v.Do(o)
				}
			}
		}
	}
	feed(turn.SessionReady{}, turn.FloorGranted{Turn: "t-0", Who: "ben"}, turn.ToolCalled{Turn: "t-0", Response: "r0", Call: "c0"}, turn.Hushed{})
	for i := range 17 {
		id, r := turn.ID(fmt.Sprint("t-", i+1)), turn.ResponseID(fmt.Sprint("r", i+1))
		feed(turn.FloorGranted{Turn: id, Who: "ada"}, turn.ResponseStarted{Turn: id, Response: r}, turn.Hushed{})
	}
	*of["ben"] = nil
	late := turn.SendToolOutput{Turn: "t-0", Who: "ben", Call: "c0", Output: "noon"}
	feed(turn.ToolReturned{Turn: "t-0", Call: "c0", Output: "noon"})
	if len(*of["ben"]) != 1 || (*of["ben"])[0] != late || slices.Contains(*of["ada"], turn.Order(late)) {
		t.Errorf("the output of ben's tool did not go to ben, but: %v", *of["ben"])
	}
}

// Whoever writes a voice sees what it is told, which differs by companion.
func TestToolsAreShown(t *testing.T) {
	var log strings.Builder
	v := newVoices(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	v.Add("ada", &orders{}, nil)
	v.Add("ben", &orders{}, func(tool string) bool { return tool == "stop" })
	v.Tools([]turn.ToolSpec{{Name: "stop", Description: "ends what sounds", Schema: []byte(`{"type":"object"}`)}, {Name: "volume"}})
	for _, want := range []string{"companion=ada tool=stop description=\"ends what sounds\" schema=\"{", "companion=ada tool=volume", "companion=ben tool=stop"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "companion=ben tool=volume") {
		t.Error("ben's session is not told of the volume")
	}
}

// Whoever hears people is told with a press whom they may call.
func TestAPressTellsTheNames(t *testing.T) {
	hears, other := &orders{}, &orders{}
	v := newVoices(slog.New(slog.DiscardHandler))
	v.Add("ada", hears, nil)
	v.Add("ben", other, nil)
	d := &Driver{Voices: v, o: Options{Config: &config.Config{Room: config.Room{People: "Lena: kitchen, ada, Max"}}}, Cards: []companions.Card{
		{Card: round.Card{ID: "ada", Name: "Ada", Aliases: []string{"Countess"}}}, {Card: round.Card{ID: "ben", Name: "Ben"}},
	}}
	d.Pressed(0, "t-1", true)
	if want := (orders{turn.AddText{Text: "Ada Countess Ben Lena ada Max"}}); !slices.Equal(*hears, want) || len(*other) > 0 {
		t.Errorf("told %v and %v; want %v, and nothing to who does not listen", *hears, *other, want)
	}
}

// A member whose companions have many names keeps nobody from being expected.
func TestOwnNamesComeFirst(t *testing.T) {
	own := []companions.Card{{Card: round.Card{Name: "Ada"}}}
	members := []round.Member{{Device: "a", Cards: []round.Card{{Name: "Eve", Aliases: []string{"E1", "E2", "Ada"}}}}, {Device: "b", Cards: []round.Card{{Name: "Ada"}}}}
	if got, want := names(members, own, []string{"Max"}), []string{"Ada", "Eve", "E1", "E2", "Max"}; !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	for i := range 1000 {
		members[0].Cards[0].Aliases = append(members[0].Cards[0].Aliases, fmt.Sprint("E", i))
	}
	if n := len(names(members, own, []string{"Max"})); n != mostNames {
		t.Errorf("%d names; want %d", n, mostNames)
	}
}
