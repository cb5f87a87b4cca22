package round

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// watch holds every Step to the invariants.
func (s *sim) watch(d *dev, ev Event, before Machine, out []Effect) {
	if at, ok := d.m.Wake(); ok && at <= d.clock() {
		if _, tick := ev.(Tick); tick {
			s.breaks("%s was woken and wants to be woken at once again: %+v", d.name, d.m)
		}
	}
	if s.tell != nil {
		s.narrate(d, ev, out)
	}
	if d.liar { // what it is held to is what the others do
		for _, e := range out {
			switch e := e.(type) {
			case Send:
				s.remembers(d, e.Packet)
			case Refine:
				s.model(d, e)
			}
		}
		return
	}
	s.hushed(d, ev, before)
	s.pressed(d, ev)
	if _, begun := ev.(LinkChanged); begun || d.m.chain < before.chain { // a device that restarts goes by what it is told
		s.turns[d], s.asked[d] = 0, 0
	}
	if id := personSaid(ev); slices.Contains(d.m.seen, id) && (!slices.Contains(before.seen, id) || slices.Contains(before.ahead, id)) {
		s.asked[d] = 0
	}
	for _, e := range out {
		said := false // its companion may have left meanwhile
		switch ev.(type) {
		case SpeechKnown, SpeechEnded:
			said = true
		}
		s.private(d, e, said)
		switch e := e.(type) {
		case Send:
			s.remembers(d, e.Packet)
			switch p := e.Packet.(type) {
			case Press:
				s.presses[envelopeKey{d, d.life, p.Epoch, nil}] = s.now
			case Message:
				s.said[p.ID] = s.now
			}
		case PressesCount:
			if o := s.dev(e.Device); o != nil && !o.liar && !s.often(d, o) {
				s.breaks("the presses of %s count no more at %s, after %d of them in %v", o.name, d.name, s.pressesOf(o, starvedLong), starvedLong)
			} else if !e.Count {
				s.fault("hammering member")
			}
		case Record:
			s.entry(d, e.Entry)
		case Remember:
			if rec, _ := ev.(Received); rec.Packet != nil && reflect.TypeOf(rec.Packet) == reflect.TypeFor[History]() {
				continue // what was said long ago
			} else if _, ok := e.Message.From.Companion(); !ok {
				s.turns[d] = 0
			} else if s.turns[d]++; s.turns[d] > d.cfg.Manners.ChainLimit+1 { // what was being said here when the last one came
				s.breaks("I6: %d companion turns without a person at %s", s.turns[d], d.name)
			}
		case Prepare:
			if s.checks["I6 turns"]++; e.Message.Metadata.Chain >= d.cfg.Manners.ChainLimit {
				s.breaks("I6: %s is to speak at %s after %d companion turns", e.Companion, d.name, e.Message.Metadata.Chain)
			}
		case Speak:
			if e.Place.Epoch != d.m.epoch {
				s.breaks("I3: %s lets %s speak in an old epoch", d.name, e.Companion)
			}
		case Refine:
			s.model(d, e)
			if s.checks["I6 calls"]++; s.asked[d] > d.m.cfg.Calls {
				s.breaks("I6: %d calls of a model at %s for one message of a person", s.asked[d], d.name)
			}
		}
	}
	s.silent(d)
	switch e := ev.(type) {
	case SpeechBegan:
		s.twoVoices(d)
	case SpeechEnded:
		if e.OK && !e.Cut && e.Place.Epoch == d.m.epoch {
			began := s.now - e.Heard
			first, twice := s.sounded[e.Place]
			s.sounded[e.Place] = began
			s.checks["I1 whole answers"]++
			switch {
			case !twice:
			case !s.calm:
				s.checks["I1 two whole answers to one message, in a torn room"]++
			case max(began, first)-min(began, first) > s.net.bound():
				s.breaks("I1: two whole answers to %v, begun at %v and %v", e.Place, first, began)
			}
		}
	}
	m := &d.m
	seen := map[CompanionID]DeviceID{}
	for _, x := range m.Members() {
		for _, c := range x.Cards {
			if who, twice := seen[c.ID]; twice && m.joining == 0 {
				s.breaks("%s takes %s to live at both %s and %s", d.name, c.ID, who, x.Device)
			}
			seen[c.ID] = x.Device
		}
	}
	if len(m.recent) > maxRecent || len(m.seen) > maxSeen || len(m.early) > maxEarly || len(m.stakes) > maxStakes || len(m.claims) > maxClaims || len(m.holders) > maxHolders {
		s.breaks("a bound of %s does not hold", d.name)
	}
}

// personSaid is the message of a person that a fact brings; empty: none.
func personSaid(ev Event) MessageID {
	switch e := ev.(type) {
	case Said:
		return e.ID
	case SaidLate:
		return e.ID
	case Received:
		if m, ok := e.Packet.(Message); ok && m.From.Human() && !m.Metadata.Silence {
			return m.ID
		}
	}
	return ""
}

func (s *sim) dev(id DeviceID) *dev {
	for _, d := range s.devs {
		if d.id == id {
			return d
		}
	}
	return nil
}

// pressed is the other half of I3: a press of a good member that comes for the first time, by itself or with its words, silences what
// answers an older message.
func (s *sim) pressed(d *dev, ev Event) {
	rec, _ := ev.(Received)
	from := s.dev(rec.From)
	if from == nil || from.liar {
		return
	}
	var epoch Epoch
	switch p := rec.Packet.(type) {
	case Press:
		epoch = p.Epoch
	case Message:
		if p.From != Human(from.id) || p.Metadata.Silence {
			return
		}
		epoch = p.Epoch
	}
	sent, ok := s.presses[envelopeKey{from, from.life, epoch, nil}]
	key := envelopeKey{from, from.life, epoch, d}
	if _, twice := s.presses[key]; !ok || twice {
		return
	}
	s.presses[key] = s.now
	if p := d.m.presser(from.id); p != nil && p.until > 0 { // what has been asked goes on (hushed)
		return
	}
	s.checks["I3 presses"]++
	for _, sp := range d.soundings() {
		if at, ok := s.said[sp.p.Message.ID]; ok && at < sent {
			s.breaks("I3: %s goes on at %s; the press %v has come, and was made after what it answers", sp.p.Companion, d.name, epoch)
		}
	}
}

// hushed holds what a press is for: once one has come that is new, nothing sounds at that device, whatever its member has pressed before.
func (s *sim) hushed(d *dev, ev Event, before Machine) {
	rec, _ := ev.(Received)
	press, ok := rec.Packet.(Press)
	if p := before.presser(rec.From); !ok || !sane(press.Epoch) || press.Epoch.Device != rec.From || p != nil && slices.Contains(p.known, press.Epoch) {
		return
	}
	if s.checks["I3 hushes"]++; d.m.presser(rec.From).until > 0 {
		s.checks["I3 hushes without the floor"]++
	}
	for _, sp := range d.soundings() {
		s.breaks("I3: %s goes on at %s; the press %v has come", sp.p.Companion, d.name, press.Epoch)
	}
}

// private: the words of a whisper and of its answer are on the two devices only, and there in nothing that others are told or that is
// written down.
func (s *sim) private(d *dev, e Effect, said bool) {
	words := func(m Message, mayKnow bool) {
		if m.Private() && m.Text != "" {
			s.checks["private words"]++
			if from, companion := m.From.Companion(); !mayKnow || m.For != d.id && m.From != Human(d.id) && !(companion && (said || hasCard(d.m.cards, from))) && !d.liar {
				s.breaks("%T at %s has the words of a message for %s: %+v", e, d.name, m.For, m)
			}
		}
	}
	switch e := e.(type) {
	case Send:
		switch p := e.Packet.(type) {
		case Message:
			words(p, true) // sealed on its way
		case History:
			for _, m := range p.Messages {
				if _, whispered := m.Whisper(); whispered || m.Private() {
					s.breaks("%s hands on what was said in private: %+v", d.name, m)
				}
			}
		}
	case Remember:
		words(e.Message, true)
	case Prepare:
		words(e.Message, true)
	case Refine:
		words(e.Message, false)
		for _, m := range e.Recent {
			words(m, false)
		}
	case Record:
		if e.Entry.Message != nil {
			words(*e.Entry.Message, false)
		}
	}
	for _, m := range d.m.recent {
		words(m, false)
	}
	words(d.m.rd.message, false)
	words(d.m.own.message, false)
}

// silent is I3: what can be heard at a device is of the epoch that the device knows.
func (s *sim) silent(d *dev) {
	for _, sp := range d.soundings() {
		s.checks["I3 sounds"]++
		if sp.p.Place.Epoch != d.m.epoch {
			s.breaks("I3: %s is heard at %s in epoch %v; the press of %v has arrived", sp.p.Companion, d.name, sp.p.Place.Epoch, d.m.epoch)
		}
	}
}

// twoVoices is I1, looked at whenever somebody begins.
func (s *sim) twoVoices(d *dev) {
	for _, mine := range d.soundings() {
		for _, o := range s.devs {
			for _, theirs := range o.soundings() {
				if theirs == mine || o.liar {
					continue
				}
				s.checks["I1 pairs"]++
				s.overlap(d, o, mine, theirs, s.now)
			}
		}
	}
}

func (s *sim) overlap(a, b *dev, x, y *speech, since time.Duration) {
	both := func() bool { return slices.Contains(a.soundings(), x) && slices.Contains(b.soundings(), y) }
	apart := func() bool { return a.group != b.group || a.group < 0 }
	if a == b {
		s.breaks("I1: %s and %s speak from one device", x.p.Companion, y.p.Companion)
		return
	}
	claimed := min(x.ready, y.ready) - time.Second // Prepare came at most so long before it was ready
	after := DefaultConfig().Renew + 3*s.net.bound() + 5*time.Millisecond
	limit := since + s.net.bound() + 5*time.Millisecond
	var check func()
	check = func() {
		torn := max(a.connected, b.connected)
		if apart() {
			torn = s.now
		}
		if torn >= claimed || !s.calm {
			limit = max(since, torn) + after
		}
		switch {
		case !both():
		case s.now < limit:
			s.after(limit-s.now, check)
		default:
			s.breaks("I1: %s (%s, for %v) and %s (%s, for %v) have been heard at once since %v", x.p.Companion, a.name, x.p.Place, y.p.Companion, b.name, y.p.Place, since)
		}
	}
	s.after(limit-s.now, check)
	if s.calm {
		s.overlaps++
		var ends func()
		ends = func() {
			if both() {
				s.after(time.Millisecond, ends)
				return
			}
			if l := s.now - since; l > s.longest {
				s.longest, s.allowed = l, s.net.bound()
			}
		}
		s.after(time.Millisecond, ends)
	}
}

// remembers what was sent, for replays and for I5.
func (s *sim) remembers(d *dev, p Packet) {
	switch p := p.(type) {
	case Beat: // a replayed beat is refused by its sequence number long before it gets here
		return
	case Votes:
		for _, v := range p.Votes {
			key := string(d.id) + " " + string(p.Place.Message) + " " + string(v.From)
			s.sent[key] = append(s.sent[key], v)
		}
	}
	if len(s.old) < 200 {
		s.old = append(s.old, envelope{d, p})
	} else {
		s.old[s.r.IntN(200)] = envelope{d, p}
	}
}

func (s *sim) entry(d *dev, e Entry) {
	switch e.Kind {
	case EntryRound:
		if e.Decision == nil || e.Message == nil {
			s.breaks("a round without its decision")
			return
		}
		if d.id == s.home(*e.Message) {
			s.rounds++
		}
		s.decision(d, e)
	case EntryAnswered, EntrySilent, EntrySuperseded:
		p := s.people[e.Message.ID]
		if p == nil || p.d != d {
			s.breaks("I2: %s records the outcome of a message that is not its person's", d.name)
			return
		}
		p.outcomes = append(p.outcomes, e.Kind)
		s.checks["I2 "+string(e.Kind)]++
		if len(p.outcomes) > 1 {
			s.breaks("I2: %q has the outcomes %v", p.text, p.outcomes)
		}
	}
}

func (s *sim) home(m Message) DeviceID {
	for _, d := range s.devs {
		if m.From == Human(d.id) {
			return d.id
		}
		if who, ok := m.From.Companion(); ok && d.alive && hasCard(d.m.cards, who) {
			return d.id
		}
	}
	return ""
}

// decision is I4 and I5: the same votes name the same winner everywhere, and every vote is from the roster and from its home.
func (s *sim) decision(d *dev, e Entry) {
	dec := e.Decision
	key := fmt.Sprint(*e.Place, dec.Roster)
	for _, v := range dec.Votes {
		key += fmt.Sprint(v.From, v.State, v.Importance, v.Selected, v.Closing, v.Spoke, ";")
		at := slices.IndexFunc(d.m.rd.roster, func(x seat) bool { return x.id == v.From })
		if at < 0 {
			s.breaks("I5: a vote of %s counts and is not in the roster", v.From)
			return
		}
		home := d.m.rd.roster[at].device
		if home == d.id {
			continue
		}
		s.checks["I5 votes"]++
		if !slices.ContainsFunc(s.sent[string(home)+" "+string(e.Place.Message)+" "+string(v.From)], func(x Vote) bool {
			x.Selected = x.Selected && v.Selected // who takes the floor again and again is not believed that it was called
			return reflect.DeepEqual(x, v)
		}) {
			s.breaks("I5: a vote of %s counts at %s that %s has never sent", v.From, d.name, home)
		}
	}
	s.layers(d, e)
	s.checks["I4 decisions"]++
	who := fmt.Sprint(dec.Winner, dec.Order, dec.Extras)
	if have, ok := s.winners[key]; ok && have != who {
		s.breaks("I4: with the same votes %s names %s, another device %s", d.name, who, have)
	} else if ok {
		s.checks["I4 compared"]++
	}
	s.winners[key] = who
}

// layers is the other half of I6: whom a limit keeps silent here does not speak, and whom the rules call on here may, whatever a model says.
func (s *sim) layers(d *dev, e Entry) {
	if d.cfg.judge != nil {
		return
	}
	rules := newScene(d.m.rd.view)
	for _, x := range d.m.rd.roster {
		if x.device != d.id {
			continue
		}
		rule, may := rules.vote(x.id), slices.Contains(e.Decision.Order, x.id)
		s.checks["I6 "+string(rule.Layer)]++
		switch {
		case may && rule.Layer == LayerForbidden:
			s.breaks("I6: %s may speak at %s, and %s", x.id, d.name, rule.Reason)
		case !may && rule.Selected && rule.Closing != Terminal && !slices.ContainsFunc(e.Decision.Barred, func(b Silent) bool { return b.Companion == x.id }):
			// Barred is who by the person's words alone has to be silent: here they may name somebody who is known and gone.
			s.breaks("I6: %s may not speak at %s, and %s", x.id, d.name, rule.Reason)
		}
	}
}

// settled: when nothing happens any more every message has its outcome, everybody knows everybody, and nothing is left over.
func (s *sim) settled() {
	if s.broken != "" {
		return
	}
	for id, p := range s.people {
		if p.d.life != p.life || p.d.liar {
			continue // its device died with it
		}
		s.checks["I2 messages"]++
		if len(p.outcomes) != 1 {
			s.breaks("I2: %s %q of %s has the outcomes %v", id, p.text, p.d.name, p.outcomes)
			return
		}
	}
	good := slices.DeleteFunc(slices.Clone(s.devs), func(d *dev) bool { return d.liar })
	first := good[0]
	for _, d := range good {
		if d.m.epoch != first.m.epoch {
			s.breaks("%s counts from %v, %s from %v", d.name, d.m.epoch, first.name, first.m.epoch)
		}
		if len(d.m.members) != len(s.devs)-1 {
			s.breaks("%s sees %d others of %d", d.name, len(d.m.members), len(s.devs)-1)
		}
		for _, o := range good {
			for _, x := range d.m.members {
				if x.Device == o.id && digestOf(x.Cards) != o.m.digest {
					s.breaks("%s has other cards of %s than it has itself: %+v, not %+v", d.name, o.name, x.Cards, o.m.cards)
				}
			}
		}
		if who, _ := d.m.Floor(); who != "" || len(d.m.stakes) > 0 && d.m.stakes[0].phase != stakeOver {
			s.breaks("%s still has a floor (%s) or an answer (%d)", d.name, who, len(d.m.stakes))
		}
		for _, c := range d.m.cards {
			for _, o := range good {
				if o != d && hasCard(o.m.cards, c.ID) {
					s.breaks("%s and %s both have a companion %s", d.name, o.name, c.ID)
				}
			}
		}
	}
}

// difference names the first field in which two machines differ.
func difference(a, b Machine) string {
	a.cfg.judge, b.cfg.judge = nil, nil // a function equals nothing
	x, y := reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()
	for i := range x.NumField() {
		if fa, fb := x.Field(i), y.Field(i); !reflect.DeepEqual(fieldOf(fa), fieldOf(fb)) {
			return x.Type().Field(i).Name
		}
	}
	return ""
}

// fieldOf reads an unexported field.
func fieldOf(v reflect.Value) any {
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem().Interface()
}

// often says that who presses at a good device may be put off at d: a press each five seconds, five minutes long, or 30 at once, is more than
// people do who want an answer. For half an hour afterwards less will do.
func (s *sim) often(d, o *dev) bool {
	for _, p := range d.m.pressers {
		if p.device == o.id && p.strikes > 1 {
			return true
		}
	}
	return s.pressesOf(o, starvedLong) >= 60 || s.pressesOf(o, 20*time.Second) >= 30
}

// pressesOf is how often there was a press at a device of late.
func (s *sim) pressesOf(o *dev, of time.Duration) (n int) {
	for k, at := range s.presses {
		if k.from == o && k.to == nil && s.now-at <= of {
			n++
		}
	}
	return n
}
