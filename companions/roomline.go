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

// ParseRoomLine takes a RoomLine apart. The place is what follows the last " in ".
func ParseRoomLine(line string) (who, place, text string, ok bool) {
	head, text, ok := strings.Cut(strings.TrimSpace(line), "]")
	head, bracket := strings.CutPrefix(head, "[")
	if !ok || !bracket || strings.TrimSpace(head) == "" || strings.ContainsAny(head, "\n[") {
		return "", "", "", false
	}
	who = head
	if i := strings.LastIndex(head, roomIn); i > 0 {
		who, place = head[:i], head[i+len(roomIn):]
	}
	return who, place, strings.TrimSpace(text), true
}

// label keeps a name from breaking out of its brackets.
func label(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c <= ' ' || c == '[' || c == ']' || c == 0x7f }), " ")
}
