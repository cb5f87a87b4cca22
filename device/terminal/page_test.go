package terminal

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const story = "Once upon a time a shell lay on a beach and listened. Every evening the sea told it the same story, and every evening the shell pretended."

// spoken is a speech of which so many words were heard.
func spoken(id, who string, words int) Speech {
	all := strings.Fields(story)
	heard := strings.Join(all[:words], " ")
	return Speech{ID: id, Who: who, Heard: heard, Rest: strings.TrimPrefix(story, heard)}
}

var talks = State{Long: "space talks", Short: "talk"}

// TestPage: events, and what stands on the screen after them. ~so~ is struck out, and the bar is the cursor.
func TestPage(t *testing.T) {
	full := Look{Moves: true, Colour: true, Strikes: true}
	for _, c := range []struct {
		name   string
		look   Look
		width  int
		events []event
		want   string
	}{
		{"whole lines, before there is a prompt", full, 40, []event{lines{text: "sound   a loudspeaker with a long name; no microphone\n"}},
			"sound   a loudspeaker with a long name;\n        no microphone\n|\n"},
		{"a line goes above the prompt, and what is typed stays", full, 80, []event{doing{talks}, typing{"tell me", 4}, lines{text: "(bedroom brings Ben)\n"}},
			"(bedroom brings Ben)\n[space talks] > tell| me\n"},
		{"where there is little room the prompt is short", full, 40, []event{doing{talks}}, "[talk] > |\n"},
		{"where there is none it is a sign", full, 12, []event{doing{talks}, typing{"tell me a story", 15}}, "> tell me a\n story|\n"},
		{"the last column stays free, and the cursor is on a row of its own", full, 12, []event{doing{talks}, typing{"tell me a", 9}}, "> tell me a\n|\n"},
		{"characters that are two columns wide", full, 12, []event{doing{talks}, typing{"好好好好好好", 18}}, "> 好好好好\n好好|\n"},
		{"an answer grows, in whole words", full, 40, []event{doing{talks}, speaking{spoken("t-1", "Ada", 3)}, speaking{spoken("t-1", "Ada", 9)}},
			"Ada: Once upon a time a shell lay on a\n[talk] > |\n"},
		{"and goes on below itself", full, 40, []event{doing{talks}, speaking{spoken("t-1", "Ada", 15)}},
			"Ada: Once upon a time a shell lay on a\n  beach and listened. Every evening the\n[talk] > |\n"},
		{"what was said takes the place of what was being said", full, 40, []event{doing{talks}, speaking{spoken("t-1", "Ada", 3)},
			said{Speech{ID: "t-1", Who: "Ada", Heard: "Once upon a time."}, ""}}, "Ada: Once upon a time.\n[talk] > |\n"},
		{"a look that comes after the end is too late", full, 40, []event{doing{talks}, said{Speech{ID: "t-1", Who: "Ada", Heard: "Yes."}, ""},
			speaking{spoken("t-1", "Ada", 3)}}, "Ada: Yes.\n[talk] > |\n"},
		{"words that nobody heard are struck out", full, 60, []event{doing{talks}, said{Speech{ID: "t-1", Who: "Ada", Place: "hall", Heard: "Once upon", Rest: " a time"}, "cut after 0.9 s"}},
			"Ada (hall): Once upon … ~a time~ (cut after 0.9 s)\n[space talks] > |\n"},
		{"where nothing can be struck out they are left out", Look{Moves: true}, 60, []event{doing{talks}, said{Speech{ID: "t-1", Who: "Ada", Heard: "Once upon", Rest: " a time"}, "cut after 0.9 s"}},
			"Ada: Once upon … (cut after 0.9 s)\n[space talks] > |\n"},
		{"of many words that nobody heard, a line or two", full, 60, []event{said{spoken("t-1", "Ada", 4), "cut after 1.0 s"}},
			"Ada: Once upon a time … ~a shell lay on a beach and~\n" +
				"  ~listened. Every evening the sea told it the same story,~\n  ~and every evening the shell pretended.~ (cut after 1.0 s)\n|\n"},
		{"reasons wait until nobody speaks", full, 60, []event{doing{talks}, speaking{spoken("t-1", "Ada", 3)}, lines{"  after Ada: Ben speaks\n", true},
			said{Speech{ID: "t-1", Who: "Ada", Heard: "Yes."}, ""}}, "Ada: Yes.\n  after Ada: Ben speaks\n[space talks] > |\n"},
		{"what is urgent goes before what is being said", full, 60, []event{doing{talks}, speaking{spoken("t-1", "Ada", 3)}, lines{text: "(hall is gone)\n"}},
			"(hall is gone)\nAda: Once upon a\n[space talks] > |\n"},
		{"the next answer begins while the last one has no end yet", full, 60, []event{doing{talks}, speaking{spoken("t-1", "Ada", 3)}, speaking{spoken("t-2", "Ben", 2)},
			said{spoken("t-1", "Ada", 3), ""}}, "Ada: Once upon a\nBen: Once upon\n[space talks] > |\n"},
		{"a question", full, 60, []event{doing{talks}, asked{"tell me a story"}}, "you: tell me a story\n[space talks] > |\n"},
		{"in ASCII", Look{Moves: true, ASCII: true}, 60, []event{doing{talks}, asked{"wie heißt „Müller“ auf Łódź 好…"}}, "you: wie heisst \"Muller\" auf Lodz ?...\n[space talks] > |\n"},
		{"somebody else had the terminal", full, 60, []event{doing{talks}, typing{"tell", 4}, erased{}, lost{}}, "[space talks] > tell|\n"},
		{"it stood still, and nobody had the terminal", full, 60, []event{doing{talks}, typing{"tell", 4}, lost{}, typing{"tell me", 7}}, "[space talks] > tell me|\n"},
		{"the same on a terminal whose cursor does not go up", Look{}, 60, []event{doing{talks}, typing{"tell", 4}, lost{}, asked{"tell"}}, "you: tell           \n[space talks] > tell|\n"},
		{"the end", full, 60, []event{doing{talks}, typing{"tell", 4}, closed{}, lines{text: "bye\n"}}, "bye\n|\n"},
		{"a cursor that does not go up: one row, its end", Look{}, 40, []event{doing{talks}, typing{"what is one and one and two and three", 37}, lines{text: story + "\n"}, speaking{spoken("t-1", "Ada", 9)}},
			story + "\n[talk] > one and one and two and three|\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.look.Width = c.width
			v := newVT(t, c.width)
			if !c.look.Moves {
				v.width = 1000 // it breaks rows itself
			}
			var p page
			for _, e := range c.events {
				var out string
				p, out = p.step(c.look, e)
				v.write(out)
			}
			if got := v.text(); tidy(got) != tidy(c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// tidy takes spaces off the ends of lines.
func tidy(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// TestAnAnswerThatFillsTheScreen: rows that no longer fit below go above for good, each once, whatever the width, and the end adds the rest.
func TestAnAnswerThatFillsTheScreen(t *testing.T) {
	for width := 5; width < 60; width++ {
		look := Look{Moves: true, Width: width, Height: 6}
		v := newVT(t, width)
		var p page
		step := func(e event) {
			var out string
			p, out = p.step(look, e)
			v.write(out)
		}
		step(doing{talks})
		words := len(strings.Fields(story))
		for n := range words {
			step(speaking{spoken("t-1", "Ada", n+1)})
			if below := len(p.drawn.rows); below > look.Height {
				t.Fatalf("width %d: %d rows are drawn anew on a screen of %d", width, below, look.Height)
			}
		}
		step(said{spoken("t-1", "Ada", words), ""})
		got := strings.Join(strings.Fields(strings.NewReplacer("|", "", "[talk] >", "", ">", "").Replace(v.text())), "")
		if want := strings.ReplaceAll("Ada: "+story, " ", ""); got != want {
			t.Fatalf("width %d:\n%s", width, v.text())
		}
	}
}

// TestPageWalk: whatever happens in whatever order, at whatever width, and while the terminal becomes narrower: each line that was told
// stands there once, in its order, nothing is written into the last column, and below the lines stands the prompt alone.
func TestPageWalk(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 15))
		look := Look{Moves: true, Colour: seed%2 == 0, Strikes: seed%3 == 0, Width: 20 + r.IntN(180), Height: 10 + r.IntN(30)}
		v := newVT(t, look.Width)
		var p page
		var told []string
		step := func(e event) {
			var out string
			p, out = p.step(look, e)
			v.write(out)
		}
		step(doing{talks})
		for i := range 60 {
			switch r.IntN(8) {
			case 0, 1:
				told = append(told, fmt.Sprintf("<%d>", i))
				step(lines{text: told[len(told)-1] + " " + strings.Repeat("word ", r.IntN(30)) + "\n"})
			case 2:
				step(typing{strings.Repeat("ab 好 ", r.IntN(20)), 0})
			case 3:
				text := strings.Repeat("xy", r.IntN(60))
				step(typing{text, r.IntN(len(text) + 1)})
			case 4:
				told = append(told, fmt.Sprintf("<%d>", i))
				step(asked{told[len(told)-1]})
			case 5:
				step(speaking{Speech{ID: fmt.Sprint("t-", i/20), Who: "Ada", Heard: strings.Repeat("so ", 1+r.IntN(12)) + "on"}})
			case 6:
				step(said{Speech{ID: fmt.Sprint("t-", i/20), Who: "Ada", Heard: "well", Rest: "no"}, "cut after 1.0 s"})
			case 7:
				if look.Width > 24 {
					look.Width -= 1 + r.IntN(4)
					v.narrow(look.Width)
					step(typing{p.typed, p.at})
				}
			}
		}
		step(closed{})
		text := v.text()
		rest := text
		for _, line := range told {
			i := strings.Index(rest, line)
			if i < 0 || strings.Count(text, line) != 1 {
				t.Fatalf("seed %d: %s stands there %d times, or not in its place:\n%s", seed, line, strings.Count(text, line), text)
			}
			rest = rest[i:]
		}
		if strings.Contains(text, "talk") {
			t.Fatalf("seed %d: a prompt is left:\n%s", seed, text)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestLookOf(t *testing.T) {
	for _, c := range []struct {
		env  string
		want Look
	}{
		{"TERM=xterm-256color LANG=de_DE.UTF-8", Look{Moves: true, Colour: true, Strikes: true}},
		{"TERM=xterm-256color NO_COLOR=1", Look{Moves: true, Strikes: true}},
		{"TERM=dumb", Look{}}, {"", Look{}},
		{"TERM=linux LANG=C", Look{Moves: true, Colour: true, ASCII: true}},
		{"TERM=vt100 LANG=en_US.ISO-8859-1", Look{Moves: true, ASCII: true}},
		{"TERM=xterm LANG=C LC_ALL=C.utf8", Look{Moves: true, Colour: true, Strikes: true}},
		{"TERM=screen-256color", Look{Moves: true, Colour: true}},
		{"TERM=screen-256color TMUX=/tmp/tmux-0", Look{Moves: true, Colour: true, Strikes: true}},
	} {
		got := lookOf(func(name string) string {
			for _, pair := range strings.Fields(c.env) {
				if k, v, _ := strings.Cut(pair, "="); k == name {
					return v
				}
			}
			return ""
		})
		if got != c.want {
			t.Errorf("%s: %+v; want %+v", c.env, got, c.want)
		}
	}
}

// What goes on stands below what it belongs to, unless that leaves it no room.
func TestHanging(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  int
	}{
		{"voice   rehearsal, on this machine", 80, 8}, {"voice   rehearsal, on this machine", 20, 2}, {"état   joue, et pas encore prêt", 80, 7},
		{"  a line, Enter     a question", 80, 20}, {"  a line, Enter     a question", 40, 4}, {"Ada: one word after the other", 80, 2},
	} {
		if got := (Look{Width: c.width}).hanging(c.line); len(got) != c.want {
			t.Errorf("%q at %d: %d; want %d", c.line, c.width, len(got), c.want)
		}
	}
}
