package light

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
)

// Look is what the light tells, one of the lines of the table.
type Look uint8

// Looks, the strongest first.
const (
	Off Look = iota
	Listening
	Waiting
	Speaking
	Empty
	Noted
	Pairing
	Muted
	Other
	Error
	Offline
	Missed
)

var lookNames = [...]string{"off", "listening", "waiting", "speaking", "empty", "noted", "pairing", "muted", "other", "error", "offline", "missed"}

func (l Look) String() string {
	if int(l) < len(lookNames) {
		return lookNames[l]
	}
	return "look?"
}

// About says in a few words when it is shown, and how.
func (l Look) About() string {
	return map[Look]string{
		Off:       "nothing to tell: dark",
		Listening: "what you say is being captured: white, steady",
		Waiting:   "an answer is being made: white, breathing slowly",
		Speaking:  "the answer sounds: in the companion's colour, as loud as it",
		Empty:     "you held the button, and no speech was heard: white, three quick blinks",
		Noted:     "what you said was heard, and is left without an answer: white, fading within a second",
		Pairing:   "the window for a new device is open: one LED goes round",
		Muted:     "the microphone is closed because you want it so: red, steady",
		Other:     "another device's companion has the floor: one dim LED in its colour",
		Error:     "something failed, or wants mending (conch doctor): red, two blinks",
		Offline:   "no connection to the server: amber, a dim pulse",
		Missed:    "something was said that you have silenced or not heard (ask: what did I miss?): white, a short dim flash",
	}[l]
}

// Looks lists them all, the strongest first and Off last.
func Looks() []Look {
	return []Look{Listening, Waiting, Speaking, Empty, Noted, Pairing, Muted, Other, Error, Offline, Missed, Off}
}

// ParseLook reads a look's name.
func ParseLook(name string) (Look, error) {
	var names []string
	for _, l := range Looks() {
		if l.String() == name {
			return l, nil
		}
		names = append(names, l.String())
	}
	return Off, fmt.Errorf("light: look %q: must be one of %s", name, strings.Join(names, ", "))
}

// Colour is how an LED looks at its brightest.
type Colour struct{ R, G, B uint8 }

// Colours that are nobody's.
var (
	White = Colour{255, 255, 255}
	Red   = Colour{255, 0, 0}
	Amber = Colour{255, 160, 0}
)

// Doing is what the device itself does.
type Doing uint8

// What it does.
const (
	Nothing   Doing = iota
	Recording       // what a person says
	Thinking        // an answer is being made
	Answering       // it sounds
)

// Facts are what there is to show.
type Facts struct {
	Doing    Doing
	Captured bool   // while Recording: a frame from after the press has been captured
	Self     Colour // of the companion that answers here
	Muted    bool   // no capture device is open because a person wants it so
	Floor    Colour // of the companion of another device that has the floor; zero: none has
	Moment   Look   // what has just happened: Empty, Noted, Error (a turn failed), or Off
	Trouble  bool   // something is wrong that a person can mend
	Offline  bool   // no session with the server
	Missed   bool   // something was said that nobody has heard to its end, or asked for since
	Pairing  bool   // the window for a new device is open
}

// Scene is a look in its colour.
type Scene struct {
	Look   Look
	Colour Colour
}

// Shown picks what is shown: the first line of the package's table that is true.
func (f Facts) Shown() Scene {
	person, self := White, f.Self
	if self == (Colour{}) {
		self = White
	}
	if f.Muted {
		person, self = Red, Red
	}
	switch {
	case f.Doing == Recording && f.Captured:
		return Scene{Listening, White} // a captured frame is one, whatever was wished
	case f.Doing == Thinking:
		return Scene{Waiting, person}
	case f.Doing == Answering:
		return Scene{Speaking, self}
	case f.Moment == Empty, f.Moment == Noted:
		return Scene{f.Moment, person}
	case f.Pairing:
		return Scene{Pairing, White}
	case f.Muted:
		return Scene{Muted, Red}
	case f.Floor != Colour{}:
		return Scene{Other, f.Floor}
	case f.Moment == Error, f.Trouble:
		return Scene{Error, Red}
	case f.Offline:
		return Scene{Offline, Amber}
	case f.Missed:
		return Scene{Missed, White}
	}
	return Scene{}
}

// Sample is a look in the colour it has when there is no fact to give it one.
func Sample(l Look) Scene {
	switch l {
	case Off:
		return Scene{}
	case Speaking:
		return Scene{l, CompanionColour("ada")}
	case Other:
		return Scene{l, CompanionColour("ben")}
	case Muted, Error:
		return Scene{l, Red}
	case Offline:
		return Scene{l, Amber}
	}
	return Scene{l, White}
}

// Hues that companions have, in degrees: from green over blue to pink. Red to yellow are trouble's.
const firstHue, lastHue = 90, 325

// CompanionColour is a companion's colour: the same on every device, whoever knows no more than its id.
func CompanionColour(id string) Colour {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))            // never fails
	spread := h.Sum32() * 2654435769 >> 8 // short names that are alike have sums that are; this scatters them (multiplicative hashing)
	return hue(firstHue + float64(spread)/(1<<24)*(lastHue-firstHue))
}

// hue is a full colour, its angle in degrees.
func hue(angle float64) Colour {
	channel := func(shift float64) uint8 {
		k := math.Mod(shift+angle/60, 6)
		return uint8(math.Round(255 * (1 - max(0, min(k, 4-k, 1)))))
	}
	return Colour{channel(5), channel(3), channel(1)}
}
