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
func IntentOf(text string) Intent { return intentOf(text, words(text)) }

func intentOf(text string, ws []word) Intent {
	line := phrase(ws)
	asks := strings.ContainsAny(clip(text), "?？") || strings.HasSuffix(line, " か ") || strings.HasSuffix(line, " 吗 ")
	switch {
	case len(ws) == 0 && strings.ContainsAny(text, "?？"): // "?" alone
		return Clarification
	case len(ws) == 0:
		return Statement
	case len(ws) < 16 && (says(line, confusedWords) || says(line, clarifyWords)), len(ws) == 1 && asks && says(line, bareWords):
		return Clarification
	case !asks && len(ws) < 12 && says(line, closingWords):
		return Farewell
	case !asks && onlyOf(line, approvalWords, approvalMore):
		return Approval
	case len(ws) < 40 && says(line, requestWords):
		return Request
	case asks || questionLike(ws, line):
		return Question
	case begins(skipOpening(line), imperatives):
		return Request
	}
	return Statement
}

// questionLike tells a question from a recogniser that writes no question mark.
func questionLike(ws []word, line string) bool {
	line = skipOpening(line)
	f := strings.Fields(line)
	if len(f) < 2 || len(ws) > 40 {
		return false
	}
	if begins(line, auxiliaries) {
		return begins(" "+f[1]+" ", auxSubjects)
	}
	return begins(line, questionWords) && !strings.HasPrefix(line, " any ")
}

func skipOpening(line string) string {
	for range 3 {
		p := openings.at(line)
		if p == "" || len(p) >= len(line) {
			break
		}
		line = line[len(p)-1:]
	}
	return line
}

// onlyOf says whether the line consists of the phrases, at least one of the first kind, and a few of the second.
func onlyOf(line string, phrases, more lexicon) bool {
	if strings.Count(line, " ") > 10 {
		return false
	}
	found := false
	for line != " " {
		p := phrases.at(line)
		if p != "" {
			found = true
		} else if p = more.at(line); p == "" {
			return false
		}
		line = line[len(p)-1:]
	}
	return found
}

// ToneOf tells how a text sounds, by rules (ROOM.md 5).
func ToneOf(text string) Tone { return toneOf(text, words(text)) }

func toneOf(text string, ws []word) Tone {
	line := phrase(ws)
	switch {
	case says(line, confusedWords) || strings.Contains(text, "??"):
		return Confused
	case says(line, frustratedWords) || strings.Contains(text, "!!!") && !says(line, excitedWords) && !says(line, positiveWords):
		return Frustrated
	case says(line, excitedWords) || strings.Contains(text, "!!"):
		return Excited
	case says(line, positiveWords):
		return Positive
	}
	return Neutral
}

// SeveralViews says whether a text asks several for what they think (ROOM.md 6, cascade).
func SeveralViews(text string) bool {
	ws := words(text)
	p := views.in(phrase(ws))
	if p == "" {
		return false
	}
	switch intentOf(text, ws) {
	case Question, Request, Clarification:
		return true
	case Statement: // "tell me, everyone"
		return p != "everyone" && p != "everybody"
	}
	return false
}
