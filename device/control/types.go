// Package control is the socket at which the CLI, and whoever watches the box, talk to a running appliance: HTTP and JSON over a
// unix socket in the runtime directory. Here is what is asked and answered, the client, and the server's half that knows nothing of
// an appliance. Requests enter the same inboxes as the button.
//
//	POST /ask    {"text": …, "to": [names]}  -> Answer, when the question has come to its end, here or in the room
//	POST /say    SayRequest   -> {"outcome": …}: delivered, interrupted, expired, replaced or failed, once that is known
//	POST /press, /release     -> 204
//	POST /hush                -> Hushed: silence at once, here and in the room, and nobody is listened to; then who has confirmed
//	POST /volume VolumeRequest -> VolumeAnswer
//	POST /alert/stop, /alert/later AlertRequest -> 204: what rings ends, or rings again in five minutes
//	POST /mute, /light        -> MuteRequest and the like: each beside what serves it
//	GET /usage, POST /usage/reset -> UsageReport
//	GET  /status              -> Status
//	GET  /room, …             -> RoomStatus and pairing.go
//	POST /web/link, GET and DELETE /web/sessions -> who may open the page: package web
//	GET  /why                 -> {"text": …}: who spoke last and why, and why the others did not
//	GET  /last                -> Turn: the last of this device, or null
//	GET  /recent              -> the last facts, orders and transitions, oldest first
//	GET  /logs                -> what was logged last, a line an event; see package service
//	GET  /metrics             -> Prometheus text
package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	clips "conch/audio/words"
	"conch/companions"
	"conch/companions/round"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/language"
	"conch/device/mcp"
	"conch/device/printable"
	"conch/mqtt"
)

// Status is what the box is and does now.
type Status struct {
	Version    string                `json:"version"`
	Device     round.DeviceID        `json:"device,omitempty"` // empty: it has no identity
	State      string                `json:"state"`
	Quiet      bool                  `json:"quiet"` // no turn is live, nothing sounds and no words are to come
	Button     string                `json:"button"`
	Sound      string                `json:"sound"`
	Buffer     string                `json:"buffer,omitempty"` // of the loudspeaker: what was granted, and what that means
	Voice      string                `json:"voice"`
	Ready      bool                  `json:"ready"`
	Turns      uint64                `json:"turns"`
	Volume     int                   `json:"volume"`
	VolumeFrom string                `json:"volume_from"` // remembered, or where the configuration has it from (Row.Origin)
	Muted      bool                  `json:"muted"`       // no capture device is open, by wish
	Light      string                `json:"light,omitempty"`
	Conditions []condition.Condition `json:"conditions"`
	Today      *UsageReport          `json:"today,omitempty"`   // nil: this voice does not count what it uses
	Silence    *Silence              `json:"silence,omitempty"` // nil: conch bench silence has never run here
	Room       *RoomBrief            `json:"room,omitempty"`    // nil: one companion, alone
	Servers    []mcp.State           `json:"mcp,omitempty"`     // of the Model Context Protocol
	Companion  *Named                `json:"companion,omitempty"`
	Page       []string              `json:"page,omitempty"`   // its addresses
	Now        *Now                  `json:"now,omitempty"`    // nil: nothing rings, runs, plays or is to come
	Missed     []MissedRow           `json:"missed,omitempty"` // the newest first

	Pairing PairingLine `json:"pairing"`
	Paired  *PairedRoom `json:"paired,omitempty"` // the room this device is in by pairing
}

// MissedRow is an announcement or an alert of the last day that was silenced or not heard.
type MissedRow struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	Why  string    `json:"why"` // interrupted, unheard, unanswered, expired, failed
}

// Now is what goes on besides turns.
type Now struct {
	Ringing   []RingingRow  `json:"ringing,omitempty"`
	Timers    []TimerRow    `json:"timers,omitempty"`
	Reminders []ReminderRow `json:"reminders,omitempty"` // the next that are to come
	Playing   *Playing      `json:"playing,omitempty"`
}

// RingingRow is an alert that no person has ended yet.
type RingingRow struct {
	ID    uint64 `json:"id"`
	Text  string `json:"text"`
	Later bool   `json:"later,omitempty"` // it can have five more minutes
}

// ReminderRow is a reminder that is to come.
type ReminderRow struct {
	Text string    `json:"text"`
	Due  time.Time `json:"due"`
}

// AlertRequest says which alert is meant, by the id that it has in Now.
type AlertRequest struct {
	ID uint64 `json:"id"`
}

// TimerRow is a timer that runs.
type TimerRow struct {
	Name   string    `json:"name"`
	Ends   time.Time `json:"ends"`
	Length float64   `json:"length_s"`
}

// Playing is a book, music or a station.
type Playing struct {
	Title    string `json:"title"`
	Position int    `json:"position_s"`
	Length   int    `json:"length_s,omitempty"` // 0: nobody knows
}

// Named is a companion that lives here; of several the first.
type Named struct {
	ID   round.CompanionID `json:"id"`
	Name string            `json:"name"`
}

// Doing is what the turn machine does, in a person's words.
func (s Status) Doing(l language.Language) string {
	switch s.State {
	case "IDLE":
		if !s.Quiet {
			return l.Phrase("status.playing")
		}
		return l.Phrase("status.waiting")
	case "LISTENING":
		return l.Phrase("status.listening")
	case "COMMITTING", "AWAITING_NEXT_RESPONSE":
		return l.Phrase("status.thinking")
	case "IN_RESPONSE", "APPLYING_FACTORIES":
		return l.Phrase("status.answering")
	case "INTERRUPTED":
		return l.Phrase("status.silent")
	}
	return s.State
}

// Silence is what conch bench silence found last on this device: from a press to silence, the worst of all states.
type Silence struct {
	When   time.Time `json:"when"`
	Card   string    `json:"card"`
	P99    float64   `json:"p99_ms"`
	Max    float64   `json:"max_ms"`
	Budget float64   `json:"budget_ms"` // the promise
}

// RoomBrief is the room in a line.
type RoomBrief struct {
	Name      string   `json:"name"`
	Connected bool     `json:"connected"`
	Alone     bool     `json:"alone"`   // there is no way to other devices: companions of this one only
	Here      []string `json:"here"`    // companions, by name; those of this device first
	Devices   int      `json:"devices"` // that are here, this one included
}

// Brief is what conch status says of it.
func (s RoomStatus) Brief() *RoomBrief {
	b := &RoomBrief{Name: s.Room, Connected: s.Connected, Alone: s.Broker == "" && s.Paired == nil, Here: []string{}, Devices: len(s.Members)}
	if s.Paired != nil {
		b.Name = s.Paired.Name
	}
	for _, m := range s.Members {
		for _, c := range m.Cards {
			b.Here = append(b.Here, c.Name)
		}
	}
	return b
}

// Hushed is what POST /hush answers, when this device is silent and the others have confirmed it, or a time is over (HushWait).
type Hushed struct {
	Room        bool     `json:"room"`        // there are other devices, and all have confirmed that they are silent
	Silent      []string `json:"silent"`      // the names of those that have
	Unconfirmed []string `json:"unconfirmed"` // the broker took the press, and they said nothing: they may sound
	Unreached   []string `json:"unreached"`   // the broker did not take it: they may sound
	Away        []string `json:"away"`        // the broker took it and does not see them: they are off, or cut off from the room
}

// HushWait is how long a confirmation is waited for.
const HushWait = 1500 * time.Millisecond

// Whole says that all others have confirmed that are in the room.
func (h Hushed) Whole() bool { return len(h.Unconfirmed)+len(h.Unreached) == 0 }

// Words are the answer in one line.
func (h Hushed) Words(l language.Language) string {
	var parts []string
	for _, p := range []struct {
		key   string
		names []string
	}{{"silent_at", h.Silent}, {"unconfirmed", h.Unconfirmed}, {"unreached", h.Unreached}, {"away", h.Away}} {
		if len(p.names) > 0 {
			parts = append(parts, l.Phrase("hush."+p.key, "names", printable.Text(strings.Join(p.names, ", "))))
		}
	}
	switch {
	case len(parts) == 0:
		return l.Phrase("hush.silent")
	case len(h.Silent) == 0:
		parts = slices.Insert(parts, 0, l.Phrase("hush.silent_here"))
	}
	return strings.Join(parts, "; ")
}

// VolumeRequest asks for a volume, or for more or less of it.
type VolumeRequest struct {
	Percent *int `json:"percent,omitempty"`
	By      int  `json:"by,omitempty"` // instead: so much more; it ends at 0 and 100
}

// Percentage is the volume that is asked for, where it is now at that.
func (q VolumeRequest) Percentage(now int) (int, error) {
	if q.Percent == nil && q.By == 0 {
		return 0, fmt.Errorf("%w: volume: say which (percent, 0 to 100), or how much more (by)", ErrRefused)
	}
	if q.Percent == nil {
		return min(100, max(0, now+q.By)), nil
	}
	if p := *q.Percent; p < 0 || p > 100 {
		return 0, fmt.Errorf("%w: volume %d: must be 0 to 100", ErrRefused, p)
	}
	return *q.Percent, nil
}

// VolumeAnswer is the volume there is now, and where it comes from.
type VolumeAnswer struct {
	Volume     int    `json:"volume"`
	VolumeFrom string `json:"volume_from"`      // as in Status
	Unkept     bool   `json:"unkept,omitempty"` // it sounds, and the next start will not know it
}

// Turn is a finished turn, as --json and the control socket give it.
type Turn struct {
	Event  string `json:"event"` // "turn.end"
	Device string `json:"device"`
	Who    string `json:"who"` // the companion whose turn it was, by its name
	coordinator.Record
}

// Answer is what a question came to, wherever in the room it was answered.
type Answer struct {
	Turn    string          `json:"turn"`
	Outcome Outcome         `json:"outcome"`
	Text    string          `json:"text"`            // what the companion said
	Who     string          `json:"who,omitempty"`   // that companion's name
	Place   string          `json:"place,omitempty"` // name of the device that spoke, where that is another one
	Why     string          `json:"why,omitempty"`   // of a silence, and of what was superseded
	Words   string          `json:"words,omitempty"` // plain words for a failure
	Done    []string        `json:"done,omitempty"`  // what tools have answered that did their work, though the answer did not come to its end
	Message round.MessageID `json:"message,omitempty"`
	Summary Turn            `json:"summary"` // of this device's own turn
}

// Heard is the answer as far as it was heard, and why it was cut; empty: it was not.
func (a Answer) Heard() (text, cut string) {
	switch {
	case a.Outcome == OutcomeAnswered: // elsewhere
		return a.Text, a.Why
	case a.Outcome == OutcomeSuperseded && a.Text != "":
		return cmp.Or(a.Summary.HeardText, a.Text), cmp.Or(a.Why, a.Summary.Reason)
	}
	return a.Text, ""
}

// Outcome is how a question ended (ROOM.md 8, I2).
type Outcome string

// Outcomes.
const (
	OutcomeAnswered   Outcome = "answered"
	OutcomeSilent     Outcome = "silent"     // nobody wanted to say anything, and that is right so
	OutcomeSuperseded Outcome = "superseded" // a newer press or question came
	OutcomeFailed     Outcome = "failed"
)

// RoomStatus is who is in the room, as this device sees it.
type RoomStatus struct {
	Room      string               `json:"room"`
	Device    round.DeviceID       `json:"device"` // this one
	Broker    string               `json:"broker"` // empty: none
	Connected bool                 `json:"connected"`
	Trouble   string               `json:"trouble,omitempty"` // why it is not, in words
	Members   []round.Member       `json:"members"`           // this device first
	Missing   []round.DeviceID     `json:"missing,omitempty"` // of room.members
	Setting   round.Setting        `json:"setting,omitzero"`  // manners of the whole room, as turned last
	Driver    companions.RoomStats `json:"driver"`
	Wire      *mqtt.Stats          `json:"wire,omitempty"`
	Pairing   PairingLine          `json:"pairing"`
	Paired    *PairedRoom          `json:"paired,omitempty"` // by pairing; nil: this device is in no such room
}

// Ignored counts what came and changed nothing, by reason.
func (s RoomStatus) Ignored() map[string]uint64 {
	all := map[string]uint64{}
	for why, n := range s.Driver.Ignored {
		all[why] += n
	}
	if s.Wire != nil {
		for why, n := range s.Wire.Refused {
			all[string(why)] += n
		}
	}
	return all
}

// Turned is what POST /room/control answers: what it has asked every device for.
type Turned struct {
	Companion round.CompanionID `json:"companion,omitempty"` // empty: the whole room
	Text      string            `json:"text"`
}

// PeopleReport is who is known to be at home (GET /room/people).
type PeopleReport struct {
	People []PersonRow `json:"people"`
	Learns bool        `json:"learns"` // a name that somebody says may be kept
}

// PersonRow is one of them.
type PersonRow struct {
	Name    string `json:"name"`
	Device  string `json:"device,omitempty"` // where this person usually speaks
	Learned bool   `json:"learned"`          // by being told; else room.people has the name
}

// NotesReport is what companions were told to remember (GET /notes).
type NotesReport struct {
	Notes []NoteRow `json:"notes"`
}

// NoteRow is one of it.
type NoteRow struct {
	Companion string    `json:"companion"` // who was told
	ID        int       `json:"id"`        // of that companion's
	Text      string    `json:"text"`
	At        time.Time `json:"at"`
}

// UsageReport is what was used today, by all companions of the device, and the household's own limits.
type UsageReport struct {
	Day           string    `json:"day"`
	Tokens        int64     `json:"tokens"`
	Cost          float64   `json:"cost"`                 // in the currency of voice.price_in and the other prices, else US dollars
	HearCost      float64   `json:"hear_cost,omitempty"`  // of it, what hearing cost by the minute
	SpeakCost     float64   `json:"speak_cost,omitempty"` // and speaking by the letter
	Responses     int       `json:"responses"`
	Votes         int       `json:"votes"`               // calls of the model that votes in the room; their tokens are among Tokens
	Estimated     int       `json:"estimated,omitempty"` // answers whose tokens are estimated: the server does not count them
	HeardSeconds  float64   `json:"heard_s"`
	SaidSeconds   float64   `json:"said_s"`
	Priced        bool      `json:"priced"`         // something of it has a price; else nobody knows what it cost
	CeilingTokens int       `json:"ceiling_tokens"` // 0: none
	CeilingCost   float64   `json:"ceiling_cost"`   // 0: none
	Refusing      string    `json:"refusing,omitempty"`
	Until         time.Time `json:"until"` // when the count begins anew
}

// Money is an amount as people read it: of less than one, what a single answer costs shows.
func Money(amount float64) string {
	if amount < 1 {
		return fmt.Sprintf("%.4f", amount)
	}
	return fmt.Sprintf("%.2f", amount)
}

// Why tells of a turn of a companion that is alone.
func (t Turn) Why(l language.Language) string {
	after, because := " "+l.Phrase("told.after_pressed"), l.Phrase("why.only_one")
	switch {
	case t.Asked != "":
		after = " " + l.Phrase("told.after_said", "who", l.Phrase("told.person"), "text", t.Asked)
	case t.Source == turn.SourceInject.String():
		after, because = "", l.Phrase("told.made_to")
	}
	if t.Said == "" && t.HeardMS == 0 {
		why := clips.Text(l, t.Words)
		switch t.Reason {
		case turn.TooShort.String():
			why = l.Phrase("told.too_short")
		case turn.Empty.String():
			why = l.Phrase("told.no_speech")
		case turn.Silenced.String():
			why = l.Phrase("told.silenced")
		case turn.InterruptedByPress.String():
			why = l.Phrase("told.press_first")
		}
		if why == "" {
			why = l.Phrase("told.no_answer")
		}
		return l.Phrase("told.nobody", "after", after, "why", strings.TrimSuffix(why, "."))
	}
	spoke := l.Phrase("told.spoke", "name", t.Who, "after", after, "why", because)
	switch {
	case t.CutShort():
		return spoke + " " + l.Phrase("told.cut_after", "seconds", fmt.Sprintf("%.1f", t.HeardMS/1000))
	case t.Reason != turn.Done.String() && !t.Whole && t.Words != "":
		return spoke + " " + l.Phrase("told.broke_off", "why", clips.Text(l, t.Words))
	}
	return spoke
}

// CutShort says that something of the answer was not heard, since somebody pressed.
func (t Turn) CutShort() bool { return t.Reason == turn.InterruptedByPress.String() && !t.Whole }

// Cut says in words how it was cut; empty: it was not.
func (t Turn) Cut(l language.Language) string {
	if t.Said == "" || !t.CutShort() {
		return ""
	}
	return l.Phrase("terminal.cut", "seconds", fmt.Sprintf("%.1f", t.HeardMS/1000))
}

// Unheard says that nothing was understood since nothing was heard; whatever else a turn without an answer ends with is the voice's.
func (t Turn) Unheard() bool {
	switch turn.Words(t.Words) {
	case "", turn.WordsNotHeard, turn.WordsHeldTooLong, turn.WordsNoMicrophone, turn.WordsMuted:
		return t.Asked == "" && t.Said == ""
	}
	return false
}

// Sentence is the record for people: what was asked, what was answered.
func (t Turn) Sentence(l language.Language, companion string) string {
	var b strings.Builder
	if t.Asked != "" {
		fmt.Fprintf(&b, "%s: %s\n", l.Phrase("terminal.you"), printable.Text(t.Asked))
	}
	switch {
	case t.Said != "" && t.CutShort():
		fmt.Fprintf(&b, "%s: %s … (%s)\n", printable.Name(companion), printable.Text(t.HeardText), t.Cut(l))
	case t.Said != "":
		fmt.Fprintf(&b, "%s: %s\n", printable.Name(companion), printable.Text(t.Said))
	}
	if t.Reason == turn.TooShort.String() {
		fmt.Fprintf(&b, "conch: %s\n", l.Phrase("terminal.too_short"))
	}
	if t.Reason == turn.Empty.String() {
		fmt.Fprintf(&b, "conch: %s\n", l.Phrase("terminal.empty"))
	}
	if t.Words != "" {
		fmt.Fprintf(&b, "conch: %s\n", strings.TrimSpace(clips.Text(l, t.Words)+" "+clips.Text(l, t.Then)))
	}
	return b.String()
}
