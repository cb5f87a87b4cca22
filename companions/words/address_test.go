package words

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var testNames = []Named{
	{"ada", []string{"Ada"}},
	{"bob", []string{"Bob", "Bobby"}},
	{"jean-luc", []string{"Jean-Luc"}},
	{"mary-ann", []string{"Mary Ann"}},
	{"zoe", []string{"Zoë"}},
	{"ren", []string{"蓮", "レン"}},
	{"xiaoming", []string{"小明"}},
	{"will", []string{"Will"}},
	{"human:eva", []string{"Eva"}},
}

func addressed(text string, names []Named) []string { return Known().Names(names).Read(text).Called }

// TestVocatives: who is called, in the order named (ROOM.md 4.2).
func TestVocatives(t *testing.T) {
	for text, want := range map[string]string{
		"@ada":                                  "ada",
		"@Ada what time is it":                  "ada",
		"what do you think @ada":                "ada",
		"Ada, what time is it?":                 "ada",
		"ada: what time is it":                  "ada",
		"ADA what time is it":                   "ada",
		"Ada - your view?":                      "ada",
		"What time is it, Ada?":                 "ada",
		"Tell me a story, ada.":                 "ada",
		"Tell me a story, Ada":                  "ada",
		"over to you, Ada":                      "ada",
		"Over to you Ada.":                      "ada",
		"Your turn Ada":                         "ada",
		"your turn, Ada!":                       "ada",
		"What about you, Ada":                   "ada",
		"what about you Ada?":                   "ada",
		"And you, Ada?":                         "ada",
		"Ada?":                                  "ada",
		"Ada!":                                  "ada",
		"ada":                                   "ada",
		"Ada.":                                  "ada",
		"Hey Ada, tell me a joke":               "ada",
		"hey ada tell me a joke":                "ada",
		"Good morning, Ada!":                    "ada",
		"good morning ada":                      "ada",
		"Thank you Ada":                         "ada",
		"thanks, Ada":                           "ada",
		"So, Ada, what do you think?":           "ada",
		"Well, tell me, Ada, what do you think": "ada",
		"That is right, Ada?":                   "ada",
		"It rains, right Ada?":                  "ada",
		"what do you think Ada?":                "ada",
		"Over to Ada.":                          "ada",
		"Let's hear from Ada.":                  "ada",
		"It's Ada's turn.":                      "ada",
		"I am done. Ada, go on.":                "ada",
		"Ada can you help me":                   "ada",
		"Ada, Bob said it was late. Is it?":     "ada",
		"Bobby, are you there?":                 "bob",
		"Ada and Bob, what do you think?":       "ada bob",
		"Bob, Ada: your views please":           "bob ada",
		"What do you think, Bob and Ada?":       "bob ada",
		"Ada, what is it? And you, Bob?":        "ada bob",
		"@bob @ada hello":                       "bob ada",
		"Jean-Luc, make it so":                  "jean-luc",
		"jean luc, make it so":                  "jean-luc",
		"Mary Ann, come here":                   "mary-ann",
		"what do you say, mary-ann?":            "mary-ann",
		"Zoe, ça va ?":                          "zoe",
		"ZOË, ça va ?":                          "zoe",
		"Zoe\u0308, hallo":                      "zoe",
		"蓮、どう思う？":                               "ren",
		"蓮さん、どう思いますか":                           "ren",
		"レンさんはどう思いますか？":                         "ren",
		"どう思う、レン？":                              "ren",
		"ねえレン、今日は？":                             "ren",
		"小明，你好":                                 "xiaoming",
		"小明你怎么看？":                               "xiaoming",
		"你好，小明！":                                "xiaoming",
		"Will, are you coming?":                 "will",
		"Eva, what would you like?":             "human:eva",
		"Ada, wie spät ist es?":                 "ada",
		"Kannst du mir helfen, Ada?":            "ada",
		"Et toi, Ada ?":                         "ada",
		"¿Y tú, Ada?":                           "ada",
		"Ada, not Bob, please answer":           "ada",
		"Ada, what does \"Bob, come\" mean?":    "ada",
	} {
		if g := strings.Join(addressed(text, testNames), " "); g != want {
			t.Errorf("%q addresses %q; want %q", text, g, want)
		}
	}
}

// TestNoVocatives: a name that calls nobody (ROOM.md 4.2).
func TestNoVocatives(t *testing.T) {
	for _, text := range []string{
		"write to ada@example.com", "Ada@example.com", "mail bob.ada@example.org please", "see https://ada.example/bob", "www.ada.com, please",
		"the code is `ada, run`", "```\nAda, go\n```", "look at ada.py", "run /home/ada/x", "ada = 5", "ada := 5", "ada()", "#ada", "<ada> hello",
		`He said "Ada, come here" and left`, "She wrote “Ada, what now?”", "„Ada, komm“ sagte er", "er rief «Ada!» laut", "彼は「レン、来て」と言った", "they shouted 'Ada, run' twice",
		"Ada said it was late", "Ada says hi", "I think Ada is right", "I asked Ada yesterday", "Tell Ada that I am late", "Is Ada here?", "what did Ada say?", "Have you seen Ada?",
		"who is Ada?", "I like Ada", "This is Ada.", "not Ada", "Not Ada, please", "everybody but Ada", "anyone except Ada?", "not @ada", "it was not Ada",
		"Ada's idea is good", "Ada's, I think", "what is Ada's favourite colour?", "that is Ada’s",
		"Zed, what time is it?", "@zed hello", "Adam, come here", "Adas, kommt", "Canada, what a country", "アダム、来て", "小明天来", "レンタル、いい？",
		"Will you come with me?", "will it rain", "Ada and Bob went home", "Ada, Bob and I went home", "I met Ada and Bob.", "Between Ada and me", "",
		"Bobsleigh, anyone?", "non-Ada, of course", "Ada-like, really",
	} {
		if got := addressed(text, testNames); len(got) > 0 && !(text == "Ada, Bob and I went home" && len(got) == 1) {
			t.Errorf("%q addresses %v; want nobody", text, got)
		}
	}
}

// TestNamesWithSigns: names as people have them in text rooms; the exact one is meant where two differ by signs only.
func TestNamesWithSigns(t *testing.T) {
	names := []Named{{"timello", []string{"timello"}}, {"_timello", []string{"_timello"}}, {"[ada]", []string{"[ada]"}}, {"z3r0-0n3", []string{"z3r0-0n3"}}}
	for text, want := range map[string]string{
		"timello: hi": "timello", "_timello: hi": "_timello", "[ada]: hi": "[ada]", "z3r0-0n3, hi": "z3r0-0n3", "ok, thanks [ada]": "[ada]",
	} {
		if got := addressed(text, names); !slices.Equal(got, []string{want}) {
			t.Errorf("%q addresses %v; want %s", text, got, want)
		}
	}
}

// TestAddressedIsLinear: ten times the text is no more than some ten times the work, counted in words and marks looked at, and
// what is beyond the bound is not looked at.
func TestAddressedBounds(t *testing.T) {
	long := strings.Repeat("x ", textMost) + "Ada, hello?"
	if got := addressed(long, testNames); len(got) != 0 {
		t.Errorf("beyond %d bytes: %v", textMost, got)
	}
	if got := addressed("Ada, "+long, testNames); !slices.Equal(got, []string{"ada"}) {
		t.Errorf("before: %v", got)
	}
}

// TestAddressedProperties: only known names, each once, the same whatever the order the names are given in.
func TestAddressedProperties(t *testing.T) {
	piece := rapid.SampledFrom([]string{"Ada", "Bob", "@ada", ", ", "?", " and ", " not ", "\"", "'", "`", "「", "」", "蓮", "さん", "は", " you ", "Mary Ann", "-", "@", "\n", "> ", "…", " over to ", "http://", " "})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "text"), "")
		got := addressed(text, testNames)
		back := slices.Clone(testNames)
		slices.Reverse(back)
		if again := addressed(text, back); !slices.Equal(got, again) {
			t.Fatalf("%q: %v, and with the names reversed %v", text, got, again)
		}
		for i, p := range got {
			if slices.Contains(got[:i], p) || !slices.ContainsFunc(testNames, func(n Named) bool { return n.Who == p }) {
				t.Fatalf("%q: %v", text, got)
			}
		}
	})
}

func FuzzAddressed(f *testing.F) {
	for _, s := range []string{"Ada, hi", "\xff\xfeAda", "@ada@bob@", "蓮は", "'Ada'", "`Ada", "Ada' ", "Ada の", "“““Ada”", "İAda, x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		addressed(s, testNames)
		Known().WishOf(s, []Named{{"ada", []string{"Ada"}}})
		Known().IntentOf(s)
		Known().ToneOf(s)
		if x := Similarity(s, s); x != 0 && x != 1 {
			t.Fatalf("a text is %v like itself", x)
		}
	})
}

// BenchmarkAddressed shows that the time grows with the text: ns/byte must not.
func BenchmarkAddressed(b *testing.B) {
	for _, unit := range []string{"Ada, Bob and \"x\" ", "'''", "““", "@ada ", "Ada's ", "`", "> ", "a/b "} {
		for _, n := range []int{100, 1000, 8000} {
			text := strings.Repeat(unit, n/len(unit))
			b.Run(unit, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					addressed(text, testNames)
				}
			})
		}
	}
}
