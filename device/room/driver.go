package room

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/talk"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/cards"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/language"
	"conch/device/printable"
)

// Host is the device around the driver. Nothing of it waits.
type Host interface {
	// Post hands the coordinator a fact.
	Post(turn.Event)
	// Hush silences the device; a person who is being recorded here goes on (TURNS.md 2 and 6).
	Hush()
	// Quiet silences what can be heard at this instant, and leaves alone what is asked or made ready.
	Quiet()
	// Generation is the loudspeaker's.
	Generation() uint64
	// Say says words, unless somebody has pressed since generation.
	Say(w turn.Words, generation uint64)
	// Floor shows who in the room has the floor.
	Floor(round.Participant)
}

// Memory keeps what must survive.
type Memory interface {
	Dir() string // empty: nothing survives
	Load(name string, v any, lost string)
	Save(name string, v any) error
	Forget(name string)
	Wrote(error) error
}

// Options are what a Driver is made of.
type Options struct {
	Config     *config.Config
	Self       round.DeviceID
	Cards      []companions.Card // of those who live here; nil: by the configuration
	Networked  bool              // there is a way to other devices
	Room       string            // its name, for what is remembered of it
	Memory     Memory
	Volatile   bool              // keep nothing on disk
	Anyway     bool              // what cannot be used is a condition and no error
	VoteURL    string            // of the chat server that votes; empty: the rules alone do
	VoteModel  string            // its model
	VoteKey    func() string     // for it, where no file has a key; nil: none
	Voted      func(in, out int) // tokens of each call; nil: nobody counts
	MayVote    func() bool       // false: no more calls today; nil: always
	OnEntry    func(round.Entry)
	Presses    int         // round.Config's; 0: its default
	Page       string      // address of the device's page in the house; empty: none
	Joining    func() bool // this device is about to begin anew, in another room; nil: never
	Conditions *condition.Book
	Now        func() time.Duration
	Log        *slog.Logger
}

// Driver drives a device's part in its room.
type Driver struct {
	// fixed after New
	o      Options
	Cards  []companions.Card // of those who live here; never empty
	Voices *Voices

	// fixed after Remembers
	talks []string // names of the conversations that are kept

	// fixed after Open
	host    Host
	Room    *companions.Room         // nil: one companion that is alone
	Refiner *companions.ModelRefiner // nil: votes by the rules alone

	forgot  atomic.Bool                  // Forget was called
	last    atomic.Pointer[control.Turn] // the turn that ended last; nil: none has
	Waiters waiters
	known   known
	people  people
	spent   spentPress

	mu   sync.Mutex // guards what follows
	m    talk.Machine
	wake *time.Timer
}

// New finds who lives here.
func New(o Options) *Driver {
	return &Driver{o: o, Cards: living(o.Cards, o.Config, o.Conditions), Voices: newVoices(o.Log)}
}

// InRoom says whether the device has a room at all.
func (d *Driver) InRoom() bool { return d.o.Networked || len(d.Cards) > 1 }

// Open makes the room, if there is to be one, behind everything that it drives. connect makes its way to the other devices; a Bus of
// nil: there is none.
func (d *Driver) Open(host Host, connect func(*companions.Room) (companions.Bus, error)) error {
	d.host = host
	o, cfg := d.o, d.o.Config
	forgets, keeps := !cfg.Voice.Remember, o.Memory.Dir() != "" && !o.Volatile
	if forgets && keeps && !cfg.TalkStays {
		if err := companions.Forget(o.Memory.Dir()); err != nil {
			_ = o.Memory.Wrote(err)
		}
	}
	if !d.InRoom() {
		return nil
	}
	r := companions.RoomOptions{
		Self: o.Self, Name: cfg.Device.Name, Room: o.Room, Cards: d.Cards, Round: RoundConfig(cfg), Now: o.Now, Log: o.Log,
		Stage: stage{d}, OnEntry: d.entry, Keep: cfg.Room.Memory, Wordless: forgets, OnTrouble: d.trouble, OnFloor: host.Floor,
		OnPresses: d.presses, OnOffence: d.offence,
	}
	if keeps && !cfg.TalkStays {
		r.Dir = o.Memory.Dir()
	}
	r.Round.Presses, r.Round.Page = o.Presses, o.Page
	var err error
	if d.Refiner, err = refiner(d); err != nil {
		return err
	}
	if r.Round.VoteBudget = 0; d.Refiner != nil {
		r.Refiner, r.Round.VoteBudget = d.Refiner, cfg.Room.VoteBudget
	}
	if d.Room, err = companions.NewRoom(r); err != nil {
		return fmt.Errorf("%w: room: %w", control.ErrRefused, err)
	}
	HouseholdOf(d).meet()
	if !o.Networked {
		return nil
	}
	bus, err := connect(d.Room)
	d.Room.SendWith(bus)
	return err
}

// Run runs the room until ctx ends.
func (d *Driver) Run(ctx context.Context) error {
	if d.Refiner != nil {
		defer d.Refiner.Close()
	}
	return d.Room.Run(ctx)
}

// RoundConfig is how the round machine is to behave.
func RoundConfig(c *config.Config) round.Config {
	r, rc := c.Room, round.DefaultConfig()
	rc.Manners = round.Manners{
		Threshold: float64(r.Threshold), ChainLimit: r.Chain, Handoffs: r.Handoffs, ExtraLimit: r.Extras,
		ShareLimit: float64(r.Share) / 100, Repetition: float64(r.Repetition) / 100,
	}
	rc.Pause, rc.NoPause, rc.Silence = r.Pause, r.Pause == 0, r.Silence
	rc.Words, _ = cards.Words(c) // what is refused is a condition (living)
	rc.Calls = r.Calls
	if r.Votes != "rules" {
		rc.VoteBudget = r.VoteBudget
	}
	if r.Votes == "auto" {
		rc.Sure = round.CertainFrom
	}
	return rc
}

// trouble makes a condition of a file that cannot be written.
func (d *Driver) trouble(what string, err error) {
	if err == nil {
		d.o.Conditions.Clear(condition.Code("room." + what))
		return
	}
	d.o.Conditions.Set(condition.Code("room."+what), err.Error(), "free some space, or set state.dir; until then a restart forgets what was said in the room")
}

// presses makes a condition of a device that presses without end, for as long as its presses do not count.
func (d *Driver) presses(e round.PressesCount) {
	code := condition.RoomPresses.Of(string(e.Device))
	if e.Count {
		d.o.Conditions.Clear(code)
		return
	}
	d.o.Conditions.Set(code, e.Why, "look at its button; if nobody presses it, take it out of the room: conch room remove "+printable.Arg(e.Name))
}

// offence makes a condition of a device that does again and again what one may do now and then.
func (d *Driver) offence(e round.Offends) {
	code := map[round.Offence]condition.Code{round.OffenceFloor: condition.RoomTaken, round.OffenceManners: condition.RoomTurned}[e.What].Of(string(e.Device))
	if e.Over {
		d.o.Conditions.Clear(code)
		return
	}
	d.o.Conditions.Set(code, e.Why, "look at that device; to take it out of the room: conch room remove "+printable.Arg(e.Name))
}

// refiner is the model that refines votes; nil when none is configured.
func refiner(d *Driver) (*companions.ModelRefiner, error) {
	c := d.o.Config.Room
	if d.o.VoteURL == "" {
		return nil, nil
	}
	key := func() string { return "" }
	switch {
	case c.VoteKeyFile != "":
		if _, err := config.ReadSecret(c.VoteKeyFile); err != nil && !d.o.Anyway {
			return nil, fmt.Errorf("%w: config: room.vote_key_file: %w", control.ErrRefused, err)
		} else if err != nil {
			d.o.Conditions.Set(condition.RoomVoteKey, err.Error(), "mend the file; it is read again for each vote, and until then the rules alone vote")
		}
		key = func() string { s, _ := config.ReadSecret(c.VoteKeyFile); return s } // read anew, so that a new key counts
	case d.o.VoteKey != nil:
		key = d.o.VoteKey
	}
	r, err := companions.NewRefiner(companions.RefinerConfig{URL: d.o.VoteURL, Model: d.o.VoteModel, Key: key, Budget: c.VoteBudget, Now: d.o.Now, Log: d.o.Log,
		Cards: d.cardsInRoom, Members: d.Members, Usage: d.o.Voted, Allow: d.o.MayVote})
	if err != nil {
		return nil, fmt.Errorf("%w: config: room.vote_url: %w", control.ErrRefused, err)
	}
	return r, nil
}

// noRoom is why there is none: one companion and no broker, or not yet another one.
func noRoom(d *Driver) error {
	if d.o.Joining != nil && d.o.Joining() {
		return errJoining
	}
	return errNoRoom
}

var errJoining = errors.New("this device has just been paired, and takes its place in the room once nobody talks here and no line is half typed " +
	"(two minutes at most): look again then")

var errNoRoom = errors.New("this device is alone: hold its button and that of another one for five seconds (or: conch room pair), or name " +
	"more companions in device.companion")

// Alone says that there is a room, and nobody else in it to wait for.
func (d *Driver) Alone() bool { return d.Room != nil && d.Room.Alone() }

// Taken says that an announcement of this device has to wait for the room.
func (d *Driver) Taken() bool { return d.Room != nil && d.Room.Taken() }

// Spoken counts the messages of persons in the room; 0: there is none.
func (d *Driver) Spoken() uint64 {
	if d.Room == nil {
		return 0
	}
	return d.Room.Spoken()
}

// Settled says that the room has done what follows from what it was told.
func (d *Driver) Settled() bool { return d.Room == nil || d.Room.Settled() }

// Members are who is in the room now, this device included; none: there is no room.
func (d *Driver) Members() []round.Member {
	if d.Room == nil {
		return nil
	}
	return d.Room.Members()
}

// Pressed: a press at the edge at began a turn. alone is what Alone said before.
func (d *Driver) Pressed(at time.Duration, id turn.ID, alone bool) {
	if d.Room != nil {
		d.post(talk.Asked{Turn: id, Alone: alone, Cause: turn.CauseUtterance})
		d.Room.Pressed(at, string(id))
		d.spent.note(d, &d.spent.pressed, id)
	}
	d.Voices.Names(names(d.Members(), d.Cards, HouseholdOf(d).People())) // after what silences the room: there is time until the words are over
}

// mostNames is our choice: a voice takes fewer.
const mostNames = 64

// names are those by which somebody here may be called, first of the companions that live here, then of the others, then of people: the list
// is cut, and only companions answer.
func names(members []round.Member, own []companions.Card, people []string) (all []string) {
	call := func(names ...string) {
		for _, n := range names {
			if len(all) < mostNames && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	for _, c := range own {
		call(append([]string{c.Name}, c.Aliases...)...)
	}
	for _, m := range members {
		for _, c := range m.Cards {
			call(append([]string{c.Name}, c.Aliases...)...)
		}
	}
	call(people...)
	return all
}

// Hushed silences the whole room, as a press does of which nothing comes, and says which devices have confirmed that within control.HushWait.
func (d *Driver) Hushed(ctx context.Context, at time.Duration) (h control.Hushed) {
	h.Silent, h.Unconfirmed, h.Unreached, h.Away = []string{}, []string{}, []string{}, []string{}
	if d.Room == nil {
		return h
	}
	ctx, cancel := context.WithTimeout(ctx, control.HushWait)
	defer cancel()
	h.Silent, h.Unconfirmed, h.Unreached, h.Away = d.Room.Silence(ctx, at).Result()
	h.Room = len(h.Silent) > 0 && h.Whole() && len(h.Away) == 0
	return h
}

// Injected takes the floor for a turn that nobody asked for.
func (d *Driver) Injected(id turn.ID) { d.post(talk.Announced{Turn: id}) }

// Heard looks at what the voices report.
func (d *Driver) Heard(ev turn.Event) {
	switch e := ev.(type) {
	case turn.Transcribed:
		d.words(e.Turn, e.Text)
	case turn.InputCommitted:
		d.post(talk.InputCommitted{At: d.o.Now(), Turn: e.Turn})
	}
}

// Speech is told what becomes of an answer.
func (d *Driver) Speech(e coordinator.SpeechEvent) {
	switch e.Kind {
	case coordinator.SpeechBegan:
		d.post(talk.SpeechBegan{Turn: e.Turn})
	case coordinator.SpeechKnown:
		d.post(talk.SpeechKnown{Turn: e.Turn, At: e.At, Left: e.Left, Text: e.Text})
	}
}

// TurnEnded is told of the end of every turn, and tells whoever waits for it.
func (d *Driver) TurnEnded(r coordinator.Record) control.Turn {
	t := control.Turn{Event: "turn.end", Device: d.o.Config.Device.Name, Who: d.NameOf(d.Voices.Whose(r.Who)), Record: r}
	d.last.Store(&t)
	d.Waiters.tell(t)
	d.post(talk.TurnEnded{
		Turn: r.Turn, Reason: r.Reason, Done: r.Reason == turn.Done.String(), Audible: r.Audible, Whole: r.Whole,
		Heard: time.Duration(r.HeardMS * float64(time.Millisecond)), Said: r.Said, HeardText: r.HeardText, Tools: r.Tools, Words: turn.Words(r.Words),
		Generation: d.host.Generation(),
	})
	return t
}

// Last is the turn of this device that ended last; nil: there was none.
func (d *Driver) Last() *control.Turn { return d.last.Load() }

// Why says in plain sentences who spoke last and why. Alone there is no vote, and still something to tell.
func (d *Driver) Why(l language.Language) string {
	if d.Room != nil {
		return d.Room.Why(l)
	}
	if t := d.last.Load(); t != nil {
		return t.Why(l)
	}
	return l.Phrase("told.nobody_yet")
}

// WhyOf says why a companion spoke last, in the device's language: a companion is asked.
func (d *Driver) WhyOf(c round.CompanionID) string {
	if d.Room == nil {
		return d.Why(d.o.Config.Device.Language)
	}
	return d.Room.WhyOf(d.o.Config.Device.Language, d.KnownAs(c))
}

// Recorded is told each entry of the ledger, on the room's goroutine.
func (d *Driver) Recorded(e round.Entry) {
	gen := d.host.Generation() // before it is known whether somebody pressed: a press from here on silences the words
	switch {
	case e.Kind == round.EntryFailed && e.Place != nil:
		d.post(talk.AnswerFailed{Message: e.Place.Message})
	case e.Kind == round.EntrySilent && e.Message != nil && e.Message.From == round.Human(d.o.Self):
		d.post(talk.Unanswered{Message: e.Message.ID, Turn: turn.ID(e.Message.Turn), Generation: gen, Muted: mutedCalled(d.Members(), *e.Message), Why: e.Why})
	case e.Kind == round.EntryControl:
		d.post(talk.MannersTurned{Companion: e.Companion})
	}
}

func (d *Driver) entry(e round.Entry) {
	d.Recorded(e)
	if e.Kind == round.EntryMember {
		d.house()
		HouseholdOf(d).namesakes()
	}
	if d.o.OnEntry != nil {
		d.o.OnEntry(e)
	}
}
