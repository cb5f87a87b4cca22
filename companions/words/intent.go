package words

import "strings"

// Intent is what a message is for.
type Intent string

// Intents (ROOM.md 5).
const (
	Question      Intent = "question"
	Request       Intent = "request"
	Clarification Intent = "clarification"
	Statement     Intent = "statement"
	Approval      Intent = "approval"
	Farewell      Intent = "closing"
)

// Tone is how a message sounds.
type Tone string

// Tones (ROOM.md 5).
const (
	Neutral    Tone = "neutral"
	Confused   Tone = "confused"
	Frustrated Tone = "frustrated"
	Excited    Tone = "excited"
	Positive   Tone = "positive"
)

// IntentOf tells what a text is for, by rules (ROOM.md 5).
func (x *Languages) IntentOf(text string) Intent {
	ws := words(text)
	return intentOf(x.vocab(ws), text, ws)
}

func intentOf(v vocab, text string, ws []word) Intent {
	line := phrase(ws)
	asks := asksBySign(text, line)
	few := len(ws) < 16
	switch {
	case len(ws) == 0 && asks: // "?" alone
		return Clarification
	case len(ws) == 0:
		return Statement
	case few && (v.says(cueConfused, line) || v.says(cueClarify, line)), len(ws) == 1 && asks && v.says(cueBare, line):
		return Clarification
	case !asks && len(ws) < 12 && v.says(cueGoodbye, line) && !v.begins(cueIntroduce, line):
		return Farewell
	case !asks && v.onlyOf(line, cueApproval, cueApprovalMore):
		return Approval
	case len(ws) < 40 && v.says(cueRequest, line):
		return Request
	case asks || questionLike(v, line):
		return Question
	case v.begins(cueImperative, v.skipOpening(line)) || few && v.begins(cueIntroduce, v.skipOpening(line)):
		return Request
	}
	return Statement
}

func asksBySign(text, line string) bool {
	return strings.ContainsAny(clip(text), "?？؟") || strings.HasSuffix(line, " か ") || strings.HasSuffix(line, " 吗 ") || strings.HasSuffix(line, " 呢 ")
}

// questionLike tells a question from a recogniser that writes no question mark.
func questionLike(v vocab, line string) bool {
	line = v.skipOpening(line)
	f := strings.Fields(line)
	if len(f) < 2 || len(f) > 40 {
		return false
	}
	if v.begins(cueSureAuxiliary, line) && len(f) > 2 {
		return true
	}
	if v.begins(cueAuxiliary, line) {
		return v.begins(cueAuxSubject, " "+f[1]+" ") || len(f) > 2 && f[1] == "t" && v.begins(cueAuxSubject, " "+f[2]+" ")
	}
	return v.begins(cueQuestion, line) && !strings.HasPrefix(line, " any ")
}

func (v vocab) skipOpening(line string) string {
	for range 3 {
		p := v.at(cueOpening, line)
		if p == "" || len(p) >= len(line) {
			break
		}
		line = line[len(p)-1:]
	}
	return line
}

// onlyOf says whether the line consists of the phrases, at least one of the first kind, and a few of the second.
func (v vocab) onlyOf(line string, these, more cue) bool {
	most := 10
	if len(line) > 1 && spaceless(firstRune(line[1:])) { // each character is a word
		most = 30
	}
	if strings.Count(line, " ") > most {
		return false
	}
	found := false
	for line != " " {
		p := v.at(these, line)
		if p != "" {
			found = true
		} else if p = v.at(more, line); p == "" {
			return false
		}
		line = line[len(p)-1:]
	}
	return found
}

// ToneOf tells how a text sounds, by rules (ROOM.md 5).
func (x *Languages) ToneOf(text string) Tone {
	ws := words(text)
	return toneOf(x.vocab(ws), text, ws)
}

func toneOf(v vocab, text string, ws []word) Tone {
	line := phrase(ws)
	switch {
	case v.says(cueConfused, line) || strings.Contains(text, "??"):
		return Confused
	case v.says(cueFrustrated, line) || strings.Contains(text, "!!!") && !v.says(cueExcited, line) && !v.says(cuePositive, line):
		return Frustrated
	case v.says(cueExcited, line) || strings.Contains(text, "!!"):
		return Excited
	case v.says(cuePositive, line):
		return Positive
	}
	return Neutral
}

// SeveralViews says whether a text asks several for what they think (ROOM.md 6, cascade).
func (x *Languages) SeveralViews(text string) bool {
	ws := words(text)
	v, line := x.vocab(ws), phrase(ws)
	if !v.says(cueViews, line) && !v.says(cueAll, line) {
		return false
	}
	switch intentOf(v, text, ws) {
	case Question, Request, Clarification, Statement: // "tell me, all of you"
		return true
	}
	return false
}
