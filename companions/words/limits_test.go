package words

import (
	"strings"
	"testing"
)

// TestLimitsOfWords: the numbers by which lines are read, each by a case on either side.
func TestLimitsOfWords(t *testing.T) {
	var here []Party
	for _, name := range []string{"ada", "ben", "cleo"} {
		here = append(here, Party{Named: Named{name, []string{name}}, Companion: true})
	}
	again := func(words, between int) bool { // a companion says the same once more, after so many others of theirs
		text := strings.Join(strings.Fields("rain falls on every old roof")[:words], " ")
		past := []Said{{From: "ada", Companion: true, Text: text}}
		for i := range between {
			past = append(past, Said{From: "ben", Companion: true, Text: "Number " + strings.Repeat("x", i+1) + " is another thing"})
		}
		c := Known().Follow(here, past, Said{From: "cleo", Companion: true, Text: text}, "")
		return repeats(c.Past, c.Now, 0.7)
	}
	open := func(text string) bool {
		return Known().Follow(here, nil, Said{From: "eva", Text: text}, "").Whom().Open
	}
	confused := func(words int) bool { // said to two who have just spoken: is it for the one who explained?
		past := []Said{
			{From: "ben", Companion: true, Text: "You turn the long screw to the left until the lid comes off."}, {From: "ada", Companion: true, Text: "So it is."},
		}
		text := "I do not understand" + strings.Repeat(" that", words-4)
		return Known().Follow(here, past, Said{From: "eva", Text: text}, "ada").Whom().Why == "lost"
	}
	for name, row := range map[string]struct{ within, beyond bool }{
		"one of the last five":       {again(6, 4), again(6, 5)},
		"four words can be repeated": {again(4, 0), again(3, 0)},
		"more than who shall not":    {open("Not Ada this time round"), open("Not Ada this time")},
		"no more than confused":      {confused(16), confused(17)},
	} {
		if !row.within || row.beyond {
			t.Errorf("%s: %v within the limit, %v beyond it", name, row.within, row.beyond)
		}
	}
}
