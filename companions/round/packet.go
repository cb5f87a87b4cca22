package round

import "slices"

// Packet is what devices tell each other; mqtt makes envelopes of packets (ROOM.md 2). A packet has been checked (its
// signature, its size, who may say it) before it is an event here, and says nothing about the sender: Received does.
type Packet interface{ packet() }

type (
	// Press takes the floor for a person: everything older is void, everybody is silent. Epoch.Device is the sender. After is the press
	// that counted there before, as that one's device numbers it: of two that are held, one that came after the other is known by it.
	Press struct {
		Epoch Epoch `json:"epoch"`
		After Epoch `json:"after,omitzero"`
		Ask   bool  `json:"ask,omitempty"` // whoever is silent for it says so at once (Beat.Silenced)
	}
	// PressOver: nothing came of the press (too short, nothing heard): the floor is free again.
	PressOver struct {
		Epoch Epoch `json:"epoch"`
	}
	// Votes are the votes of the companions living on the sender, on one message: one envelope per device and round.
	Votes struct {
		Place Place  `json:"place"`
		Votes []Vote `json:"states"`
	}
	// Claim takes the floor for a companion of the sender, with the votes that were counted.
	Claim struct {
		Place     Place         `json:"place"`
		Companion CompanionID   `json:"companion"`
		Votes     []Vote        `json:"states"`
		Extras    []CompanionID `json:"extras,omitempty"`  // who speaks after it, in order
		Instead   []CompanionID `json:"instead,omitempty"` // who had the floor for this message before and failed, in order
	}
	// Withdraw takes a claim back: a better one was seen.
	Withdraw struct {
		Place     Place       `json:"place"`
		Companion CompanionID `json:"companion"`
		Why       string      `json:"why"`
	}
	// Speaking renews the lease of the floor; the first one says that sound has begun.
	Speaking struct {
		Place     Place       `json:"place"`
		Companion CompanionID `json:"companion"`
		LeftMS    int         `json:"leftMs,omitempty"` // until the last sample is heard, when that is known
	}
	// Release gives the floor back. OK is false when nothing was said: then the next candidate takes over.
	Release struct {
		Place     Place       `json:"place"`
		Companion CompanionID `json:"companion"`
		OK        bool        `json:"ok"`
		HeardMS   int         `json:"heardMs"`
		Said      MessageID   `json:"said,omitempty"`  // the message it became
		Heard     *string     `json:"heard,omitempty"` // when it was cut: the text that was heard
		For       DeviceID    `json:"for,omitempty"`   // of a private answer: who alone may know that text
		Why       string      `json:"why,omitempty"`

		Envelope []byte `json:"-"` // in which it came
	}
	// Ended: everybody has closed; the next person's message opens the conversation again.
	Ended struct {
		Place Place `json:"place"`
	}
	// Beat says once a second that a device is present.
	Beat struct {
		Name    string  `json:"name"`
		Version int     `json:"version,omitempty"` // of the turn-taking that the sender speaks; 0: 1, which did not say so
		Digest  string  `json:"digest"`            // of its cards and room settings; the cards themselves come on change and when asked for
		Budget  int     `json:"budgetMs"`
		Epoch   Epoch   `json:"epoch"`           // highest seen, so that a newcomer's press counts
		Turns   uint64  `json:"turns"`           // companion turns of the room, as counted here
		Room    Setting `json:"room,omitzero"`   // of the whole room: the newest one counts
		Cards   []Card  `json:"cards,omitempty"` // nil: as before; a device without companions sends an empty list
		Page    string  `json:"page,omitempty"`  // beside cards: where a browser of the house finds its page (printable.PageOf); no device needs it
		Ask     bool    `json:"ask,omitempty"`   // others are to send their cards
		Left    bool    `json:"left,omitempty"`  // it goes

		Silenced Epoch `json:"silenced,omitzero"`  // the latest press elsewhere that silenced the sender, as that device numbers it
		Confirms bool  `json:"confirms,omitempty"` // it is sent for Silenced, which had asked
	}
	// Gone is the broker's word (last will) that a device is gone.
	Gone struct{}
	// HistoryAsk is a newcomer's wish to know what was said; one member answers.
	HistoryAsk struct{}
	// History hands the last messages to a newcomer, but for what was said in private. It opens no round. What is heard of it was checked:
	// each message was signed by the device of whoever said it (package mqtt).
	History struct {
		To       DeviceID  `json:"to"`
		Messages []Message `json:"messages"`
	}
	// Control turns a companion's (or, with Companion empty, the whole room's) manners, live (ROOM.md 6).
	Control struct {
		Companion   CompanionID  `json:"companion,omitempty"`
		Involvement *Involvement `json:"involvement,omitempty"`
		Mute        *bool        `json:"mute,omitempty"`
	}
	// Seen is an entry of the ledger as the sender saw it, for whoever watches. It changes nothing.
	Seen struct {
		Entry Entry `json:"entry"`
	}
)

func (Press) packet()      {}
func (PressOver) packet()  {}
func (Message) packet()    {}
func (Votes) packet()      {}
func (Claim) packet()      {}
func (Withdraw) packet()   {}
func (Speaking) packet()   {}
func (Release) packet()    {}
func (Ended) packet()      {}
func (Beat) packet()       {}
func (Gone) packet()       {}
func (HistoryAsk) packet() {}
func (History) packet()    {}
func (Control) packet()    {}
func (Seen) packet()       {}

// Version is this program's turn-taking, as beats tell it. Version 1 took any epoch that was told.
const Version = 2

// Setting turns the manners of the whole room. The newest one wins everywhere: beats carry it.
type Setting struct {
	Involvement Involvement `json:"involvement,omitempty"`
	Muted       bool        `json:"muted,omitempty"`
	N           uint64      `json:"n,omitempty"` // counts changes; By settles who was first when two changed it at once
	By          DeviceID    `json:"by,omitempty"`
}

func (a Setting) good() bool { return a.N <= maxEpoch && slices.Contains(involvements, a.Involvement) }

func (a Setting) olderThan(b Setting) bool { return a.N < b.N || a.N == b.N && a.By < b.By }
