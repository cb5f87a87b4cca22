package companions

import "strings"

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
//	[Ada in kitchen] Eight minutes for a soft middle.
//	[person in hall] What about the tea?
//
// It is always one line, so that nobody can say a line in somebody else's name. An empty place is left out: [Ada] text.
func RoomLine(who, place, text string) string {
	who, place = label(who), label(place)
	if who == "" {
		who = Person
	}
	if place != "" {
		who += roomIn + place
	}
	return "[" + who + "] " + strings.Join(strings.Fields(text), " ")
}

const roomIn = " in "
