package round

import "time"

// Event is a fact. At is the device's own monotonic clock; clocks of different devices are never compared.
type Event interface{ event() (at time.Duration) }

type (
	// Received: a packet came from another device.
	Received struct {
		At     time.Duration
		From   DeviceID
		Packet Packet
	}
	// LinkChanged: the broker can, or can no longer, be reached. Without it only what lives here is in the room.
	LinkChanged struct {
		At time.Duration
		Up bool
	}
	// Pressed: a finger on this device's button; the device is silent already. Turn is the turn that may begin. Ask: the others are to
	// confirm at once that they are silent.
	Pressed struct {
		At   time.Duration
		Turn string
		Ask  bool
	}
	// PressEnded: nothing came of the press of Turn, and nothing will.
	PressEnded struct {
		At   time.Duration
		Turn string
		Why  string
	}
	// Said: a person's words at this device are known. Typed words come without a Pressed before them.
	Said struct {
		At   time.Duration
		ID   MessageID // made by the driver: ids need chance and a clock
		Turn string
		Text string
		To   []Participant
		Open bool // the room may know: To is who has to answer, and not whom alone it is said to
	}
	// SaidLate: the words of a turn of which Said has told that they are Unwritten. Answered: they change nothing of who answers.
	SaidLate struct {
		Said
		Answered bool
	}
	// SpeechBegan: the first sample of what Prepare asked for can be heard.
	SpeechBegan struct {
		At        time.Duration
		Place     Place
		Companion CompanionID
	}
	// SpeechKnown: the whole answer is known in words, and sounds for Left more. The next round can open.
	SpeechKnown struct {
		At        time.Duration
		Place     Place
		Companion CompanionID
		ID        MessageID // of the message that the answer becomes
		Text      string
		Left      time.Duration
	}
	// SpeechEnded: the last sample was heard, or it was cut, or nothing came at all (OK false). ID and Text are for an
	// answer whose SpeechKnown never came; Text is what was heard, Said all that there is of it. Acted says that it did what was
	// asked, without a word.
	SpeechEnded struct {
		At        time.Duration
		Place     Place
		Companion CompanionID
		ID        MessageID
		OK        bool
		Cut       bool
		Acted     bool
		Heard     time.Duration
		Text      string
		Said      string
		Why       string
	}
	// Refined: what a model made of the votes that Refine asked for, before their time was over.
	Refined struct {
		At    time.Duration
		Place Place
		Votes []Vote
	}
	// CardsChanged: the companions living here are these now.
	CardsChanged struct {
		At    time.Duration
		Cards []Card
	}
	// MembersListed: these belong to the room, this device among them, in the order in which they became members. Nobody: there is no
	// such list, as where the members are configured.
	MembersListed struct {
		At      time.Duration
		Members []Listed
	}
	// PeopleKnown: people at home are called so, as far as this device knows.
	PeopleKnown struct {
		At    time.Duration
		Names []string
	}
	// Controlled: somebody at this device (by voice, by the CLI) turns a companion's or the room's manners.
	Controlled struct {
		At      time.Duration
		Control Control
	}
	// Tick: the time given by Machine.Wake has come. ID may become a message's (silence).
	Tick struct {
		At time.Duration
		ID MessageID
	}
)

func (e Received) event() time.Duration      { return e.At }
func (e LinkChanged) event() time.Duration   { return e.At }
func (e Pressed) event() time.Duration       { return e.At }
func (e PressEnded) event() time.Duration    { return e.At }
func (e Said) event() time.Duration          { return e.At }
func (e SaidLate) event() time.Duration      { return e.At }
func (e SpeechBegan) event() time.Duration   { return e.At }
func (e SpeechKnown) event() time.Duration   { return e.At }
func (e SpeechEnded) event() time.Duration   { return e.At }
func (e Refined) event() time.Duration       { return e.At }
func (e CardsChanged) event() time.Duration  { return e.At }
func (e MembersListed) event() time.Duration { return e.At }
func (e PeopleKnown) event() time.Duration   { return e.At }
func (e Controlled) event() time.Duration    { return e.At }
func (e Tick) event() time.Duration          { return e.At }
