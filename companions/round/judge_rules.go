package round

import (
	"strings"
	"time"
)

// Judge is the vote of a companion on a message, by rules: obligations first (room.md 4), then the initiative score (5).
func Judge(v View, id CompanionID) Vote {
	vote := Vote{From: id, MessageID: v.Message.ID, State: StateListen, Closing: ClosingNone, Reason: "it has nothing to add"}
	for _, m := range v.Members {
		for _, c := range m.Cards {
			if c.ID != id {
				continue
			}
			for _, t := range v.Message.To {
				if t == Participant(id) {
					vote.Selected = true
				}
			}
			if strings.HasPrefix(strings.ToLower(v.Message.Text), strings.ToLower(c.Name)) {
				vote.Selected = true
			}
		}
	}
	switch {
	case vote.Selected:
		vote.State, vote.Importance, vote.Reason = StateSpeak, 10, "it was addressed"
	case strings.HasSuffix(v.Message.Text, "?"):
		vote.State, vote.Importance, vote.Reason = StateSpeak, 6, "it can answer the question"
	}
	return vote
}

// JudgeAll is Judge for several companions at once, with the work they share done once.
func JudgeAll(v View, ids []CompanionID) []Vote {
	votes := make([]Vote, 0, len(ids))
	for _, id := range ids {
		votes = append(votes, Judge(v, id))
	}
	return votes
}

// PeopleFirst says whether the winner waits a beat before it claims, because an unaddressed question was asked where several
// people are, and one of them may want to answer (room.md 6, group conventions). The wait is PeopleWait.
func PeopleFirst(v View, d Decision) bool { return false }

// AnswerMetadata is the metadata of the message that the answer text of a companion to v.Message becomes.
func AnswerMetadata(v View, id CompanionID, d Decision, text string) Metadata {
	return Metadata{Intent: Statement, Tone: Neutral, Chain: v.Message.Metadata.Chain + 1, Queue: d.Extras}
}

// PersonMetadata is the metadata of a person's message; joins are the earlier ones that it continues.
func PersonMetadata(text string, joins []MessageID) Metadata {
	return Metadata{Intent: Statement, Tone: Neutral, Joins: joins}
}

// Guidance is what the prompt of the answer is told: why this companion was selected, the tone, and the room's manners.
func Guidance(v View, id CompanionID, d Decision) string { return "You were selected: " + d.Reason + "." }

// SpokenControl is the control that somebody asks for in words ("leave it to us", "Ada, be quiet"); false: it is none.
func SpokenControl(text string, cards []Card) (Control, bool) { return Control{}, false }

func severalViews(text string) bool { return strings.Contains(strings.ToLower(text), "you all") }

// PeopleWait is how long a winner waits for people where PeopleFirst says so.
const PeopleWait = 1500 * time.Millisecond
