package companions

import (
	"strings"

	"conch/device/printable"
)

// RoomMarker is the first line of the instructions of an answer in a room: what follows is guidance (why this companion
// was selected, tone, manners), and the answer is to the last line of the conversation. Instructions without it are words
// to be said: an announcement, a timer.
//
// The rehearsal has the same text as a constant of its own, since a voice imports nothing of ours but the coordinator's
// words; TestRehearsalKnowsTheRoomsWords compares.
const RoomMarker = "In the room:"

// RoomPrompt makes the instructions of one answer in a room.
func RoomPrompt(guidance string) string {
	return strings.TrimSpace(RoomMarker + "\n" + guidance)
}

// Person is who speaks in a RoomLine when it is a person whose name nobody knows.
const Person = "person"

// RoomLine is how what others said enters a companion's conversation, as one item of text:
//
//	[Ada in kitchen] "Eight minutes for a soft middle."
//	[person in hall] What about the tea?
//
// It is always one line. What a companion said is quoted; a person's words are not, but have no markers. An empty place is left out.
func RoomLine(who, place, text string) string {
	if who = label(who); who == "" || printable.Key(who) == Person {
		who = "companion " + who // that none is taken for a person
	}
	return line(who, place, printable.Quoted(strings.Join(strings.Fields(text), " ")))
}

// PersonLine is a RoomLine of a person.
func PersonLine(place, text string) string {
	text = printable.Quoted(strings.Join(strings.Fields(text), " "))
	return line(Person, place, strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`))
}

func line(who, place, text string) string {
	if place = label(place); place != "" {
		who += roomIn + place
	}
	return "[" + who + "] " + text
}

const roomIn = " in "
