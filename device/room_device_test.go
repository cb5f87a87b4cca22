package device

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/audio"
	"conch/companions"
	"conch/companions/round"
	"conch/companions/voice/realtime"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
	"conch/device/announce"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
	"conch/mqtt/broker"
)

// Whole devices in one room: buttons, cards and ears are twins, everything else is what is shipped.

// flat is where the devices of a test stand: a broker that they share.
type flat struct {
	t     *testing.T
	url   string
	boxes []*inFlat

	near func(port int) []string // where others reach a port; nil: loopback
}

// inFlat is one of its devices, with the ledger as it sees it.
type inFlat struct {
	*box
	ledgerCopy
	mind *parrot
}

// newFlat is side by side with all others.
func newFlat(t *testing.T) *flat {
	t.Helper()
	t.Parallel()
	takeTurn(t)
	return onlyFlat(t)
}

// onlyFlat is for what is asked about time: nothing else runs meanwhile.
func onlyFlat(t *testing.T) *flat {
	t.Helper()
	broker, err := broker.New(broker.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- broker.Run(ctx) }()
	t.Cleanup(func() { // after the devices, which are raised later
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the broker failed: %v", err)
		}
	})
	return &flat{t: t, url: broker.URL()}
}

// raise puts a device with these companions into the flat; nothing is waited for but the device itself.
func (f *flat) raise(name, who string, o boxOptions) *inFlat {
	f.t.Helper()
	x := &inFlat{mind: &parrot{}}
	var cards []companions.Card
	for n := range strings.SplitSeq(who, ",") {
		cards = append(cards, companions.PlainCard(n))
	}
	if o.mind == nil {
		o.mind = x.mind
	}
	change := o.config
	o.config = func(c *config.Config) {
		c.Device.Name, c.Room.Broker, c.Room.Silence = name, f.url, time.Hour
		if change != nil {
			change(c)
		}
	}
	o.room = &RoomOptions{
		Cards: cards, Member: func(round.DeviceID) bool { return true }, OnEntry: x.entry, Presses: o.presses,
		Listen: "127.0.0.1", Reachable: func(port int) []string {
			if f.near != nil {
				return f.near(port)
			}
			return []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
		},
	}
	x.box = newBox(f.t, o)
	f.boxes = append(f.boxes, x)
	return x
}

// meet waits until every device knows the companions of all.
func (f *flat) meet() {
	f.t.Helper()
	for _, x := range f.boxes {
		x.until("in the room with all others", func() bool {
			known := x.room.Room.Members()
			return len(known) == len(f.boxes) && !slices.ContainsFunc(known, func(m round.Member) bool { return len(m.Cards) == 0 })
		})
	}
	f.calm()
}

// calm waits until nothing is said or to be said.
func (f *flat) calm() {
	f.t.Helper()
	for _, x := range f.boxes {
		x.until("calm", func() bool { return x.Quiet() && x.room.Room.Settled() })
	}
}

// kind is an entry of this kind about this companion.
func kind(k round.EntryKind, c round.CompanionID) func(round.Entry) bool {
	return func(e round.Entry) bool { return e.Kind == k && e.Companion == c }
}

func (x *inFlat) wait(what string, is func(round.Entry) bool) {
	x.t.Helper()
	x.until(what, func() bool { return len(x.ledger(is)) > 0 })
}

// Two companions of one name: the one that comes later has another in this room, by which it is called, answers, is known
// and can be told to join in less (ROOM.md 1).
func TestFlatRenamedCompanionIsWhole(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{})
	hall := f.raise("hall", "Ada", boxOptions{})
	f.meet()
	all := []*inFlat{kitchen, hall}
	renamed := func(x *inFlat) bool {
		return slices.ContainsFunc(x.room.Room.Members(), func(m round.Member) bool { return m.Device == x.self && m.Cards[0].ID == "ada-2" })
	}
	for _, x := range all {
		x.until("one is renamed", func() bool { return renamed(kitchen) || renamed(hall) })
	}
	here, there := hall, kitchen
	if renamed(kitchen) {
		here, there = kitchen, hall
	}
	there.until("its new name is known", func() bool {
		return slices.ContainsFunc(there.room.Room.Members(), func(m round.Member) bool { return m.Device == here.self && m.Cards[0].ID == "ada-2" })
	})
	// Asked on the other device, by its new name.
	there.types("Ada 2, short")
	there.wait("ada-2 has spoken", kind(round.EntrySpoke, "ada-2"))
	f.calm()
	if n := len(here.ledger(kind(round.EntryFailed, "ada-2"))); n > 0 {
		t.Errorf("ada-2 failed %d times", n)
	}
	// Asked on its own, without a round of its own turn being lost.
	n := len(here.ledger(kind(round.EntrySpoke, "ada-2")))
	here.types("Ada 2, short again")
	here.until("ada-2 has answered at home", func() bool { return len(here.ledger(kind(round.EntrySpoke, "ada-2"))) > n })
	f.calm()
	ended := here.turnsEnded()
	if last := ended[len(ended)-1]; last.Who != "Ada 2" || last.Source != "button" {
		t.Errorf("the last turn is of %q, source %s; want Ada 2's own, by the button", last.Who, last.Source)
	}
	if _, err := here.Device.room.TurnManners(round.Control{Companion: "ada-2", Involvement: ptr(round.InvolvementLow)}); err != nil {
		t.Error(err)
	}
	if why := here.room.Room.WhyOf("", here.Device.room.KnownAs("ada")); !strings.Contains(why, "Ada 2") {
		t.Errorf("why: %q", why)
	}
	if text := here.room.Room.Recent()[len(here.room.Room.Recent())-1]; text.From != "ada-2" {
		t.Errorf("the last message is from %s", text.From)
	}
}

func ptr[T any](v T) *T { return &v }

// types is a typed question by the room's way; its end is not waited for.
func (x *inFlat) types(text string, to ...round.Participant) { x.Device.room.Put(text, to...) }

// types is a typed question by the room's way; its end is not waited for.
// parrot says what follows the last comma of what it heard last, so that it calls on nobody; and it keeps what it was asked by.
type parrot struct {
	mu    sync.Mutex
	asked []rehearsal.Thought
}

func (p *parrot) Think(t rehearsal.Thought) rehearsal.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, t)
	text := t.Words
	if t.Prompt != "" { // to be said as it is
		_, text, _ = strings.Cut(t.Prompt, ": ")
		text = strings.Trim(text, `"`)
	}
	if n := len(t.Talk); n > 0 && t.InRoom {
		text = t.Talk[n-1].Text
	}
	return rehearsal.Reply{Text: strings.TrimSpace(text[strings.LastIndex(text, ",")+1:])}
}

// last is what it was asked last.
func (p *parrot) last() rehearsal.Thought {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) == 0 {
		return rehearsal.Thought{}
	}
	return p.asked[len(p.asked)-1]
}

// What was said in the room before a restart is known after it, one's own words as one's own (ROOM.md 7).
func TestFlatRestartKeepsOwnWords(t *testing.T) {
	f := newFlat(t)
	dir := t.TempDir()
	keep := func(c *config.Config) { c.State.Dir = dir }
	first := f.raise("kitchen", "Ada,Ben", boxOptions{config: keep})
	f.calm()
	first.types("Ada, the cake is done")
	first.wait("Ada has spoken", kind(round.EntrySpoke, "ada"))
	f.calm()
	first.stop()
	first.until("ended", func() bool { return first.goroutines() == 0 })
	again := f.raise("kitchen", "Ada,Ben", boxOptions{config: keep})
	f.boxes = f.boxes[1:]
	f.calm()
	again.types("Ada, what else")
	again.wait("Ada has spoken again", kind(round.EntrySpoke, "ada"))
	f.calm()
	talk := again.mind.last().Talk
	var mine, asked int
	for _, l := range talk {
		if l.Mine && l.Text == "the cake is done" {
			mine++
		}
		if !l.Mine && strings.Contains(l.Text, "Ada, the cake is done") {
			asked++
		}
	}
	if mine != 1 || asked != 1 {
		t.Errorf("Ada remembers its own line %d times, the question %d times, of %+v; want each once", mine, asked, talk)
	}
}

// A server that does not write down what is said leaves the room without words, not the person without an answer.
func TestFlatSpeechThatIsNotWrittenDownIsAnswered(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{config: func(c *config.Config) { c.Voice.Transcription = "" }})
	f.raise("hall", "Ben", boxOptions{})
	f.meet()
	kitchen.answered(kitchen.say(300 * time.Millisecond))
	f.calm()
	if n := len(kitchen.ledger(kind(round.EntrySpoke, "ada"))); n != 1 {
		t.Errorf("Ada has spoken %d times; want once", n)
	}
}

// Who is alone answers before the words are known. When they are, the room gets to know both, in order.
func TestFlatAloneTellsTheRoomAfterTheAnswer(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{config: func(c *config.Config) { c.Voice.Transcription = "" }})
	kitchen.answered(kitchen.say(300 * time.Millisecond))
	kitchen.wait("Ada's answer is in the ledger", kind(round.EntrySpoke, "ada"))
	f.calm()
	if n := len(kitchen.ledger(func(e round.Entry) bool { return e.Kind == round.EntryAnswered })); n != 1 {
		t.Errorf("%d questions answered; want 1", n)
	}
	said := kitchen.room.Room.Recent()
	if len(said) != 2 || said[1].From != "ada" || said[1].Text != "spoken" {
		t.Errorf("the room remembers %+v; want the question and Ada's answer", said)
	}
}

// Somebody comes while a device that was alone answers: the answer is the room's, nobody gives a second one.
func TestFlatAloneAnswersOnceWhereSomebodyJoins(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{config: func(c *config.Config) { c.Voice.Transcription = "" }})
	r := kitchen.say(300 * time.Millisecond)
	hall := f.raise("hall", "Ben", boxOptions{}) // before the patience with the words is over
	f.meet()
	kitchen.answered(r)
	kitchen.wait("Ada's answer is in the ledger", kind(round.EntrySpoke, "ada"))
	f.calm()
	for _, x := range f.boxes {
		if n := len(x.ledger(func(e round.Entry) bool { return e.Kind == round.EntryFailed })); n > 0 {
			t.Errorf("%s has seen %d failures", x.cfg.Device.Name, n)
		}
	}
	if n := len(hall.turnsEnded()); n > 0 {
		t.Errorf("the hall has answered, too: %+v", hall.turnsEnded())
	}
}

// The session of one companion is lost while another one answers: that is no business of the answer.
func TestFlatLostSessionLeavesAnothersTurnAlone(t *testing.T) {
	f := newFlat(t)
	x := f.raise("kitchen", "Ada,Ben", boxOptions{})
	x.until("both have their session", x.Ready)
	f.calm()
	x.types("Ben, short")
	x.wait("Ben has spoken", kind(round.EntrySpoke, "ben"))
	f.calm()
	x.types("Ada, say something long")
	x.until("Ada is heard", x.Speaking)
	x.Device.room.Voices.Outlet("ben", heardOf{x.coordinator, x.Device}).Post(turn.SessionLost{At: x.now(), Say: turn.WordsOffline})
	x.wait("Ada has spoken", kind(round.EntrySpoke, "ada"))
	f.calm()
	ended := x.turnsEnded()
	if last := ended[len(ended)-1]; last.Who != "Ada" || last.Reason != turn.Done.String() {
		t.Errorf("the last turn: %+v; want Ada's, done", last)
	}
	if !x.conds.Holds(condition.VoiceLost + ".ben") {
		t.Error("no condition says that Ben has no voice")
	}
}

// An announcement is a voice like any other: it waits until nobody else has the floor, and then keeps it, so that nobody
// speaks over it (ROOM.md: one voice at a time).
func TestFlatAnnouncementWaitsForTheFloor(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{})
	hall := f.raise("hall", "Ben", boxOptions{})
	f.meet()
	hall.types("Ben, say something old and long")
	hall.until("Ben is heard", hall.Speaking)
	outcome := make(chan string, 1)
	go func() {
		how, err := kitchen.Say(context.Background(), "dinner is old", inject.Injection{})
		outcome <- fmt.Sprint(how, err)
	}()
	kitchen.until("the announcement is heard", kitchen.Speaking)
	if hall.audible() {
		t.Error("the announcement sounds while Ben speaks")
	}
	hall.wait("the hall knows who has the floor", func(e round.Entry) bool { return e.Kind == round.EntryPress && e.Why == "a press elsewhere" })
	hall.types("Ada, are you there") // another gets its turn when the announcement has been cut or heard
	if how := <-outcome; how != "delivered<nil>" {
		t.Errorf("the announcement: %s", how)
	}
	kitchen.wait("Ada has spoken", kind(round.EntrySpoke, "ada"))
	f.calm()
	spoke := hall.ledger(kind(round.EntrySpoke, "ben"))
	if len(spoke) != 1 || spoke[0].HeardMS < 5000 {
		t.Errorf("Ben was heard as %+v; want all six seconds, once", spoke)
	}
}

// Whoever presses more often than people do loses the floor, and each press silences all the same: a device that speaks, and its words.
func TestFlatEachPressSilences(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{})
	hall := f.raise("hall", "Ben", boxOptions{presses: 3}) // one in ten seconds
	f.meet()
	lost := condition.RoomPresses.Of(string(kitchen.Device.self))
	for n := range 6 {
		hall.types("Ben, say something old and endless")
		hall.until("Ben is heard", hall.Speaking)
		had := len(hall.turnsEnded())
		kitchen.Device.room.Hushed(t.Context(), kitchen.now())
		hall.until("the turn has ended", func() bool { return len(hall.turnsEnded()) > had })
		f.calm()
		ended := hall.turnsEnded()
		if last := ended[len(ended)-1]; last.Reason != turn.InterruptedByPress.String() {
			t.Errorf("press %d: the turn in the hall ended as %s (the floor is lost: %v)", n+1, last.Reason, hall.conds.Holds(lost))
		}
	}
	if !hall.conds.Holds(lost) {
		t.Error("the kitchen has not lost the floor in the hall, so that nothing was tried")
	}
}

// What must not wait hushes the room.
func TestFlatUrgentAnnouncementTakesTheFloor(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{})
	hall := f.raise("hall", "Ben", boxOptions{})
	f.meet()
	hall.types("Ben, say something old and endless")
	hall.until("Ben is heard", hall.Speaking)
	hall.pause(300 * time.Millisecond)
	done := kitchen.coordinator.Inject(announce.WordForWord("fire"), inject.Preempt, "", time.Minute)
	if how := <-done; how != inject.Delivered {
		t.Errorf("the announcement: %v", how)
	}
	f.calm()
	if spoke := hall.ledger(kind(round.EntrySpoke, "ben")); len(spoke) != 1 || spoke[0].HeardMS > 10000 {
		t.Errorf("Ben was heard as %+v; want him cut", spoke)
	}
}

// Who calls a muted companion is told by the device, once a mute; what another one answers is not talked over.
func TestFlatCallingAMutedOneIsToldOnce(t *testing.T) {
	f := newFlat(t)
	x := f.raise("kitchen", "Ada,Ben", boxOptions{})
	f.calm()
	mute := func(on bool) {
		if _, err := x.Device.room.TurnManners(round.Control{Companion: "ben", Mute: &on}); err != nil {
			t.Fatal(err)
		}
		f.calm()
	}
	told := func(text string) bool {
		edge := x.now()
		x.types(text)
		x.pause(6 * time.Second) // longer than the words
		f.calm()
		return x.heard(turn.WordsNotAllowed, edge) >= 0.8
	}
	mute(true)
	for i, c := range []struct {
		text string
		want bool
	}{{"Ben and Ada, short", false}, {"Ben, short", true}, {"Ben, short again", false}, {"Ada, short", false}} {
		if got := told(c.text); got != c.want {
			t.Errorf("%d: %q: the device says that Ben is muted: %v", i, c.text, got)
		}
	}
	mute(false)
	mute(true)
	if !told("Ben, short") {
		t.Error("muted anew, and nothing is said")
	}
}

// The words for a question that everybody failed at are not for a person who has pressed again meanwhile.
func TestFlatWordsForAFailureYieldToAPress(t *testing.T) {
	f := newFlat(t)
	x := f.raise("kitchen", "Ada,Ben", boxOptions{})
	f.calm()
	x.types("Ada, short")
	x.wait("Ada has spoken", kind(round.EntrySpoke, "ada"))
	f.calm()
	m := x.room.Room.Recent()[0]
	at := m.Place()
	fails := func() (edge time.Duration) {
		edge = x.now()
		x.Device.room.Recorded(round.Entry{Kind: round.EntryFailed, Place: &at, Companion: "ada"})
		x.Device.room.Recorded(round.Entry{Kind: round.EntrySilent, Place: &at, Message: &m})
		return edge
	}
	edge := fails()
	x.pause(4 * time.Second) // longer than the words
	if c := x.heard(turn.WordsNoAnswer, edge); c < 0.8 {
		t.Fatalf("without a press the words are not on the tape (likeness %.2f)", c)
	}
	x.hand.Press()
	x.state(turn.Listening)
	edge = fails()
	x.pause(4 * time.Second)
	if c := x.heard(turn.WordsNoAnswer, edge); c >= 0.8 {
		t.Errorf("the words sound while a person is recorded (likeness %.2f)", c)
	}
	x.hand.Release()
	f.calm()
}

// A press of which nothing comes gives the floor back everywhere at once.
func TestFlatPressTooShortGivesTheFloorBack(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{})
	hall := f.raise("hall", "Ben", boxOptions{})
	f.meet()
	var r control.Turn
	for range 20 { // until the hall knows of it; on a busy machine that is long enough for a question
		r = kitchen.nextTurn(func() {
			kitchen.hand.Press()
			kitchen.state(turn.Listening)
			hall.until("the press is known", hall.room.Room.Taken)
			kitchen.hand.Release()
		})
		if r.Reason == turn.TooShort.String() {
			break
		}
		f.calm()
		hall.until("the floor is free", func() bool { return !hall.room.Room.Taken() && !kitchen.room.Room.Taken() })
	}
	if r.Reason != turn.TooShort.String() {
		t.Fatalf("the turn ended %s; want too short", r.Reason)
	}
	for _, x := range f.boxes {
		x.until("the floor is free", func() bool { return !x.room.Room.Taken() })
	}
	hall.types("Ada, short")
	hall.wait("Ada has spoken", kind(round.EntrySpoke, "ada"))
	f.calm()
}

// Two people press at once: both are recorded, one voice answers at a time, and nobody waits for ever.
func TestFlatTwoPressesAtOnce(t *testing.T) {
	f := onlyFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{})
	hall := f.raise("hall", "Ben", boxOptions{})
	f.meet()
	watch, stop := context.WithCancel(context.Background())
	both := make(chan time.Duration, 1)
	go func() {
		var long, began time.Duration
		_ = wait.Until(watch, func() bool {
			switch {
			case !kitchen.Speaking() || !hall.Speaking():
				began = 0
			case began == 0:
				began = kitchen.now()
			default:
				long = max(long, kitchen.now()-began)
			}
			return false
		})
		both <- long
	}()
	for i := range 4 {
		n := len(kitchen.turnsEnded()) + len(hall.turnsEnded())
		kitchen.hand.Press()
		hall.hand.Press()
		for _, x := range f.boxes {
			x.state(turn.Listening)
			x.card.Feed(whistle(300, audio.Samples(300*time.Millisecond)))
		}
		for _, x := range f.boxes {
			x.until("heard out", func() bool { return x.card.Fed() == 0 })
		}
		kitchen.pause(20 * time.Millisecond)
		kitchen.hand.Release()
		kitchen.pause(time.Duration(i) * 100 * time.Millisecond) // the other is prepared, held, first heard meanwhile
		hall.hand.Release()
		kitchen.until("both turns over", func() bool { return len(kitchen.turnsEnded())+len(hall.turnsEnded()) >= n+2 })
		f.calm()
		kitchen.until("the floor is free", func() bool { return !kitchen.room.Room.Taken() && !hall.room.Room.Taken() })
	}
	stop()
	if long := <-both; long > 100*time.Millisecond {
		t.Errorf("both devices spoke at once for %v", long)
	}
	for _, x := range f.boxes {
		for _, r := range x.turnsEnded() {
			if r.Reason == turn.Expired.String() || r.Reason == turn.Failed.String() {
				t.Errorf("%s: turn %s %s", x.cfg.Device.Name, r.Turn, r.Reason)
			}
		}
	}
}

// A device that is ended while its companion speaks says goodbye: the others go on at once.
func TestFlatEndedWhileSpeaking(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{})
	hall := f.raise("hall", "Ben", boxOptions{})
	f.meet()
	kitchen.types("Ben, say something endless")
	hall.until("Ben is heard", hall.Speaking)
	hall.pause(200 * time.Millisecond)
	hall.stop()
	kitchen.until("the hall is gone", func() bool { return len(kitchen.room.Room.Members()) == 1 })
	gone := kitchen.ledger(func(e round.Entry) bool {
		return e.Kind == round.EntryMember && e.By == hall.self && strings.Contains(e.Why, "left")
	})
	if len(gone) != 1 {
		t.Errorf("the kitchen has seen the goodbye %d times; want once", len(gone))
	}
	kitchen.until("the floor is free", func() bool { return !kitchen.room.Room.Taken() })
	said := kitchen.room.Room.Recent()
	if last := said[len(said)-1]; last.From == "ben" && last.Text == "say something endless" {
		t.Errorf("the room remembers %q of Ben, who was cut after a fraction of twenty seconds", last.Text)
	}
	f.boxes = f.boxes[:1]
	kitchen.types("Ada, short")
	kitchen.wait("Ada has spoken", kind(round.EntrySpoke, "ada"))
	f.calm()
}

// The ceiling is the device's: a second companion is no second budget.
// A device that the room's broker lives in ends: the others hear its goodbye before the broker is gone, and nothing is said
// to be lost.
func TestFlatBrokerGoesLast(t *testing.T) {
	f := newFlat(t)
	addr := "127.0.0.1:" + unusedPort(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{config: func(c *config.Config) { c.Room.Broker, c.Room.Listen = "embedded", addr }})
	hall := f.raise("hall", "Ben", boxOptions{config: func(c *config.Config) { c.Room.Broker = "mqtt://" + addr }})
	f.meet()
	kitchen.stop()
	gone := func(e round.Entry) bool {
		return e.Kind == round.EntryMember && e.By == kitchen.self && strings.HasPrefix(e.Why, "kitchen is gone")
	}
	hall.wait("the kitchen is gone", gone)
	if why := hall.ledger(gone)[0].Why; why != "kitchen is gone: it has left" {
		t.Errorf("the hall knows that %q; want that it has left", why)
	}
	kitchen.until("ended", func() bool { return kitchen.goroutines() == 0 })
	if strings.Contains(kitchen.log.text(), "mqtt.dropped") {
		t.Error("a clean end says that something was dropped")
	}
}

func TestFlatCeilingHoldsForAllTogether(t *testing.T) {
	f := newFlat(t)
	x := f.raise("kitchen", "Ada,Ben", boxOptions{config: func(c *config.Config) { c.Voice.Ceiling = 40 }})
	f.calm()
	x.types("Ada, short")
	x.wait("Ada has spoken", kind(round.EntrySpoke, "ada"))
	f.calm()
	x.types("Ben, short")
	x.wait("Ben has spoken", kind(round.EntrySpoke, "ben"))
	f.calm()
	x.types("Ada, once more")
	x.wait("Ada may not", kind(round.EntryFailed, "ada"))
	f.calm()
	if n := len(x.ledger(kind(round.EntrySpoke, "ada"))); n != 1 {
		t.Errorf("Ada has spoken %d times; want once", n)
	}
	for c, v := range x.Device.room.Voices.All() { // each by itself is below
		if u := v.(*realtime.Client).Usage(); u.Today.Tokens() >= 40 || u.All.Tokens() < 40 {
			t.Errorf("%s has used %d of %d; want less than 40, and 40 together", c, u.Today.Tokens(), u.All.Tokens())
		}
	}
}
