package rehearsal

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Each sentence that SKILLS.md has somebody say does what the page says, as it is written and as pocketsphinx hears it in four voices of
// flite.
func TestThePageSaysWhatWorks(t *testing.T) {
	page, err := os.ReadFile("../../skills/SKILLS.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| \"(.*)\" \\|$").FindAllStringSubmatch(string(page), -1) {
		said[row[1]] = row[2]
	}
	rows := []struct{ skill, want, heard string }{
		{"system", `set_volume {"percent":30}`, ""},
		{"room", `why_did_you_speak {}`, ""},
		{"library", `play {"title":"moby dick"}`, "playing moby dick"},
		{"timers", `set_timer {"seconds":300}`, "set of five minute timer|should a five minute timer|such a five minute timer"},
		{
			"reminders", `add_reminder {"at":"2026-11-24T07:00","text":"call the doctor"}`,
			"remind me tomorrow mining and seven to call the doctor",
		},
		{"notes", `remember {"text":"The keys are in the car."}`, ""},
		{"radio", `play_radio {"station":""}`, ""},
		{"intercom", `call_device {"name":"bedroom"}`, ""},
		{"home", `set_home {"thing":"kitchen light","value":"on"}`, "turn on the kitchen like|turn on the kitchen life|turn on the picture like"},
	}
	if len(said) != len(rows) {
		t.Errorf("the page has a sentence for %d skills; want %d: %q", len(said), len(rows), said)
	}
	for _, row := range rows {
		for _, words := range append(strings.FieldsFunc(row.heard, func(r rune) bool { return r == '|' }), said[row.skill]) {
			th := Thought{
				Words: words, Tools: append([]string{toolWhySpoke}, bundled...), Instructions: "You are Ada, a companion.", Rand: newRand(1),
				Takes: map[string]any{"set_home": m{"properties": m{"thing": m{"enum": []any{"kitchen light"}}}}},
				Now:   time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC), InRoom: true, Talk: []Line{{Text: words}},
			}
			got := ""
			for _, c := range (Rules{}).Think(th).Calls {
				got += c.Name + " " + c.Args
			}
			if got != row.want {
				t.Errorf("%s: %q: %q; want %q", row.skill, words, got, row.want)
			}
		}
	}
}

// Who is alone has a ledger, too.
func TestAloneItLooksUpWhyItSpoke(t *testing.T) {
	for _, instructions := range []string{"You are Ada, a companion.", roomAda} {
		got := (Rules{}).Think(Thought{Words: "why did you speak", Tools: []string{toolWhySpoke}, Instructions: instructions, Rand: newRand(1)})
		if len(got.Calls) != 1 || got.Calls[0].Name != toolWhySpoke {
			t.Errorf("%q: %+v", instructions, got)
		}
	}
}
