package words

import "testing"

func TestIntentAndTone(t *testing.T) {
	for text, want := range map[string]Intent{
		"What time is it?": Question, "what time is it": Question, "is it raining": Question, "Who knows": Question, "Wie spät ist es?": Question, "今何時ですか": Question, "你好吗": Question,
		"Please tell me a story": Request, "tell me a story": Request, "Can you help me?": Request, "bitte hilf mir": Request, "Let's play a game": Request,
		"What do you mean?": Clarification, "I don't understand": Clarification, "can you say that again": Clarification, "Why?": Clarification, "Huh?": Clarification, "Das verstehe ich nicht": Clarification,
		"The sky is blue.": Statement, "I went out": Statement, "": Statement,
		"thanks": Approval, "OK": Approval, "Yes, great": Approval, "Thank you very much": Approval, "danke": Approval, "谢谢": Approval,
		"bye": Farewell, "Good night!": Farewell, "I have to go, see you": Farewell, "au revoir": Farewell, "さようなら": Farewell,
	} {
		if got := Known().IntentOf(text); got != want {
			t.Errorf("%q is a %s; want %s", text, got, want)
		}
	}
	for text, want := range map[string]Tone{
		"I don't understand this": Confused, "It still doesn't work": Frustrated, "Wow, amazing": Excited, "What a lovely day": Positive, "It is Tuesday": Neutral, "": Neutral,
	} {
		if got := Known().ToneOf(text); got != want {
			t.Errorf("%q sounds %s; want %s", text, got, want)
		}
	}
}

func TestSimilarity(t *testing.T) {
	for _, row := range []struct {
		a, b     string
		from, to float64
	}{
		{"The bread is ready now.", "the bread is READY now", 1, 1},
		{"The bread is ready now, my friends", "The bread is ready now, my dears", 0.7, 0.99},
		{"The bread is ready", "Planets move slowly", 0, 0},
		{"yes", "Yes!", 1, 1}, {"yes", "no", 0, 0}, {"", "", 0, 0}, {"パンができました", "パンができました。", 1, 1},
	} {
		if x := Similarity(row.a, row.b); x < row.from || x > row.to || x != Similarity(row.b, row.a) {
			t.Errorf("%q and %q: %v, reversed %v; want %v to %v", row.a, row.b, x, Similarity(row.b, row.a), row.from, row.to)
		}
	}
}
