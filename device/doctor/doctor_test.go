package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"conch/companions/voice/kinds"
	"conch/device/doctor"
)

var update = flag.Bool("update", false, "rewrite the table in doc.go")

// The table in the package comment is made from the checks; go test -update rewrites it.
func TestTableInComment(t *testing.T) {
	const begin, end = "//\n//\tgroup", "// Sources"
	file, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	fmt.Fprintf(&table, "//\n//\t%-8s %-12s %s\n", "group", "check", "what is looked at")
	for _, c := range doctor.Checks() {
		about := c.About
		if len(c.Also) > 0 {
			about += " [" + strings.Join(c.Also, ", ") + "]"
		}
		fmt.Fprintf(&table, "//\t%-8s %-12s %s\n", c.Group, c.Name, about)
	}
	table.WriteString("//\n")
	before, rest, found := strings.Cut(string(file), begin)
	_, after, also := strings.Cut(rest, end)
	if !found || !also {
		t.Fatalf("doc.go has no table between %q and %q", begin, end)
	}
	want := before + table.String() + end + after
	if want == string(file) {
		return
	}
	if !*update {
		t.Fatal("the table in doc.go is not that of Checks; go test -update ./device/doctor rewrites it")
	}
	if err := os.WriteFile("doc.go", []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A check that hangs is named after its limit and holds up nobody; one that panics is named too.
func TestCheckThatHangsOrFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		began := time.Now()
		found := doctor.Run(t.Context(), &doctor.Machine{}, &doctor.Subject{}, []doctor.Check{
			{Name: "stuck", Group: doctor.Sound, Look: func(context.Context, *doctor.Machine, *doctor.Subject) []doctor.Finding {
				<-free
				return nil
			}},
			{Name: "broken", Group: doctor.Box, Look: func(context.Context, *doctor.Machine, *doctor.Subject) []doctor.Finding {
				return []doctor.Finding{{Text: strings.Fields(" ")[0]}} // out of range
			}},
			{Name: "well", Group: doctor.Room, Limit: time.Second, Look: func(ctx context.Context, _ *doctor.Machine, _ *doctor.Subject) []doctor.Finding {
				<-ctx.Done()
				return []doctor.Finding{{Level: doctor.OK, Text: "its time was over, and it says so itself"}}
			}},
		})
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("took %s", took)
		}
		close(free)
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s %s %s", f.Group, f.Check, f.Level))
		}
		if want := []string{"machine broken note", "sound stuck warn", "room well ok"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// However many checks hang, everything is over in less than ten seconds (APPLIANCE.md 5).
func TestAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		checks := doctor.Checks()
		for i := range checks {
			checks[i].Look = func(context.Context, *doctor.Machine, *doctor.Subject) []doctor.Finding {
				<-free
				return nil
			}
		}
		began := time.Now()
		found := doctor.Run(t.Context(), &doctor.Machine{}, &doctor.Subject{}, checks)
		if took := time.Since(began); took >= 10*time.Second {
			t.Errorf("took %s", took)
		}
		if len(found) != len(checks) {
			t.Errorf("%d findings of %d checks", len(found), len(checks))
		}
		close(free)
	})
}

// The JSON is an interface: names and levels stay.
func TestSchema(t *testing.T) {
	text, err := json.Marshal(doctor.Finding{Check: "c", Level: doctor.Bad, Text: "t", Cause: "w", Do: "d", Group: doctor.Sound})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"check":"c","level":"bad","text":"t","cause":"w","do":"d","group":"sound"}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// Secrets are put wherever something is read from, and none comes out.
func TestReportIsFitToPaste(t *testing.T) {
	secrets := []string{key, "sk-proj-AnotherKeyOfSomebody123", "hunter2-password", "/home/marta", "marta", "MartasWiFi", "02:42:ac:11:00:02"}
	all := strings.Join(secrets, " ")
	b := healthy(t)
	b.m.People = []string{"marta", "root", "pi", ""}
	b.s.Secrets = []string{key, "hunter2-password"}
	b.s.Voice.URL = "wss://marta:hunter2-password@api.openai.com/v1/realtime"
	b.s.Voice.Model = "sk-proj-AnotherKeyOfSomebody123"
	b.s.Refused = errors.New("config: /home/marta/conch.toml: " + all)
	b.s.Warnings = []string{all}
	b.s.StateDir = "/home/marta/.local/state/conch"
	b.run = doctor.Running{State: all, Sound: all, Voice: all, Button: all, Conditions: []doctor.Condition{{Code: "x", Text: all, Do: all}}}
	b.s.Measured = doctor.Measured{Err: errors.New(all)}
	b.held(27, "marta's "+all)
	b.write("/proc/asound/card0/pcm0p/sub0/status", "state: RUNNING\nowner_pid   : 7\n")
	b.write("/proc/7/comm", all)
	b.write("/proc/net/wireless", " wlan0: 0000 28. -82. -256 0 MartasWiFi\n")
	b.says["iw dev wlan0 get power_save"] = "SSID: MartasWiFi\nPower save: on\n"
	b.says["dmesg"] = "mmc0: error -110 " + all
	b.unit(map[string]string{"StatusText": all, "Result": all, "ActiveState": "failed"})
	b.server.answer = reply(401, `{"error":{"message":"`+all+`","code":"`+all+`","type":"`+all+`"}}`)
	found := b.findings()
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	out := show(found) + string(text)
	if len(found) < 10 {
		t.Fatalf("only %d findings: this would prove nothing", len(found))
	}
	for _, secret := range secrets {
		if at := strings.Index(out, secret); at >= 0 && secret != "MartasWiFi" {
			t.Errorf("%q is in the report: …%s…", secret, out[max(0, at-60):min(len(out), at+60)])
		}
	}
	// A Wi-Fi's name cannot be told from a word; it is never read. Here it stands only where others have put it.
	b = healthy(t)
	b.write("/proc/net/wireless", " wlan0: 0000 28. -82. -256 0 MartasWiFi\n")
	b.says["iw dev wlan0 get power_save"] = "SSID: MartasWiFi\nPower save: on\n"
	if out := show(b.findings()); strings.Contains(out, "MartasWiFi") {
		t.Error("the name of the Wi-Fi is in the report")
	}
}

// No secret survives, whatever stands around it, and no part of one where another begins like it.
func TestNoSecretSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[A-Z][A-Z0-9+=.-]{4,12}`)
		secrets := rapid.SliceOfN(word, 1, 4).Draw(t, "secrets")
		secrets = append(secrets, secrets[0]+word.Draw(t, "longer"))
		text := rapid.StringMatching(`[äöü ]{0,9}`) // nothing that is a secret, or has its letters
		said, want := "", ""
		for _, s := range rapid.SliceOfN(rapid.SampledFrom(secrets), 1, 5).Draw(t, "said") {
			between := text.Draw(t, "between")
			said, want = said+between+" "+s+" ", want+between+" [secret] "
		}
		found := doctor.Run(context.Background(), &doctor.Machine{}, &doctor.Subject{Secrets: secrets}, []doctor.Check{{Name: "c", Group: doctor.Box,
			Look: func(context.Context, *doctor.Machine, *doctor.Subject) []doctor.Finding {
				return []doctor.Finding{{Level: doctor.Bad, Text: said, Cause: said, Do: said}}
			}}})
		for _, out := range []string{found[0].Text, found[0].Cause, found[0].Do} {
			if out != want {
				t.Fatalf("got %q, want %q", out, want)
			}
		}
	})
}

// Anonymous leaves out names and addresses of the house.
func TestAnonymous(t *testing.T) {
	b := healthy(t)
	b.s.Anonymous, b.s.Hosts = true, []string{"nas.lan", "kitchen", "abcdefghijklmnopqrst"}
	b.s.Voice.URL = "wss://nas.lan:8080/v1/realtime"
	b.server.http.Close()
	b.run.Conditions = []doctor.Condition{{Code: "room.cut", Text: "nas.lan at 192.168.1.7 does not know kitchen (abcdefghijklmnopqrst); the kitchenette is fine", Do: "ssh nas.lan"}}
	out := show(b.findings())
	for _, name := range []string{"nas.lan", "192.168.1.7", "kitchen ", "abcdefghijklmnopqrst"} {
		if strings.Contains(out, name) {
			t.Errorf("%q is in the report:\n%s", name, out)
		}
	}
	if !strings.Contains(out, "kitchenette") {
		t.Error("a word that contains a name was changed")
	}
}

// The report folds what is in order and shows the rest with cause and remedy.
func TestPrint(t *testing.T) {
	var out bytes.Buffer
	found := []doctor.Finding{
		{Check: "clock", Level: doctor.OK, Text: "right", Group: doctor.Box},
		{Check: "disk", Level: doctor.OK, Text: "roomy", Group: doctor.Box},
		{Check: "holder", Level: doctor.Bad, Text: "held by aplay", Cause: "it was first", Do: "end it", Group: doctor.Sound},
	}
	doctor.Print(&out, found, false)
	const want = `machine
  ok    clock, disk
sound
  bad   holder       held by aplay
        cause        it was first
        do           end it
1 bad, 0 warnings, 0 notes, 2 in order
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	doctor.Print(&out, found, true)
	if !strings.Contains(out.String(), "  ok    clock        right\n") {
		t.Errorf("verbose hides what is in order:\n%s", out.String())
	}
}

// On whatever machine the tests run: every check ends in time, says something sensible, and every trouble has cause and remedy.
func TestThisMachine(t *testing.T) {
	began := time.Now()
	found := doctor.Run(t.Context(), doctor.Real(), &doctor.Subject{
		Button: doctor.ButtonSetting{Source: "auto", Pin: 17}, Sound: doctor.SoundSetting{Backend: "auto", Promise: 30 * time.Millisecond},
		Voice: doctor.VoiceSetting{Kind: kinds.Find("rehearsal"), Why: "a test"}, StateDir: t.TempDir(), RuntimeDir: t.TempDir(),
	}, doctor.Checks())
	t.Logf("in %s\n%s", time.Since(began).Round(time.Millisecond), show(found))
	if len(found) < 10 {
		t.Errorf("only %d findings", len(found))
	}
	for _, f := range found {
		if strings.Contains(f.Text, "failed itself") || f.Text == "" || f.Check == "" || f.Group == "" {
			t.Errorf("%+v", f)
		}
		if (f.Level == doctor.Warn || f.Level == doctor.Bad) && (f.Cause == "" || f.Do == "") {
			t.Errorf("no cause or no remedy: %+v", f)
		}
	}
}
