package round

import (
	"slices"
	"time"
)

// roundState is the round of the newest message of the epoch. There is one at a time: what comes for an older one is late,
// and what comes for a newer one opens it, or waits for its message.
type roundState struct {
	open    bool
	place   Place
	message Message
	device  DeviceID // where the message comes from
	view    View
	began   time.Duration

	// Voting.
	roster   []seat
	quiet    []Silent // who is here and not in the roster
	votes    []Vote   // that count, as they came
	refused  []Silent
	pending  []Vote        // own votes that a model may better
	refine   time.Duration // ... until then
	deadline time.Duration

	// Decided.
	decided   bool
	decision  Decision
	tried     []CompanionID // who had the floor for this message and did not speak
	candidate CompanionID   // whose turn it is, elsewhere
	expect    time.Duration // ... if it claims until then
	grace     time.Duration // nobody claims before
	silentAt  time.Duration // nobody speaks, unless a claim is seen until then
	why       string        // the last failure
	over      bool          // answered, or nobody will

	lookedAgain bool // who is to step in has been waited for once
}

// seat is a companion of the roster and where it lives.
type seat struct {
	id     CompanionID
	device DeviceID
}

// whisper is who alone may know a message.
func (m Message) whisper() (CompanionID, bool) {
	if len(m.To) != 1 {
		return "", false
	}
	return m.To[0].Companion()
}

// messageHeard checks a message from elsewhere: who says it lives where it comes from.
func (s *step) messageHeard(from DeviceID, msg Message) {
	why := ""
	who, companion := msg.From.Companion()
	switch {
	case msg.ID == "" || msg.Number < 1 || msg.Metadata.Chain < 0 || len(msg.To) > maxCompanions || len(msg.Metadata.Joins) > maxSeen || len(msg.Metadata.Queue) > maxCompanions:
		why = "a field is missing or out of range"
	case !s.sane(msg.Epoch):
		why = "no epoch that could be"
	case !companion && msg.From != Human(from):
		why = "its sender does not live there"
	case !companion && !msg.Metadata.Silence && msg.Epoch.Device != from:
		why = "no press of that device has this epoch"
	case companion && !s.livesOn(who, from):
		why = "its sender does not live there"
	case slices.Contains(s.m.seen, msg.ID):
		why = "seen before"
	}
	if why != "" {
		s.ignore(from, "Message", why)
		return
	}
	s.accept(msg, from)
}

// accept is a message's one way into the machine.
func (s *step) accept(msg Message, from DeviceID) {
	m := &s.m
	if m.epoch.Before(msg.Epoch) {
		s.adopt(msg.Epoch, "a person spoke at "+s.nameOf(from), true)
	}
	if msg.From.Human() && !msg.Metadata.Silence {
		s.pressDone(from, msg.Epoch)
	}
	s.remember(msg)
	if msg.From.Human() && msg.Text != "" {
		if c, ok := SpokenControl(msg.Text, s.allCards()); ok {
			s.control(c, from, "said: "+msg.Text)
		}
	}
	why := ""
	switch {
	case msg.Epoch.Before(m.epoch):
		why = "of an older epoch: remembered, not answered"
	case m.rd.open && msg.Number <= m.rd.place.Number:
		why = "a newer message is there: remembered, not answered"
	}
	if why != "" {
		if from != m.cfg.Self {
			s.ignore(from, "Message", why)
		}
		return
	}
	if m.own.open && m.own.message.Epoch == msg.Epoch && msg.ID != m.own.message.ID {
		why := "the conversation has gone on"
		if who, ok := msg.From.Companion(); ok {
			m.own.sounded, why = true, "answered by "+string(who) // a text is published when it sounds
		}
		s.outcome(EntrySilent, why)
		s.lose("somebody else has answered")
	}
	s.openRound(msg, from)
}

// remember: what was said is known here from now on. Whispers are, too, for who voted on them must judge what follows; whom
// they are kept from is not told (Remember).
func (s *step) remember(msg Message) {
	m := &s.m
	m.seen = append(slices.Clip(m.seen), msg.ID)
	m.seen = m.seen[max(0, len(m.seen)-maxSeen):]
	if msg.Metadata.Silence {
		return
	}
	at, _ := slices.BinarySearchFunc(m.recent, msg, byPlace)
	m.recent = slices.Insert(slices.Clone(m.recent), at, msg)
	m.recent = m.recent[max(0, len(m.recent)-maxRecent):]
	if who, ok := msg.From.Companion(); ok {
		m.turns++
		m.spoke = spokeNow(m.spoke, who, m.turns)
	}
	if to, ok := msg.whisper(); !ok || hasCard(m.cards, to) {
		s.do(Remember{msg})
	}
}

// heardBefore is what was said before msg.
func (m *Machine) heardBefore(msg Message) []Message {
	at, _ := slices.BinarySearchFunc(m.recent, msg, byPlace)
	return m.recent[:at:at]
}

// openRound snapshots the roster and votes (room.md 3.1, 3.2).
func (s *step) openRound(msg Message, from DeviceID) {
	m := &s.m
	m.silence, m.asked = 0, ""
	for _, k := range m.stakes {
		if k.place != msg.Place() && (k.phase == stakeReady || k.phase == stakeClaimed || k.phase == stakeCued) {
			s.yield(k, "its message has been answered")
		}
	}
	m.ended = m.ended && !(msg.From.Human() && !msg.Metadata.Silence)
	r := roundState{open: true, place: msg.Place(), message: msg, device: from, began: m.now}
	r.view = View{
		Message: msg, Members: m.Members(), Recent: m.heardBefore(msg), Turns: m.turns, Room: m.setting.Involvement, Manners: m.cfg.Manners,
	}
	only, whispered := msg.whisper()
	whispered = whispered && msg.From.Human()
	budget := 0
	for _, x := range r.view.Members {
		seats := 0
		for _, c := range x.Cards {
			switch {
			case Participant(c.ID) == msg.From:
			case m.setting.Muted:
				r.quiet = append(r.quiet, Silent{c.ID, "the room was told to be quiet"})
			case c.Muted:
				r.quiet = append(r.quiet, Silent{c.ID, "it is muted"})
			case whispered && c.ID != only:
				r.quiet = append(r.quiet, Silent{c.ID, "it was said to " + string(only) + " alone"})
			default:
				r.roster = append(r.roster, seat{c.ID, x.Device})
				seats++
			}
		}
		if seats > 0 {
			budget = max(budget, x.Budget)
		}
	}
	slices.SortFunc(r.roster, func(a, b seat) int { return compareIDs(a.id, b.id) })
	r.deadline = m.now + min(time.Duration(min(budget, int(longestWait/time.Millisecond)))*time.Millisecond+m.cfg.Margin, longestWait)
	m.rd = r
	s.vote()
	var rest []early
	waiting := m.early
	for _, x := range waiting {
		if x.votes.Place == r.place {
			s.count(x.votes.Votes, x.from)
		} else if x.votes.Place.Epoch != r.place.Epoch || x.votes.Place.Number > r.place.Number {
			rest = append(rest, x)
		}
	}
	m.early = rest
}

// vote judges for the companions living here. Where nobody is obliged to speak a model may better the votes, if it is
// quick; it is not asked when somebody was addressed (room.md 3.2, 4).
func (s *step) vote() {
	m, r := &s.m, &s.m.rd
	var mine, all []CompanionID
	for _, x := range r.roster {
		all = append(all, x.id)
		if x.device == m.cfg.Self {
			mine = append(mine, x.id)
		}
	}
	if len(mine) == 0 {
		return
	}
	judged := mine
	if m.cfg.VoteBudget > 0 {
		judged = all
	}
	var votes []Vote
	selected := false
	for _, v := range m.cfg.judge(r.view, judged) {
		selected = selected || v.Selected
		if !slices.Contains(mine, v.From) {
			continue
		}
		v.MessageID = r.place.Message // by code, never by a model
		for _, x := range m.spoke {
			if x.id == v.From {
				v.Spoke = x.turn
			}
		}
		votes = append(votes, v)
	}
	if m.cfg.VoteBudget <= 0 || selected {
		s.publish(votes)
		return
	}
	r.pending, r.refine = votes, m.now+m.cfg.VoteBudget
	recent := slices.DeleteFunc(slices.Clone(r.view.Recent), func(x Message) bool {
		to, whispered := x.whisper()
		return whispered && !hasCard(m.cards, to)
	})
	s.do(Refine{Place: r.place, Message: r.message, Recent: recent, Votes: slices.Clone(votes), Until: r.refine})
}

// publish is the one envelope of votes that a device sends for a round.
func (s *step) publish(votes []Vote) {
	r := &s.m.rd
	r.pending, r.refine = nil, 0
	s.send(Votes{r.place, votes})
	s.count(votes, s.m.cfg.Self)
}

// refined: what a model made of the votes. It may move state, importance, closing, reason and terms; who votes on what is
// set here, and a vote that makes no sense leaves the rules' one standing.
func (s *step) refined(e Refined) {
	r := &s.m.rd
	if !r.open || r.place != e.Place || r.pending == nil {
		s.ignore("", "Refined", "its round does not wait for it")
		return
	}
	votes := slices.Clone(r.pending)
	for i, rule := range votes {
		for _, v := range e.Votes {
			if v.From != rule.From {
				continue
			}
			v.MessageID, v.Spoke = rule.MessageID, rule.Spoke
			if err := CheckVote(v); err != nil {
				v = rule
				v.Reason = rule.Reason + " (by rules: the model's vote was refused: " + err.Error() + ")"
			}
			votes[i] = v
			break
		}
	}
	s.publish(votes)
}

// votesHeard counts an envelope of votes, now or when its message comes (room.md 2).
func (s *step) votesHeard(from DeviceID, p Votes) {
	if !s.epochOf(from, p.Place.Epoch, "Votes") {
		return
	}
	m, r := &s.m, &s.m.rd
	switch {
	case p.Place.Message == "" || p.Place.Number < 1 || len(p.Votes) > maxPerDevice:
		s.ignore(from, "Votes", "a field is missing or out of range")
	case r.open && r.place == p.Place:
		s.count(p.Votes, from)
	case r.open && p.Place.Number <= r.place.Number:
		s.ignore(from, "Votes", "for a round that is over, or another message")
	case slices.ContainsFunc(m.early, func(x early) bool { return x.from == from && x.votes.Place == p.Place }):
		s.ignore(from, "Votes", "it has voted on this message")
	default:
		p.Votes = slices.Clone(p.Votes)
		m.early = append(slices.Clip(m.early), early{from, p})
		m.early = m.early[max(0, len(m.early)-maxEarly):]
	}
}

// count takes votes into the round, if they may count: the first of each companion of the roster, from where it lives.
func (s *step) count(votes []Vote, from DeviceID) {
	r := &s.m.rd
	for _, v := range votes {
		what := "Votes of " + string(v.From)
		at, ok := slices.BinarySearchFunc(r.roster, seat{id: v.From}, func(a, b seat) int { return compareIDs(a.id, b.id) })
		switch {
		case !ok:
			s.ignore(from, what, "not in the roster")
			continue
		case r.roster[at].device != from:
			s.ignore(from, what, "it does not live there")
			continue
		case v.MessageID != r.place.Message:
			s.ignore(from, what, "on another message than its envelope")
			continue
		}
		if err := CheckVote(v); err != nil {
			s.ignore(from, err.Error(), "a field of the vote is wrong")
			if !r.decided {
				r.refused = append(slices.Clip(r.refused), Silent{v.From, "its vote was refused: " + err.Error()})[:min(len(r.refused)+1, maxCompanions)]
			}
			continue
		}
		if slices.ContainsFunc(r.votes, func(x Vote) bool { return x.From == v.From }) {
			s.ignore(from, what, "it has voted on this message")
			continue
		}
		if r.decided {
			s.ignore(from, what, "late: the round was decided")
			continue
		}
		r.votes = append(slices.Clip(r.votes), v)
	}
}

// complete tells that everybody in the roster has voted, or is gone.
func (s *step) complete() bool {
	r := &s.m.rd
	for _, x := range r.roster {
		if !slices.ContainsFunc(r.votes, func(v Vote) bool { return v.From == x.id }) && s.present(x.device) {
			return false
		}
	}
	return true
}

// decide is selection (room.md 3.3, 3.4).
func (s *step) decide(atLimit bool) {
	m, r := &s.m, &s.m.rd
	if r.pending != nil { // cannot be late: the rules stand
		votes := slices.Clone(r.pending)
		for i := range votes {
			votes[i].Reason += " (by rules: the model was too slow)"
		}
		s.publish(votes)
	}
	roster := make([]CompanionID, 0, len(r.roster))
	for _, x := range r.roster {
		roster = append(roster, x.id)
	}
	d := Decide(r.message, roster, r.votes)
	d.Waited, d.AtLimit = float64(m.now-r.began)/float64(time.Millisecond), atLimit
	for _, x := range r.refused {
		for i := range d.Silent {
			if d.Silent[i].Companion == x.Companion && slices.Contains(d.Absent, x.Companion) {
				d.Silent[i].Reason = x.Reason
			}
		}
	}
	d.Silent = append(d.Silent, r.quiet...)
	r.decided, r.decision, r.deadline = true, d, 0
	place, msg := r.place, r.message
	s.record(Entry{Kind: EntryRound, Place: &place, Message: &msg, Decision: &d, Why: d.Reason})
	if d.Winner == "" {
		r.why = d.Reason
		r.silentAt = m.now
		if len(d.Absent) > 0 { // somebody who saw more votes may have a winner
			r.silentAt += m.cfg.ClaimLimit
		}
		if d.Ended {
			s.ended(place, "everybody has said goodbye")
			if r.device == m.cfg.Self {
				s.send(Ended{place})
			}
		}
		return
	}
	if PeopleFirst(r.view, d) {
		r.grace = m.now + PeopleWait
	}
}

// ended: the conversation is over until a person speaks (room.md 3, terminal).
func (s *step) ended(place Place, why string) {
	if s.m.ended {
		return
	}
	s.m.ended = true
	s.record(Entry{Kind: EntryEnded, Place: &place, Why: why})
}

func (s *step) endedHeard(from DeviceID, p Ended) {
	if !s.epochOf(from, p.Place.Epoch, "Ended") {
		return
	}
	if r := &s.m.rd; r.open && r.place.Number > p.Place.Number {
		s.ignore(from, "Ended", "the conversation has gone on")
		return
	}
	s.ended(p.Place, "everybody has said goodbye, says "+s.nameOf(from))
}

// settle does what follows from where things stand, after every fact: decide, claim, get ready, give up.
func (s *step) settle() {
	m, r := &s.m, &s.m.rd
	if !r.open {
		return
	}
	if !r.decided {
		if !s.complete() {
			return
		}
		s.decide(false)
	}
	if r.over {
		return
	}
	if r.decision.Winner == "" {
		if r.silentAt > 0 && m.now >= r.silentAt && m.floor.state == floorFree {
			s.nobody(r.decision.Reason)
		}
		return
	}
	if len(m.holders) > 0 {
		r.expect = 0
		return
	}
	switch m.floor.state {
	case floorFree:
		s.nextSpeaker()
	case floorClaimed: // in the pause a better claim wins
		r.expect = 0
		if m.floor.place == r.place && m.floor.device != m.cfg.Self && m.now-m.floor.since <= m.cfg.Pause+m.cfg.Margin {
			if c, ok := s.candidate(); ok && s.seatOf(c) == m.cfg.Self && m.now >= r.grace && Better(s.claimOf(c), m.floor.claim) {
				s.claim(c)
			}
		}
		s.getReady()
	case floorSounding:
		r.expect = 0
		s.getReady()
	}
}

// candidate is whose turn it is: the best of those who may speak, are here, and have not had the floor (once each).
func (s *step) candidate() (CompanionID, bool) {
	r := &s.m.rd
	for _, c := range r.decision.Order {
		if !slices.Contains(r.tried, c) && s.present(s.seatOf(c)) {
			return c, true
		}
	}
	return "", false
}

func (s *step) seatOf(c CompanionID) DeviceID {
	r := &s.m.rd
	if at, ok := slices.BinarySearchFunc(r.roster, seat{id: c}, func(a, b seat) int { return compareIDs(a.id, b.id) }); ok {
		return r.roster[at].device
	}
	return ""
}

// nextSpeaker: the floor is free.
func (s *step) nextSpeaker() {
	m, r := &s.m, &s.m.rd
	c, ok := s.candidate()
	switch {
	case !ok:
		s.nobody("nobody is left who could answer: " + r.why)
	case m.now < r.grace:
		r.expect = 0
	case s.seatOf(c) == m.cfg.Self:
		s.claim(c)
	case r.expect == 0 || r.candidate != c:
		r.candidate, r.expect = c, m.now+m.cfg.ClaimLimit
		if r.message.From.Human() {
			r.expect += PeopleWait // its device may see reason to let people answer first
		}
	}
}

// nobody ends a round without an answer, or without a further one.
func (s *step) nobody(why string) {
	m, r := &s.m, &s.m.rd
	r.over, r.silentAt, r.expect, r.grace = true, 0, 0, 0
	if m.own.open && m.own.message.ID == r.message.ID {
		s.outcome(EntrySilent, why)
		s.lose("nobody answers: " + why)
	}
	s.hangs(r.message)
}

// failed: c had the floor, or was to take it, and nothing came of it. The next one takes over (room.md 3.5).
func (s *step) failed(place Place, c CompanionID, why string) {
	r := &s.m.rd
	s.record(Entry{Kind: EntryFailed, Place: &place, Companion: c, Why: why})
	if !r.open || r.place != place || slices.Contains(r.tried, c) {
		return
	}
	r.tried = append(slices.Clip(r.tried), c)
	r.expect, r.why = 0, string(c)+": "+why
}

func compareIDs(a, b CompanionID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
