package words

import (
	"slices"
	"strings"
	"testing"
)

// house are three companions of a home, who was talking, and what they said: a line "eva: ..." is a person's.
type house struct {
	past []string
	with string // who has the thread with eva
}

func (h house) whom(text string) Whom {
	parties := []Party{
		{Named: Named{"ada", []string{"Ada"}}, Companion: true, Eager: 1, Knowledge: Knowledge{Fields: []string{"cooking", "bread", "dinner", "kochen", "Brot"}}},
		{Named: Named{"ben", []string{"Ben"}}, Companion: true, Knowledge: Knowledge{Fields: []string{"books", "story", "stories", "Bücher"}, Skills: []string{"play_music"}}},
		{Named: Named{"cleo", []string{"Cleo"}}, Companion: true, Knowledge: Knowledge{Fields: []string{"weather", "rain", "bus", "Wetter"}}},
		{Named: Named{"human:max", []string{"Max"}}},
		{Named: Named{"ida", []string{"Ida"}}, Away: true},
	}
	var past []Said
	for _, l := range h.past {
		who, said, _ := strings.Cut(l, ": ")
		past = append(past, Said{From: who, Companion: who != "eva" && !strings.HasPrefix(who, "human:"), Text: said})
	}
	return Known().Follow(parties, past, Said{From: "eva", Text: text}, h.with).Whom()
}

// show is the rule, and whom it names: "-" nobody, "?" one of those who may.
func (w Whom) show() string {
	out := w.Rule + ":"
	if w.Nobody {
		out += " -"
	}
	if w.Open {
		out += " ?"
	}
	if len(w.Who) > 0 {
		out += " " + strings.Join(w.Who, " ")
	}
	if len(w.Not) > 0 {
		out += " not " + strings.Join(w.Not, " ")
	}
	return out
}

// TestWhom: the rules of ROOM.md 4, each with lines that it decides and neighbours that it does not.
func TestWhom(t *testing.T) {
	cold := house{}
	bread := house{[]string{"eva: Ada, how do I bake bread?", "ada: Mix flour and water, and bake it for forty minutes."}, "ada"}
	asked := house{[]string{"eva: Ada, I want bread", "ada: Do you want the dark one?"}, "ada"}
	others := house{[]string{"human:max: Ada, how do I bake bread?", "ada: Mix flour and water, and bake it for forty minutes."}, ""}
	king := []string{"eva: tell me a story", "ada: Once there was a king, and he had a daughter."}
	rain := []string{"human:max: what will the weather be?", "cleo: It will rain all day."}
	nearer := house{append(slices.Clip(king), rain...), "ada"} // who speaks with somebody else
	waits := house{append([]string{"eva: tell me a story", "ada: Do you want the one of the king?"}, rain...), "ada"}
	asksMax := house{append([]string{"human:max: tell me a story", "ada: Do you want the one of the king?"}, rain...), "ada"}
	thanked := house{append(bread.past, "eva: thanks"), "ada"}
	for _, row := range []struct {
		h    house
		text string
		want string
	}{
		{cold, "Nobody answer this, please", "nobody: -"},
		{cold, "Ada, how late is it?", "called: ada"},
		{cold, "Ben and Ada, how was it?", "called: ben ada"},
		{cold, "Ada or Ben, how do I bake bread?", "called: ada"},
		{cold, "Ada first, then the others: what do you think?", "called: ada ben cleo"},
		{cold, "Max, can you set the table?", "called: human:max"},
		{cold, "Lena, can you set the table?", "person: -"},
		{cold, "Mum, where are my socks?", "person: -"},
		{cold, "Ida, where are my socks?", "away: ?"},
		{cold, "Ida and Ben, where are my socks?", "called: ida ben"},
		{bread, "leave it to us", "manners: -"},
		{bread, "Please join in again", "manners: -"},
		{bread, "we leave it to us and go", "thread: ada"},
		{cold, "Ask Ben about that", "asked: ben"},
		{cold, "I think Ada should answer that", "asked: ada"},
		{cold, "Ben's story was nice", ""},
		{cold, "I bought it for Ben.", ""},
		{cold, "all of you, introduce yourselves", "all: ada ben cleo"},
		{cold, "Everybody say hello!", "all: ada ben cleo"},
		{cold, "what do you all think about winter?", "all: ada ben cleo"},
		{cold, "is everyone asleep?", "asks: ?"},
		{bread, "What do the others say?", "others: ben cleo"},
		{cold, "Can one of you tell me the time?", "one of: ?"},
		{cold, "Anyone but Ada: how do I bake bread?", "one of: ? not ada"},
		{cold, "Not you, Ada.", "excluded: not ada"},
		{cold, "Be quiet!", "hush: -"},
		{cold, "Good morning!", "greeting: ?"},
		{bread, "Hello again", "greeting: ada"},
		{cold, "Good night!", "goodbye: ?"},
		{bread, "Bye then", "goodbye: ada"},
		{cold, "bye", "goodbye: -"},
		{bread, "Good night, Cleo", "called: cleo"},
		{bread, "thanks", "thanks: -"},
		{asked, "yes", "thread: ada"},
		{bread, "And then?", "thread: ada"},
		{bread, "What did you say?", "thread: ada"},
		{bread, "louder", "thread: ada"},
		{bread, "I don't understand.", "thread: ada"},
		{others, "I don't understand.", "thread: ada"},
		{others, "And then?", "asks: ?"},
		{bread, "How do I bake bread?", "asks: ?"},
		{bread, "How do I bake rolls instead?", "thread: ada"},
		{bread, "Ben said an hour!", "thread: ada"},
		{bread, "No, I meant Ben", "asked: ben"},
		{bread, "No, I meant Ben's bread", "thread: ada"},
		{bread, "Nein, ich meinte Ben", "asked: ben"},
		{bread, "Will it rain at the bus stop?", "field: cleo"},
		{bread, "Mine was awful", "thread: ada"},
		{nearer, "Go on", "thread: ada"},
		{nearer, "More, please!", "thread: ada"},
		{nearer, "What happened next?", "thread: ada"},
		{nearer, "What did you say?", "thread: ada"},
		{nearer, "sigue", "thread: ada"},
		{nearer, "What shall I wear then?", "asks: ?"},
		{nearer, "I like more of that", ""},
		{nearer, "Go on about the rain", "asks: ?"},
		{nearer, "Cleo, go on", "called: cleo"},
		{nearer, "yes please", "thanks: -"},
		{waits, "yes please", "thread: ada"},
		{waits, "yes", "thanks: -"},
		{waits, "thanks", "thanks: -"},
		{asksMax, "yes please", "thanks: -"},
		{house{append(slices.Clip(waits.past), "eva: no"), "ada"}, "yes please", "thanks: -"},
		{thanked, "I am going out now", ""},
		{thanked, "and how much salt?", "thread: ada"},
		{cold, "Who won the match?", "asks: ?"},
		{cold, "I went out yesterday", ""},
		{cold, "And then?", "asks: ?"},
		// German, Spanish, Japanese
		{cold, "Ada, wie spät ist es?", "called: ada"},
		{cold, "Ben hat gestern gekocht.", ""},
		{bread, "und dann?", "thread: ada"},
		{bread, "Wird das Wetter morgen schön?", "field: cleo"},
		{cold, "Guten Morgen!", "greeting: ?"},
		{bread, "danke", "thanks: -"},
		{cold, "Mama, wo sind meine Socken?", "person: -"},
		{cold, "Buenos días", "greeting: ?"},
		{bread, "¿y después?", "thread: ada"},
		{bread, "ありがとうございます", "thanks: -"},
		{cold, "おはよう", "greeting: ?"},
		{bread, "もっと", "thread: ada"},
	} {
		got := row.h.whom(row.text).show()
		if row.want == "" {
			row.want = ":"
		}
		if got != row.want {
			t.Errorf("%q (thread: %s): %s; want %s", row.text, row.h.with, got, row.want)
		}
	}
}

// TestConfusionIsAboutTheExplanation: where several have spoken, a passing remark is not what nobody understands.
func TestConfusionIsAboutTheExplanation(t *testing.T) {
	h := house{[]string{
		"eva: why do planets move backwards?", "ben: They seem to, when the Earth overtakes them on its inner orbit.", "cleo: Lovely.",
	}, "cleo"}
	if got := h.whom("I don't understand."); len(got.Who) != 1 || got.Who[0] != "ben" {
		t.Errorf("%+v", got)
	}
	if got := h.whom("And then?"); len(got.Who) != 1 || got.Who[0] != "cleo" {
		t.Errorf("%+v", got)
	}
}

// TestHeardNames: what a recogniser makes of a name is that name where somebody is called, and nowhere else.
func TestHeardNames(t *testing.T) {
	names := Known().Names([]Named{{"ada", []string{"Ada"}}, {"ben", []string{"Ben"}}, {"cleo", []string{"Cleo"}}})
	for text, want := range map[string]string{
		"ayda what time is it": "ada", "hey clio tell me a joke": "cleo", "kleo, what time is it": "cleo", "bend what time is it": "ben",
		"I bend the rod": "", "the clay is wet": "", "what time is it": "", "a day at the sea": "", "been there what time is it": "",
	} {
		if got := strings.Join(names.Read(text).Called, " "); got != want {
			t.Errorf("%q calls %q; want %q", text, got, want)
		}
	}
}
