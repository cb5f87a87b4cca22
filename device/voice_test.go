package device

import (
	"slices"
	"strings"
	"testing"

	"conch/companions/voice"
	"conch/companions/voice/realtime"
	"conch/companions/voice/rehearsal"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/provider"
)

// A server that was named is used, whether it wants a key or not; the default one that a copied file names is not.
func TestVoiceOfAURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, key, kind, why string }{
		{"", "", "rehearsal", "no OPENAI_API_KEY"},
		{"wss://api.openai.com/v1/realtime", "", "rehearsal", "no OPENAI_API_KEY"},
		{"", "sk-1", "realtime", "there is a key"},
		{"ws://box.lan:8000", "", "realtime", "voice.url"},
		{"http://box.lan:8000", "", "auto", "voice.url"},
		{"https://api.vendor.example/v1", "sk-1", "auto", "there is a key"},
		{"wss://r.openai.azure.com", "sk-1", "realtime", "there is a key"},
	} {
		text, env := "", []string{}
		if c.url != "" {
			text = "[voice]\nurl = \"" + c.url + "\"\n"
		}
		if c.key != "" {
			env = append(env, "OPENAI_API_KEY="+c.key)
		}
		cfg, err := config.Load(config.LoadOptions{File: fileOf(t, text), Environ: env})
		if err != nil {
			t.Fatal(err)
		}
		if kind, why := provider.Kind(cfg); kind.Name != c.kind || !strings.HasPrefix(why, c.why) {
			t.Errorf("voice.url %q, key %q: %s (%s); want %s (%s)", c.url, c.key, kind.Name, why, c.kind, c.why)
		}
	}
}

// Each dialect that the client has can be chosen, and no other.
func TestDialectsCanBeChosen(t *testing.T) {
	t.Parallel()
	for _, name := range append([]string{"auto"}, realtime.DialectNames()...) {
		cfg, err := config.Load(config.LoadOptions{File: fileOf(t, "[voice]\ndialect = \""+name+"\"\n"), Environ: []string{}})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if d, err := realtime.SettingDialect(voice.Settings{URL: "ws://box.lan", Own: cfg.Voice.Own}); err != nil || d.Guess != (name == "auto") {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	names := realtime.DialectNames()
	last := len(names) - 1
	if want := "auto, " + strings.Join(names[:last], ", ") + " or " + names[last]; !slices.ContainsFunc(keysOfTheExample(t), func(k keyOfTheExample) bool { return k.name == "voice.dialect" && k.allowed == want }) {
		t.Errorf("the example does not allow %q", want)
	}
}

// Whoever looks at the box (status, light, doctor) learns what the voice lacks and what to do, and that it is over.
func TestTroubleOfTheVoiceIsACondition(t *testing.T) {
	t.Parallel()
	trouble := func(b *box, remedy, clip string) {
		t.Helper()
		b.until("the condition", func() bool { said, held := b.conds.ClipOf(condition.VoiceLost); return held && said == clip })
		for _, c := range b.conds.List() {
			if c.Code == condition.VoiceLost && (!strings.Contains(c.Do, remedy) || c.Text == "") {
				t.Errorf("condition %+v; want a remedy with %q", c, remedy)
			}
		}
	}
	refused := newBox(t, boxOptions{offline: true, key: "another key"})
	trouble(refused, "valid key", "key_refused")

	b := newBox(t, boxOptions{})
	if b.holds(condition.VoiceLost) {
		t.Error("a voice that is there is a condition")
	}
	b.server.SetFaults(rehearsal.Faults{RateLimit: true})
	b.wires.cut()
	trouble(b, "", "quota")
	b.server.SetFaults(rehearsal.Faults{})
	b.until("its end", func() bool { return !b.holds(condition.VoiceLost) })
}
