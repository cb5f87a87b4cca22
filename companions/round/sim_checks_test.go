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
	for _, e := range out {
		switch e := e.(type) {
		case Send:
			s.remembers(d, e.Packet)
		case Record:
			s.entry(d, e.Entry)
		case Speak:
			if e.Place.Epoch != d.m.epoch {
				s.breaks("I3: %s lets %s speak in an old epoch", d.name, e.Companion)
			}
		case Refine:
			s.model(d, e)
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
	if len(m.recent) > maxRecent || len(m.seen) > maxSeen || len(m.early) > maxEarly || len(m.stakes) > maxStakes || len(m.claims) > maxClaims || len(m.holders) > maxHolders {
		s.breaks("a bound of %s does not hold", d.name)
	}
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
				if theirs == mine {
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
		if !slices.ContainsFunc(s.sent[string(home)+" "+string(e.Place.Message)+" "+string(v.From)], func(x Vote) bool { return reflect.DeepEqual(x, v) }) {
			s.breaks("I5: a vote of %s counts at %s that %s has never sent", v.From, d.name, home)
		}
	}
	s.checks["I4 decisions"]++
	who := fmt.Sprint(dec.Winner, dec.Order, dec.Extras)
	if have, ok := s.winners[key]; ok && have != who {
		s.breaks("I4: with the same votes %s names %s, another device %s", d.name, who, have)
	} else if ok {
		s.checks["I4 compared"]++
	}
	s.winners[key] = who
}

// settled: when nothing happens any more every message has its outcome, everybody knows everybody, and nothing is left over.
func (s *sim) settled() {
	if s.broken != "" {
		return
	}
	for id, p := range s.people {
		if p.d.life != p.life {
			continue // its device died with it
		}
		s.checks["I2 messages"]++
		if len(p.outcomes) != 1 {
			s.breaks("I2: %s %q of %s has the outcomes %v", id, p.text, p.d.name, p.outcomes)
			return
		}
	}
	first := s.devs[0]
	for _, d := range s.devs {
		if d.m.epoch != first.m.epoch {
			s.breaks("%s counts from %v, %s from %v", d.name, d.m.epoch, first.name, first.m.epoch)
		}
		if len(d.m.members) != len(s.devs)-1 {
			s.breaks("%s sees %d others of %d", d.name, len(d.m.members), len(s.devs)-1)
		}
		for _, o := range s.devs {
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
			for _, o := range s.devs {
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
