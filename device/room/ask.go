package room

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/audio/words"
	"conch/companions"
	"conch/companions/round"
	"conch/companions/talk"
	"conch/coordinator/turn"
	"conch/device/control"
	"conch/device/printable"
	"conch/device/wait"
)

// waiters are those who asked something and wait for the turn's end.
type waiters struct {
	mu sync.Mutex
	of map[turn.ID]waiter
}

// waiter is one of them. What it is told of, it has room for.
type waiter struct {
	ended chan control.Turn // one
	tools chan string       // what each of the turn's tools has answered; empty: it failed, or has not done it yet
}

// moreTools is more than a turn calls.
const moreTools = 64

// expect notes that somebody waits for the end of a turn. The turn must not have begun.
func (w *waiters) expect(id turn.ID) waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[turn.ID]waiter{}
	}
	w.of[id] = waiter{make(chan control.Turn, 1), make(chan string, moreTools)}
	return w.of[id]
}

func (w *waiters) forget(id turn.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, id)
}

func (w *waiters) tell(t control.Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one, ok := w.of[t.Turn]; ok {
		one.ended <- t // room for one, and each turn ends once
	}
}

// ToolDone is told what a tool has answered; empty: it failed, or what it does begins only after the answer.
func (w *waiters) ToolDone(id turn.ID, output string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.of[id].tools <- output: // nobody waits for nil
	default:
	}
}

// lateTools is how long a tool may take after the end of its turn, of which it was told. Our choice: until then it has not done it.
const lateTools = 2 * time.Second

// done are the answers of tools that a turn has called and nobody was told of.
func (w waiter) done(ctx context.Context, tools int) (all []string) {
	ctx, cancel := context.WithTimeout(ctx, lateTools)
	defer cancel()
	for range tools {
		select {
		case output := <-w.tools:
			if output != "" {
				all = append(all, output)
			}
		case <-ctx.Done():
			return all
		}
	}
	return all
}

// Put asks as if text had been spoken, to whom it is put in particular; it returns when the question is in the inboxes.
func (d *Driver) Put(text string, to ...round.Participant) { d.put(newTurn(), text, to...) }

// put: the words are known at once, so that a round costs nothing even where nobody else is.
func (d *Driver) put(id turn.ID, text string, to ...round.Participant) {
	d.post(talk.Asked{Turn: id, To: to, Cause: turn.CauseLine}) // before the turn begins, so that its end finds it
	d.host.Post(turn.Asked{At: d.o.Now(), Turn: id, Text: text, Cause: turn.CauseLine})
	d.words(id, text)
}

// Ask asks as if the text had been spoken, and waits until the turn has ended.
func (d *Driver) Ask(ctx context.Context, text string, to ...round.Participant) (control.Turn, error) {
	t, _, err := ask(ctx, d, text, to...)
	return t, err
}

// ask is Ask, and tells what the tools of a turn have answered that came to no good end.
func ask(ctx context.Context, d *Driver, text string, to ...round.Participant) (t control.Turn, done []string, err error) {
	id := newTurn()
	w := d.Waiters.expect(id)
	defer d.Waiters.forget(id)
	d.put(id, text, to...)
	select {
	case t = <-w.ended:
	case <-ctx.Done():
		return t, nil, fmt.Errorf("ask: the turn %s has not ended: %w", id, ctx.Err())
	}
	if t.Reason != turn.Done.String() {
		done = w.done(ctx, t.Tools)
	}
	return t, done, nil
}

// newTurn names a turn that does not begin with a press. Eight digits where the coordinator's own have six, so that they differ.
func newTurn() turn.ID {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return turn.ID("t-" + hex.EncodeToString(b[:]))
}

// Inquire asks as if the text had been spoken, and waits until that has come to its end: here, or in the room. To are the
// companions that are meant, by name, alias or id.
func (d *Driver) Inquire(ctx context.Context, text string, to ...string) (control.Answer, error) {
	whom, err := whom(d, to)
	if err != nil {
		return control.Answer{}, err
	}
	var entries <-chan round.Entry
	if d.Room != nil {
		watch, stop := context.WithCancel(ctx)
		defer stop()
		entries = d.Room.Watch(watch) // from before the question
	}
	t, done, err := ask(ctx, d, text, whom...)
	a := control.Answer{Turn: string(t.Turn), Text: t.Said, Who: t.Who, Outcome: control.OutcomeFailed, Done: done, Summary: t}
	if t.Words != "" {
		a.Words = words.Text(d.o.Config.Device.Language, t.Words)
	}
	switch {
	case err != nil:
		return a, err
	case t.Reason == turn.Done.String(), t.Whole && t.InterruptedIn == turn.InResponse.String():
		a.Outcome = control.OutcomeAnswered
	case t.Reason == turn.InterruptedByPress.String():
		a.Outcome, a.Why = control.OutcomeSuperseded, "somebody pressed a button, or asked for silence"
		if t.Displaced {
			a.Why = "a newer question came"
		}
	case t.Reason == turn.LostVote.String() && entries != nil:
		a.Who = ""
		if err := follow(ctx, d, &a, entries); err != nil {
			return a, err
		}
	}
	return a, nil
}

// follow waits until the room has done with the message of a turn that was not to be answered by it.
func follow(ctx context.Context, d *Driver, a *control.Answer, entries <-chan round.Entry) error {
	var place *round.Place
	claims := map[round.Place]round.Entry{} // a claim may come before the last vote, and so before the message's own entry
	failed, answered := "", false
	for {
		var e round.Entry
		select {
		case got, open := <-entries:
			if !open {
				return errors.New("ask: the appliance is ending, or too many watch its room")
			}
			e = got
		case <-ctx.Done():
			return fmt.Errorf("ask: nobody has answered: %w", ctx.Err())
		}
		if e.Message != nil && e.Message.Turn == a.Turn && e.Message.From == round.Human(d.o.Self) {
			p := e.Message.Place()
			place, a.Message = &p, p.Message
		}
		if e.Kind == round.EntryClaim && e.Place != nil {
			claims[*e.Place] = e
		}
		if place == nil {
			continue
		}
		claim := claims[*place]
		// The release of a speech that a press has made void is recorded by its own device only, and of a device that is gone
		// nobody hears any more.
		newer := e.Place != nil && place.Epoch.Before(e.Place.Epoch)
		if answered && (newer || e.Kind == round.EntryPress || e.Kind == round.EntryMember && e.By == claim.By && gone(ctx, d.Room, e.By)) {
			a.Outcome, a.Why = control.OutcomeAnswered, "it was cut"
			a.Who, a.Place = d.whoAndWhere(claim.Companion, claim.By)
			if err := wait.For(ctx, cutWords); err != nil {
				return err
			}
			spoken(ctx, d.Room, a, *place, claim.Companion)
			return nil
		}
		if newer { // whatever brought it
			a.Outcome, a.Why = control.OutcomeSuperseded, "a newer question or press came"
			return nil
		}
		if e.Place == nil || *e.Place != *place {
			continue
		}
		switch e.Kind {
		case round.EntryRound:
			a.Why = whyNobody(d.Members(), e.Decision)
			if muted := mutedCalled(d.Members(), *e.Message); len(muted) > 0 && a.Why != "" {
				name := namer(d.Members()).companion(muted[0])
				a.Why = fmt.Sprintf("%s is muted: conch room control --companion %s --unmute to undo", name, printable.Arg(name))
			}
		case round.EntryFailed:
			failed = e.Why
		case round.EntryAnswered: // at least begun: its end is told by EntrySpoke
			answered = true
			if failed != "" {
				a.Outcome, a.Why = control.OutcomeAnswered, "it was cut: "+failed
				a.Who, a.Place = d.whoAndWhere(claim.Companion, claim.By)
				return nil
			}
		case round.EntrySilent:
			a.Outcome = control.OutcomeSilent
			if a.Why == "" {
				a.Why = PlainReason(e.Why)
			}
			if failed != "" {
				a.Outcome, a.Words = control.OutcomeFailed, words.Text(d.o.Config.Device.Language, string(turn.WordsNoAnswer))
			}
			return nil
		case round.EntrySuperseded:
			a.Outcome, a.Why = control.OutcomeSuperseded, e.Why
			return nil
		case round.EntrySpoke:
			a.Outcome, a.Why = control.OutcomeAnswered, ""
			if e.Why != "" && e.Why != turn.Done.String() {
				a.Why = "it was cut"
			}
			a.Who, a.Place = d.whoAndWhere(e.Companion, e.By)
			spoken(ctx, d.Room, a, *place, e.Companion)
			return nil
		}
	}
}

// whyNobody is why nobody answers, and, where one of them has a reason of its own (it is muted), that one's.
func whyNobody(members []round.Member, c *round.Decision) string {
	if c == nil || c.Winner != "" {
		return ""
	}
	n := namer(members)
	why := n.words(PlainReason(c.Reason))
	others := slices.DeleteFunc(slices.Clone(c.Silent), func(s round.Silent) bool { return strings.Contains(c.Reason, s.Reason) })
	if len(others) == 1 {
		why += fmt.Sprintf("; %s: %s", n.companion(others[0].Companion), n.words(others[0].Reason))
	}
	return why
}

// lateWords is how long the words of an answer may come after its end: they travel under another topic. Our choice.
const lateWords = time.Second

// spoken fills in what was said.
func spoken(ctx context.Context, room *companions.Room, a *control.Answer, p round.Place, c round.CompanionID) {
	ctx, cancel := context.WithTimeout(ctx, lateWords)
	defer cancel()
	_ = wait.Until(ctx, func() bool { // without them the answer stands as given
		for _, m := range room.Recent() {
			if m.From == round.Participant(c) && m.Epoch == p.Epoch && m.Number >= p.Number {
				a.Text = m.Text
				return true
			}
		}
		return false
	})
}

// cutWords is what the correction of an answer that was cut may take: one hop, and the coordinator's own time. Our choice.
const cutWords = 300 * time.Millisecond

// present says whether a device is in the room now.
func present(members []round.Member, id round.DeviceID) bool {
	return slices.ContainsFunc(members, func(m round.Member) bool { return m.Device == id })
}

// gone says, of a device of which the ledger has something to tell, whether it is that it went: the list of members follows
// the ledger.
func gone(ctx context.Context, room *companions.Room, id round.DeviceID) bool {
	ctx, cancel := context.WithTimeout(ctx, cutWords)
	defer cancel()
	return wait.Until(ctx, func() bool { return !present(room.Members(), id) }) == nil
}

// whoAndWhere gives names to a companion and a device; place is empty for this one.
func (d *Driver) whoAndWhere(c round.CompanionID, by round.DeviceID) (who, place string) {
	n := namer(d.Members())
	if by != d.o.Self {
		place = n.device(by)
	}
	return n.companion(c), place
}

// whom finds companions by what people call them: name, alias or id, in any case.
func whom(d *Driver, names []string) ([]round.Participant, error) {
	var to []round.Participant
	for _, name := range names {
		c, err := d.companion(name)
		if err != nil {
			return nil, err
		}
		if p := round.Participant(c); !slices.Contains(to, p) {
			to = append(to, p)
		}
	}
	return to, nil
}

// companion finds one in the room, or, without a room, here: by its own name or by that of its device.
func (d *Driver) companion(name string) (round.CompanionID, error) {
	var all []round.Card
	for _, m := range d.Members() {
		all = append(all, m.Cards...)
	}
	if d.Room == nil {
		for _, c := range d.Cards {
			all = append(all, c.Card)
		}
	}
	var names []string
	for _, c := range all {
		if strings.EqualFold(string(c.ID), name) || slices.ContainsFunc(c.Aliases, func(a string) bool { return strings.EqualFold(a, name) }) {
			return c.ID, nil
		}
		names = append(names, c.Name)
	}
	if i := printable.Find(names, name); i >= 0 {
		return all[i].ID, nil
	}
	var places []string
	for _, m := range d.Members() {
		places = append(places, m.Name)
	}
	if i := printable.Find(places, name); i >= 0 && len(d.Members()[i].Cards) > 0 { // who is called by the device is who lives there
		return d.Members()[i].Cards[0].ID, nil
	}
	slices.Sort(names)
	there := "there are "
	if len(names) == 1 {
		there = "there is "
	}
	return "", fmt.Errorf("%w: companion %q is not here: %s", control.ErrRefused, name, there+strings.Join(names, ", "))
}
