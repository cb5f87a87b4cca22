package device

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/condition"
)

// roomTalk is the device's part in the room's conversation: it makes turns of what the room grants, and facts for the room of
// what becomes of them. Its methods are called by the room's goroutine (roomStage), by the coordinator's (ended, speech) and
// by whoever sees a gesture; none of them blocks.
type roomTalk struct {
	d    *Device
	room *companions.Room // set by wireRoom, before anything runs

	mu        sync.Mutex      // guards what follows
	jobs      []*job          // what the room has granted and not yet heard the end of, in order; one sounds, one gets ready
	failed    round.MessageID // the last message to which an answer failed
	trouble   turn.Words      // what a companion of this device failed with, until it is said
	questions [8]question     // the latest turns of this device's button, the newest at next-1
	next      int
	granted   [16]round.Prepare // the latest, the newest at grants-1: what was said of them, their sessions know
	grants    int
	began     int // questions so far
}

// job is one answer of a companion that lives here.
type job struct {
	grant   round.Prepare
	turn    turn.ID
	opened  bool   // it may be heard
	alone   bool   // it was answered without the room, which is told of it when it says Speak
	cued    bool   // the room has said Speak
	abandon string // why it is given up; empty: it is not
	before  int    // questions that had begun here when it was granted: a later one cuts it
}

// question is a turn that a person began here.
type question struct {
	turn   turn.ID
	alone  bool // answered without a round
	told   bool // the room has its words, or knows that there are none
	to     []round.Participant
	began  bool                     // alone: the answer sounds, and the room does not know the question yet
	known  *coordinator.SpeechEvent // alone: all of the answer is known
	record *coordinator.Record      // once it has ended
}

// abandonPatience is how long the end of an answer that was given up is waited for. Our choice: a cut takes milliseconds.
const abandonPatience = 500 * time.Millisecond

// ask notes a question of this device before its turn begins.
func (t *roomTalk) ask(q question) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began++
	t.questions[t.next] = q
	t.next = (t.next + 1) % len(t.questions)
}

// taken says that an announcement of this device has to wait for the room. Called by the coordinator.
func (t *roomTalk) taken() bool { return t.room != nil && t.room.Taken() }

// announces takes the floor for a turn that nobody asked for: a timer, an announcement. It is taken as a press takes it, the
// only way that nobody can miss, and given back when the turn ends (ended).
func (t *roomTalk) announces(id turn.ID) {
	if t.room == nil {
		return
	}
	t.ask(question{turn: id})
	t.room.Pressed(t.d.now(), string(id))
}

// about finds a question; needs mu.
func (t *roomTalk) about(id turn.ID) *question {
	for i := range t.questions {
		if t.questions[i].turn == id && id != "" {
			return &t.questions[i]
		}
	}
	return nil
}

func (t *roomTalk) isAlone(id turn.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.about(id)
	return q != nil && q.alone
}

// words tells the room what was asked in a turn of this device, once.
func (t *roomTalk) words(id turn.ID, text string) {
	t.mu.Lock()
	q := t.about(id)
	if q == nil || q.told {
		t.mu.Unlock()
		return
	}
	q.told = true
	to := q.to
	if q.alone && !t.room.Alone() { // somebody came while it was being asked, and it is being answered already
		to = []round.Participant{round.Participant(t.first())}
	}
	if strings.TrimSpace(text) == "" { // not written down: whoever heard it answers
		text, to = unwritten, []round.Participant{round.Participant(t.first())}
	}
	t.mu.Unlock()
	t.room.Said(string(id), text, to)
}

// unwritten stands for words that nobody has written down. The room answers no empty message, and an utterance has been heard.
const unwritten = "(said aloud, and not written down)"

// first is the companion that has the microphone, as the room calls it.
func (t *roomTalk) first() round.CompanionID { return t.d.knownAs(t.d.voices.ids[0]) }

// heard looks at what the voices report.
func (t *roomTalk) heard(ev turn.Event) {
	switch e := ev.(type) {
	case turn.Transcribed:
		t.words(e.Turn, e.Text)
	case turn.InputCommitted: // the words are due; a server that does not write them down must not leave the room waiting
		time.AfterFunc(transcriptPatience, func() { t.words(e.Turn, "") })
	}
}

// transcriptPatience is how long the words of an utterance may take once the server has it. Our choice: longer than any
// transcription we have seen, shorter than the room's patience with a person.
const transcriptPatience = 4 * time.Second

// speech is told by the coordinator what becomes of an answer.
func (t *roomTalk) speech(e coordinator.SpeechEvent) {
	t.mu.Lock()
	began, known := e.Kind == coordinator.SpeechBegan, e.Kind == coordinator.SpeechKnown
	if q := t.about(e.Turn); q != nil {
		q.began = q.began || began
		if known {
			q.known = &e
		}
	}
	j := t.find(func(j *job) bool { return j.turn == e.Turn && (j.cued || !j.alone) })
	t.mu.Unlock()
	switch {
	case j == nil:
	case began:
		t.tell(j, true, nil)
	case known:
		t.tell(j, false, &e)
	}
}

// tell tells the room what has become of an answer.
func (t *roomTalk) tell(j *job, began bool, known *coordinator.SpeechEvent) {
	if began {
		t.room.SpeechBegan(j.grant.Place, j.grant.Companion)
	}
	if known != nil {
		t.room.SpeechKnown(j.grant.Place, j.grant.Companion, known.Text, max(0, known.Left-(t.d.now()-known.At)))
	}
}

// ended is told by the coordinator of the end of every turn.
func (t *roomTalk) ended(r coordinator.Record) {
	t.mu.Lock()
	q := t.about(r.Turn)
	over := false
	if q != nil {
		q.record = &r
		if !q.alone || !r.Audible || q.told { // who is alone may have answered before the words are known: they still come
			over, q.told = !q.told, true
		}
	}
	j := t.find(func(j *job) bool { return j.turn == r.Turn })
	if j != nil && j.alone && !j.cued {
		j = nil // Speak tells it all
	}
	t.remove(j)
	t.mu.Unlock()
	if over {
		t.room.PressEnded(string(r.Turn), r.Reason)
	}
	if j != nil {
		t.report(j, r)
	}
}

// find gives the first job that is so; needs mu.
func (t *roomTalk) find(is func(*job) bool) *job {
	if i := slices.IndexFunc(t.jobs, is); i >= 0 {
		return t.jobs[i]
	}
	return nil
}

// remove forgets a job and says whether it was there; needs mu.
func (t *roomTalk) remove(j *job) bool {
	before := len(t.jobs)
	t.jobs = slices.DeleteFunc(t.jobs, func(o *job) bool { return o == j })
	return len(t.jobs) < before
}

// report tells the room of the end of an answer.
func (t *roomTalk) report(j *job, r coordinator.Record) {
	e := round.SpeechEnded{
		Place: j.grant.Place, Companion: j.grant.Companion, OK: r.Audible,
		Cut: r.Audible && r.Reason != turn.Done.String(), Heard: time.Duration(r.HeardMS * float64(time.Millisecond)), Text: r.Said, Why: r.Reason,
	}
	if r.Whole { // a press in the silence behind the words takes nothing away from them
		e.Cut, e.Why = false, turn.Done.String()
	}
	if e.Cut {
		e.Text = r.HeardText
	}
	if r.Reason == turn.Done.String() && r.Tools > 0 { // it did what was asked, without a word
		e.OK = true
	}
	if j.abandon != "" {
		e.Why = j.abandon
	}
	if !e.OK && r.Words != "" {
		t.mu.Lock()
		t.trouble = turn.Words(r.Words)
		t.mu.Unlock()
	}
	t.room.SpeechEnded(e)
}

// entry is told each entry of the ledger, on the room's goroutine. A question of this device that came to nothing because
// everybody failed is no silence that anybody wanted: the person is told (turns.md 6).
func (t *roomTalk) entry(e round.Entry) {
	gen := t.d.speaker.Generation() // before it is known whether somebody pressed: a press from here on silences the words
	t.mu.Lock()
	say := turn.Words("")
	switch {
	case e.Kind == round.EntryFailed && e.Place != nil:
		t.failed = e.Place.Message
	case e.Kind == round.EntrySilent && e.Message != nil && e.Message.ID == t.failed && e.Message.From == round.Human(t.d.self):
		if newest := t.questions[(t.next+len(t.questions)-1)%len(t.questions)]; newest.turn != turn.ID(e.Message.Turn) {
			break // the person has pressed again, and may be speaking
		}
		say = cmp.Or(t.trouble, turn.WordsNoAnswer)
		t.trouble = ""
	}
	t.mu.Unlock()
	if say != "" {
		t.d.log.Warn(logRoomUnanswered, "turn", e.Message.Turn, "words", say, "why", e.Why)
		t.d.speaker.Play(phrases{t.d}.Phrase(say), false, gen)
	}
}

// logRoomUnanswered: whoever was to answer a question failed, and the person was told so.
const logRoomUnanswered = "room.unanswered"

// roomStage is the device as the room sees it.
type roomStage struct{ *roomTalk }

// Hush silences the device; a person who is being recorded here goes on (turns.md 2 and 6).
func (s roomStage) Hush(string) { s.d.coordinator.HushRoom(s.d.now(), s.d.speaker.Drop()) }

// Prepare makes a turn of the grant: the button's own, if it is still live and its companion is the one that heard it.
func (s roomStage) Prepare(p round.Prepare) {
	d := s.d
	j := &job{grant: p}
	who, first := d.housed(p.Companion), s.first()
	if who != p.Companion {
		p.Guidance += "\nIn this room you are called " + d.nameOf(who) + "; whoever says that name means you."
	}
	p.Guidance = companions.RoomPrompt(p.Guidance + s.company(p.Companion))
	s.mu.Lock()
	j.before = s.began
	q := s.about(turn.ID(p.Turn))
	own := q != nil && p.Companion == first && (q.alone || q.record == nil)
	j.alone = own && q.alone
	switch {
	case own:
		j.turn, j.opened = q.turn, q.alone
	default:
		j.turn = newTurn()
	}
	s.jobs = append(s.jobs, j)
	s.granted[s.grants%len(s.granted)] = p
	s.grants++
	s.mu.Unlock()
	if j.alone { // it is being answered already, or has been
		return
	}
	if !own && !d.voices.up(who) { // an utterance of one's own waits for the link as ever (turns.md 6); a message goes to the next who can
		s.fail(j, "its voice has no connection")
		return
	}
	d.voices.give(j.turn, who)
	if p.Turn != "" && !own {
		d.coordinator.Post(turn.VoteLost{At: d.now(), Turn: turn.ID(p.Turn)})
	}
	// On a device that is busy (another companion of it speaks) the turn waits for that to end, and ends with a record of its
	// own if that is not to be.
	d.coordinator.Post(turn.FloorGranted{At: d.now(), Turn: j.turn, Prompt: p.Guidance, Hold: true})
}

// company says who is present, for the answer's prompt.
func (s roomStage) company(self round.CompanionID) string {
	if present := companions.Present(s.room.Members(), self); present != "" {
		return "\n" + present
	}
	return ""
}

// Speak lets the answer be heard.
func (s roomStage) Speak(p round.Place, c round.CompanionID) {
	s.mu.Lock()
	j := s.find(granted(p, c))
	if j == nil || j.cued {
		s.mu.Unlock()
		return
	}
	j.opened, j.cued = true, true
	if !j.alone {
		s.mu.Unlock()
		s.d.coordinator.Post(turn.FloorOpened{At: s.d.now(), Turn: j.turn})
		return
	}
	q := question{}
	if known := s.about(j.turn); known != nil {
		q = *known
	} else {
		q.record = &coordinator.Record{Reason: "more questions came than are kept"}
	}
	if q.record != nil {
		s.remove(j)
	}
	s.mu.Unlock()
	s.tell(j, q.began, q.known)
	if q.record != nil {
		s.report(j, *q.record)
	}
}

// granted finds a job by what the room calls it.
func granted(p round.Place, c round.CompanionID) func(*job) bool {
	return func(j *job) bool { return j.grant.Place == p && j.grant.Companion == c }
}

// Abandon gives an answer up. What was heard of it is known when its turn ends; a turn that never began is over at once.
func (s roomStage) Abandon(p round.Place, c round.CompanionID, why string) {
	s.mu.Lock()
	j := s.find(granted(p, c))
	if j == nil || j.abandon != "" {
		s.mu.Unlock()
		return
	}
	j.abandon = why
	sounding := j.opened && j.before == s.began // a question that came here since has cut it, and must not be silenced itself
	s.mu.Unlock()
	if sounding {
		s.Hush(why)
	} else {
		s.d.coordinator.Post(turn.VoteLost{At: s.d.now(), Turn: j.turn})
	}
	time.AfterFunc(abandonPatience, func() { s.fail(j, why) })
}

// fail ends a job of which no turn will tell, unless it has ended.
func (s roomStage) fail(j *job, why string) {
	s.mu.Lock()
	live := s.remove(j)
	s.mu.Unlock()
	if live {
		s.report(j, coordinator.Record{Reason: why})
	}
}

// Lost ends the button's turn without an answer from here. A device that was alone has answered already.
func (s roomStage) Lost(id, _ string) {
	if !s.isAlone(turn.ID(id)) {
		s.d.coordinator.Post(turn.VoteLost{At: s.d.now(), Turn: turn.ID(id)})
	}
}

// Remember puts what others said into the conversations of those who live here. Who said it, and who heard it through
// the microphone of its own session, has it already.
func (s roomStage) Remember(m round.Message, to []round.CompanionID) {
	who, place := s.describe(m.From)
	line := companions.RoomLine(who, place, m.Text)
	for _, c := range to {
		v := s.d.voices.of[s.d.housed(c)]
		if v == nil || m.Text == "" {
			continue
		}
		if m.From == round.Participant(c) {
			if !s.saidHere(m, c) { // before a restart: this session has not said it
				v.Do(turn.AddText{Role: "assistant", Text: m.Text})
			}
			continue
		}
		if c == s.first() && m.From.Human() && m.Turn != "" && s.hasWords(turn.ID(m.Turn)) {
			continue
		}
		v.Do(turn.AddText{Role: "user", Text: line})
	}
}

// saidHere says whether c's session has said a message itself.
func (s roomStage) saidHere(m round.Message, c round.CompanionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.granted[:], func(p round.Prepare) bool {
		n := m.Number - p.Place.Number
		return p.Companion == c && p.Place.Epoch == m.Epoch && (n == 0 || n == 1) // the same number: what was cut off
	})
}

// hasWords says whether the first companion's session had the words of a turn from the person.
func (s roomStage) hasWords(id turn.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.about(id) != nil
}

// Correct tells the others' sessions what was heard of an answer that was cut; the speaker's own was truncated.
func (s roomStage) Correct(m round.MessageID, text string) {
	recent := s.room.Recent()
	i := slices.IndexFunc(recent, func(o round.Message) bool { return o.ID == m })
	if i < 0 {
		return
	}
	said := recent[i]
	who, _ := s.describe(said.From)
	note := fmt.Sprintf("%s was interrupted; of the last answer only this was heard: %q", who, text)
	for _, c := range s.d.voices.ids {
		if said.From != round.Participant(s.d.knownAs(c)) {
			s.d.voices.of[c].Do(turn.AddText{Role: "user", Text: companions.RoomLine("room", "", note)})
		}
	}
}

// Renamed tells a person that two companions had one name.
func (s roomStage) Renamed(r round.Rename) {
	s.d.conds.Set(condition.RoomRenamed, r.Why, fmt.Sprintf("here %s is called %s until a restart; give one of the two another id and name in its card", r.Card, r.Name))
}

// describe is who somebody is, in words: a name and a place.
func (s roomStage) describe(p round.Participant) (who, place string) {
	for _, m := range s.room.Members() {
		if p == round.Human(m.Device) {
			return companions.Person, m.Name
		}
		for _, c := range m.Cards {
			if p == round.Participant(c.ID) {
				return c.Name, m.Name
			}
		}
	}
	if p.Human() {
		return companions.Person, ""
	}
	return string(p), ""
}

var _ companions.Stage = roomStage{}
