package round

import "time"

// Effect is an order to the driver: data only, carried out in the order given.
type Effect interface{ effect() }

type (
	// Send publishes a packet under this device's name. What cannot be sent now is not sent later.
	Send struct{ Packet Packet }
	// Hush silences this device: a person pressed elsewhere, or the floor was lost. Sounding: only what can be heard at this instant
	// ends, and what a person has asked for and nobody has heard goes on.
	Hush struct {
		Epoch    Epoch
		Why      string
		Sounding bool
	}
	// Prepare lets a companion of this device get its answer ready; nothing may be heard before Speak. Turn is the live
	// turn of the button when the message was said here to this device and is still open, else empty.
	Prepare struct {
		Place     Place
		Companion CompanionID
		Turn      string
		Message   Message // that is answered
		Why       string  // why it was selected, in a sentence
		Guidance  string  // for the answer's prompt: why, tone, manners (do not repeat, do not hand over, say goodbye)
	}
	// Speak lets what was prepared be heard.
	Speak struct {
		Place     Place
		Companion CompanionID
	}
	// Abandon ends what was prepared or is being said.
	Abandon struct {
		Place     Place
		Companion CompanionID
		Why       string
	}
	// Lost: the button's turn gets no answer from this device: somebody else speaks, or nobody does.
	Lost struct {
		Turn string
		Why  string
	}
	// Refine asks for better votes than the rules' Votes until the time given; they go out as they are then. There is at
	// most one Refine per message, and Config.Calls between two messages of people.
	Refine struct {
		Place   Place
		Message Message
		Recent  []Message
		Votes   []Vote
		Until   time.Duration
	}
	// Unasked: what Refine asked for about a place is waited for no more: somebody has pressed, or it was too late.
	Unasked struct{ Place Place }
	// Remember: the room has heard this. Of what is private it is given where its words are known, but for the person who whispered.
	Remember struct{ Message Message }
	// Correct: of a message only Text was heard.
	Correct struct {
		ID      MessageID
		Text    string
		Release []byte // the envelope that said so; nil: it was said here
	}
	// Record writes an entry of the ledger.
	Record struct{ Entry Entry }
	// Rename: another device's companion has this one's id; here it is To from now on (ROOM.md 1; both are told).
	Rename struct {
		Card CompanionID // as its file has it
		To   CompanionID
		Name string
		Why  string
	}
	// MembersChanged: somebody came, changed or went. See Machine.Members.
	MembersChanged struct{ Why string }
	// PressesCount: a device presses without end, and its presses do not count here until they do again.
	PressesCount struct {
		Device DeviceID
		Name   string
		Count  bool
		Why    string
	}
	// Offends: a device does again and again what one may do now and then, and that counts here no more; or that is over.
	Offends struct {
		Device DeviceID
		Name   string
		What   Offence
		Over   bool
		Why    string
	}
	// Ignored reports an event that changed nothing because it is stale, unknown or not allowed; it is counted by Why.
	Ignored struct {
		From DeviceID
		What string // the packet's or event's name
		Why  string
	}
)

func (Send) effect()           {}
func (Hush) effect()           {}
func (Prepare) effect()        {}
func (Speak) effect()          {}
func (Abandon) effect()        {}
func (Lost) effect()           {}
func (Refine) effect()         {}
func (Unasked) effect()        {}
func (Remember) effect()       {}
func (Correct) effect()        {}
func (Record) effect()         {}
func (Rename) effect()         {}
func (MembersChanged) effect() {}
func (PressesCount) effect()   {}
func (Offends) effect()        {}
func (Ignored) effect()        {}
