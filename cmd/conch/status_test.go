package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"conch/coordinator"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/language"
	"conch/device/printable"
)

// Each condition has a sentence in each language; what is known of it beyond that stands behind, in English.
func TestConditionsAreToldInEachLanguage(t *testing.T) {
	table, err := os.ReadFile("../../device/condition/table.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`Code\s+= "([a-z_.]+)"`).FindAllSubmatch(table, -1)
	if len(codes) < 40 {
		t.Fatalf("%d codes", len(codes))
	}
	for _, l := range language.All() {
		for _, code := range codes {
			c := condition.Condition{Code: condition.Code(code[1]), Text: "it is broken", Do: "mend it"}
			text, do, details := describe{in: l}.wrong(c)
			if details == "" { // of one of several
				c.Code = c.Code.Of("ada")
				text, do, details = describe{in: l}.wrong(c)
			}
			if l == language.English {
				if text != c.Text || do != c.Do || details != "" {
					t.Errorf("%s in English: %q, %q, %q", c.Code, text, do, details)
				}
			} else if text == c.Text || do != "" || details != "it is broken; mend it" {
				t.Errorf("%s in %s: %q, %q, %q", c.Code, l, text, do, details)
			}
		}
	}
}

// What a command prints for people is in the reader's language.
func TestCommandsSpeakTheReadersLanguage(t *testing.T) {
	const used = "2026-11-23: 2 Antworten, 3 s gehört, 4 s gesprochen, 1 Stimme eines Modells\n" +
		"Token  900 von 800\nKosten 0.5000 (ohne Limit): 0.1250 für Token, 0.1250 fürs Hören, 0.2500 fürs Sprechen\n" +
		"keine neuen Antworten (das Limit von 800 Token ist erreicht) bis 2026-11-24 um 00:00, oder: conch usage reset\n"
	cfg := config.Default()
	cfg.Device.Language = "de"
	var out bytes.Buffer
	printUsage(&env{out: printable.NewWriter(&out), loaded: &cfg}, control.UsageReport{
		Day: "2026-11-23", Responses: 2, HeardSeconds: 3, SaidSeconds: 4, Votes: 1, Tokens: 900, CeilingTokens: 800, Priced: true,
		Cost: 0.5, HearCost: 0.125, SpeakCost: 0.25, Refusing: "900 of 800 tokens used on 2026-11-23", Until: time.Date(2026, 11, 24, 0, 0, 0, 0, time.Local),
	})
	if out.String() != used {
		t.Errorf("%s\nwant %s", out.String(), used)
	}
	status := describe{"de", time.Now()}.status(control.Status{Ready: true, State: "IDLE", Quiet: true, Muted: true, Conditions: []condition.Condition{
		{Code: condition.RoomBroker, Text: "port 1883 is taken", Do: "free it"},
		{Code: condition.VoiceLost, Text: "no session", Do: "put a valid key", Clip: "key_refused"},
	}}, 0)
	for _, want := range []string{"wartet auf einen Druck", "an: das Mikrofon ist zu", "Es gibt keinen Broker", "Schlüssel wurde abgelehnt", "genau", "port 1883 is taken; free it"} {
		if !strings.Contains(status, want) {
			t.Errorf("%s\nwant %q in it", status, want)
		}
	}
	e := &env{out: printable.NewWriter(&out), loaded: &cfg}
	out.Reset()
	for _, a := range []control.Answer{
		{Outcome: control.OutcomeSilent, Why: "nobody has enough to say"},
		{Outcome: control.OutcomeAnswered, Summary: control.Turn{Record: coordinator.Record{Tools: 1}}},
	} {
		if err := (askCmd{}).tell(e, a); err != nil {
			t.Error(err)
		}
	}
	const told = "(niemand antwortet: niemand hat genug zu sagen)\n(erledigt, ohne ein Wort)\n"
	if out.String() != told {
		t.Errorf("%s\nwant %s", out.String(), told)
	}
	err := askCmd{}.tell(e, control.Answer{Outcome: control.OutcomeSuperseded, Why: "a newer question came"})
	if err == nil || err.Error() != "ask: nicht beantwortet: eine neuere Frage kam" {
		t.Error(err)
	}
	for want, h := range map[string]control.Hushed{
		"still": {}, "hier still; nicht bestätigt von bed": {Unconfirmed: []string{"bed"}}, "still hier und bei: bed": {Silent: []string{"bed"}},
	} {
		if got := h.Words("de"); got != want {
			t.Errorf("hushed: %q, want %q", got, want)
		}
	}
}

// No language leaves a value of conch status, which is a state in words, in English.
func TestStatusHasNoValueInEnglish(t *testing.T) {
	s := control.Status{
		Ready: true, State: "IDLE", Quiet: true, Sound: "no loudspeaker (no sound card, no sound server); microphone not open yet",
		Voice:  "rehearsal, on this machine (no key is stored); for a real one: sudo conch setup voice (the key alone: sudo conch key); hears with a, speaks with b",
		Button: "key of an input device; GPIO17 (not there)", Volume: 40, VolumeFrom: "file /etc/conch/conch.toml:3",
		Today: &control.UsageReport{Tokens: 900, CeilingTokens: 800, Refusing: "900 of 800 tokens used on 2026-11-23"},
	}
	english := regexp.MustCompile(`\b(no sound|there|with|key of|sound card|this machine|tokens used|alone|file|speaks)\b`)
	for _, l := range language.All() {
		text := describe{l, time.Now()}.status(s, 0)
		if english.MatchString(text) != (l == language.English) {
			t.Errorf("%s: %q in\n%s", l, english.FindAllString(text, -1), text)
		}
	}
}
