package room

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions"
	"conch/companions/roomtest"
	"conch/companions/round"
	"conch/device/config"
	"conch/device/control"
	"conch/mqtt"
)

func TestRoomText(t *testing.T) {
	t.Parallel()
	members := []round.Member{
		{Device: "aaaaaaaaaaaaaaaaaaaa", Name: "kitchen", Cards: []round.Card{{ID: "ada", Name: "Ada"}}},
		{Device: "bbbbbbbbbbbbbbbbbbbb", Name: "hall", Version: 1, Cards: []round.Card{{ID: "cleo-2", Name: "Cléo 2", Renamed: "cleo", Muted: true}}},
	}
	got := Text(control.RoomStatus{
		Room: "home", Device: members[0].Device, Broker: "mqtt://broker", Trouble: "nothing listens there", Members: members,
		Missing: []round.DeviceID{"cccccccccccccccccccc"}, Setting: round.Setting{Involvement: round.InvolvementLow},
		Wire: &mqtt.Stats{Refused: map[mqtt.Reason]uint64{mqtt.ReasonForged: 2}, Last: map[mqtt.Reason]string{mqtt.ReasonForged: "the signature does not fit"}},
	})
	want := `room home, broker mqtt://broker: not connected
  nothing listens there
DEVICE   ID                    COMPANION                    JOINS IN
kitchen  aaaaaaaaaaaaaaaaaaaa  Ada                          medium    this device
hall     bbbbbbbbbbbbbbbbbbbb  Cléo 2 (in its card: cleo)  muted
?        cccccccccccccccccccc  -                                      not here (room.members)
hall runs an older conch (turn-taking 1, here 2): they hush and converse by what both know; upgrade it
the whole room is set to involvement low; to undo: conch room control medium
ignored  2 x forged; the last: the signature does not fit
`
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(got) {
		if strings.HasSuffix(line, " \n") {
			t.Errorf("ends with a space: %q", line)
		}
	}

	// A reason calls companions by their names; what was said, in quotation marks, stays as it was.
	n := namer(members)
	for reason, want := range map[string]string{
		"it was said to ada alone":      "it was said to Ada alone",
		`it knows about "ada"`:          `it knows about "ada"`,
		"hall has changed: cleo-2, ada": "hall has changed: Cléo 2, Ada",
		"nobody else":                   "nobody else",
	} {
		if got := n.words(reason); got != want {
			t.Errorf("words(%q) = %q; want %q", reason, got, want)
		}
	}
}

// TestRoundText: each line of a round says which layer decided it, in a column of its own; what is no layer is not shown.
func TestRoundText(t *testing.T) {
	t.Parallel()
	members := []round.Member{{Device: "d", Name: "kitchen", Cards: []round.Card{{ID: "ada", Name: "Ada"}, {ID: "ben", Name: "Ben"}}}}
	message := &round.Message{From: "human:d", Text: "Ada?"}
	silent := func(c round.CompanionID, l round.Layer, why string) round.Silent {
		return round.Silent{Companion: c, Layer: l, Reason: why}
	}
	for want, d := range map[string]round.Decision{
		`round    person in kitchen: "Ada?"
owed      Ada speaks: the person addressed it (decided after 2 ms)
forbidden Ben does not: it is muted
worth     cleo does not: it has nothing to add
          dan does not: no vote in time
          eve does not: it listens
`: {Winner: "ada", Layer: round.LayerOwed, Reason: "the person addressed it", Waited: 2, Silent: []round.Silent{
			silent("ben", round.LayerForbidden, "it is muted"), silent("cleo", round.LayerWorth, "it has nothing to add"),
			silent("dan", "", "no vote in time"), silent("eve", "x\nowed      Eve", "it listens"),
		}},
		`round    person in kitchen: "Ada?"
worth     nobody speaks: it has nothing to add (decided after 0 ms)
`: {Reason: "nobody: it has nothing to add", Silent: []round.Silent{silent("ada", round.LayerWorth, "it has nothing to add")}},
		`round    person in kitchen: "Ada?"
          nobody speaks: nobody has enough to say (decided after 0 ms)
worth     Ada does not: it listens
owed      Ben does not: it listens
`: {Reason: "nobody has enough to say: it listens; it listens", Silent: []round.Silent{
			silent("ada", round.LayerWorth, "it listens"), silent("ben", round.LayerOwed, "it listens"),
		}},
	} {
		if got := EntryText(round.Entry{Kind: round.EntryRound, Message: message, Decision: &d}, members); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestForeignWordsStayOnTheirLine: what was told by others, in whatever field, begins no line and steers no terminal.
func TestForeignWordsStayOnTheirLine(t *testing.T) {
	t.Parallel()
	lie := "x\r\nconch: lie\x1b]52;c;eA==\x07\u202e" + strings.Repeat("long ", 50)
	card := round.Card{ID: round.CompanionID(lie), Name: lie, Renamed: "y" + round.CompanionID(lie), Involvement: round.Involvement(lie)}
	members := []round.Member{{Device: "bbbbbbbbbbbbbbbbbbbb", Name: lie, Version: 1, Cards: []round.Card{card}}}
	message := &round.Message{ID: "m", From: round.Participant(lie), Text: lie}
	decision := &round.Decision{Winner: card.ID, Reason: lie, Silent: []round.Silent{{Companion: "z" + card.ID, Reason: lie}},
		Votes: []round.Vote{{From: card.ID, Terms: []round.Term{{Name: lie}}}}}
	status := control.RoomStatus{Room: "home", Broker: "mqtt://b", Trouble: lie, Members: members,
		Wire: &mqtt.Stats{Refused: map[mqtt.Reason]uint64{mqtt.ReasonForged: 2}, Last: map[mqtt.Reason]string{mqtt.ReasonForged: lie}}}
	texts := map[string]string{"header": Header(status), "list": Text(status)}
	status.Paired = &control.PairedRoom{Name: lie, ID: "r", Members: []control.PairedMember{{Device: members[0].Device, Name: lie, Host: true, By: lie}}}
	texts["paired"] = Text(status)
	for _, kind := range []round.EntryKind{round.EntryPress, round.EntryRound, round.EntryClaim, round.EntryWithdraw, round.EntryFailed, round.EntryInstead,
		round.EntryAnswered, round.EntrySpoke, round.EntrySilent, round.EntrySuperseded, round.EntryEnded, round.EntryMember, round.EntryControl, round.EntryKind(lie)} {
		e := round.Entry{Kind: kind, By: round.DeviceID(lie), Companion: card.ID, Why: lie, Message: message, Decision: decision}
		texts[string(kind)] = EntryText(e, members)
	}
	for name, text := range texts {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "conch") || strings.ContainsAny(line, "\r\x1b\x07\u202e") {
				t.Errorf("%q prints %q", name, line)
			}
		}
	}
}

// lines is a screen.
type lines []string

func (l *lines) Say(text string)              { *l = append(*l, text) }
func (l *lines) Says(who, place, text string) { *l = append(*l, who+" ("+place+"): "+text) }

// Who reads along learns who is there, whether they came before or come later, and each of them once.
func TestWhoIsThereIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := roomtest.NewHouse(1)
		home := func(name string, id round.CompanionID, called string) *roomtest.Device {
			return h.Add(name, roomtest.Plan{Options: companions.RoomOptions{Cards: []companions.Card{{Card: round.Card{ID: id, Name: called}}}}})
		}
		kitchen := home("kitchen", "ada", "Ada")
		home("bedroom", "ben", "Ben")
		time.Sleep(5 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cfg := config.Default()
		var screen lines
		over := (&Driver{Room: kitchen.Room, o: Options{Self: kitchen.ID, Config: &cfg}}).Overhear(ctx, &screen)
		time.Sleep(5 * time.Second)
		home("hall", "cleo", "Cleo")
		time.Sleep(5 * time.Second)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		<-over
		for _, want := range []string{"(bedroom brings Ben)\n", "(hall brings Cleo)\n"} {
			if n := strings.Count(strings.Join(screen, ""), want); n != 1 {
				t.Errorf("%q stands there %d times: %q", want, n, screen)
			}
		}
	})
}

// The reasons of each stand below; what they have in common is said once.
func TestPlainReason(t *testing.T) {
	for why, want := range map[string]string{
		"nobody: thanks and yes need no answer":                 "thanks and yes need no answer",
		"nobody has enough to say: it likes to join in; it has": "nobody has enough to say",
		"no vote came in time":                                  "no vote came in time",
	} {
		if got := PlainReason(why); got != want {
			t.Errorf("%q: %q; want %q", why, got, want)
		}
	}
}
