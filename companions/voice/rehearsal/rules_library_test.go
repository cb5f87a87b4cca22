package rehearsal

import (
	"testing"
	"time"
)

// says asks the rules, and expects the calls of tools; where they are not there, none.
func says(t *testing.T, words, want string, tools ...string) {
	t.Helper()
	for _, offered := range [][]string{tools, nil} {
		r := Rules{}.Think(Thought{Words: words, Tools: offered, Instructions: "You are Ada, a companion.", Rand: newRand(1), Now: time.Unix(0, 0).UTC()})
		got := ""
		for _, c := range r.Calls {
			got += c.Name + " " + c.Args
		}
		if offered == nil {
			want = ""
		}
		if got != want {
			t.Errorf("%q, with the tools %q: %q; want %q", words, offered, got, want)
		}
	}
}

func TestRulesOfTheLibrary(t *testing.T) {
	for words, want := range map[string]string{
		"play Moby Dick":                    `play {"title":"moby dick"}`,
		"play Moby Dick from the beginning": `play {"from_the_beginning":true,"title":"moby dick"}`,
		"play Moby Dick chapter two":        `play {"title":"moby dick chapter two"}`,
		"play chapter two of Moby Dick":     `play {"title":"chapter two of moby dick"}`,
		"play the next chapter":             `chapter {"by":1}`,
		"pause":                             `pause {}`,
		"paws please":                       `pause {}`,
		"go on":                             `go_on {}`,
		"carry on":                          `go_on {}`,
		"resume":                            `go_on {}`,
		"chapter three":                     `chapter {"number":3}`,
		"chatter three":                     `chapter {"number":3}`,
		"next chapter":                      `chapter {"by":1}`,
		"the previous chapter":              `chapter {"by":-1}`,
		"go to chapter twenty one":          `chapter {"number":21}`,
		"back thirty seconds":               `skip {"seconds":-30}`,
		"back a minute":                     `skip {"seconds":-60}`,
		"go back two minutes":               `skip {"seconds":-120}`,
		"skip forward five minutes":         `skip {"seconds":300}`,
		"go back a little":                  `skip {"seconds":-30}`,
		"rewind":                            `skip {"seconds":-30}`,
		"where was i":                       `now_playing {}`,
		"what is playing":                   `now_playing {}`,
		"stop in twenty minutes":            `sleep_timer {"minutes":20}`,
		"stop after half an hour":           `sleep_timer {"minutes":30}`,
		"sleep timer one hour":              `sleep_timer {"minutes":60}`,
		"faster":                            `speed {"by":25}`,
		"read a little slower please":       `speed {"by":-25}`,
		"play faster":                       `speed {"by":25}`,
		"at one and a half times":           `speed {"percent":150}`,
		"play it at one point two five":     `play {"title":"it at one point two five"}`,
		"one point two five times":          `speed {"percent":125}`,
		"at 1.5 times the speed":            `speed {"percent":150}`,
		"three quarters of the speed":       `speed {"percent":75}`,
		"normal speed":                      `speed {"percent":100}`,
		"twice the speed":                   `speed {"percent":200}`,
		"speed one hundred and ten percent": `speed {"percent":110}`,
		"what is two times three":           ``,
		"what is one and a half times two":  ``,
		"please speak slower":               ``,
		"play the need for speed":           `play {"title":"the need for speed"}`,
		"what is on the menu":               ``,
		"which book should I read tonight":  ``,
		"which song is this":                `now_playing {}`,
	} {
		says(t, words, want, "play", "go_on", "pause", "chapter", "skip", "now_playing", "sleep_timer", "speed")
	}
}
