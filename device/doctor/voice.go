package doctor

import (
	"context"
	"slices"
	"strings"

	clips "conch/audio/words"
	"conch/companions/voice"
	"conch/coordinator/turn"
	"conch/device/language"
	"conch/device/provider"
)

// The kind of voice examines itself: it is given what is configured and the ways of this machine, and what it finds becomes rows of
// the report.
func checkVoice(ctx context.Context, m *Machine, s *Subject) (out []Finding) {
	v := s.Voice
	switch {
	case v.Kind.Local && v.KeyHidden:
		return unknown("", "whether there is a key", "sudo conch doctor")
	case v.Misfit != "":
		return bad("", strings.TrimPrefix(v.Misfit, "config: "), "a slip", "set it so (conch check); conch run does not begin")
	case !v.Kind.Local && v.KeyTrouble != "":
		return bad("key", strings.TrimPrefix(v.KeyTrouble, "config: "), "the key that is there cannot be used", "sudo conch key stores it anew")
	}
	v.Roots = m.Roots
	for _, f := range v.Kind.Check(ctx, voice.Examined{
		Settings: v.Settings, Why: v.Why, KeyHidden: v.KeyHidden, Companion: v.Companion, Tools: v.Tools, Running: s.session,
		Dial: m.Dial, Proxy: m.Proxy, Now: m.Now, BuiltAfter: BuiltAfter, Told: told, Unreachable: m.unreachable,
	}) {
		out = append(out, Finding{Check: f.Part, Level: Level(f.Level), Text: f.Text, Cause: f.Cause, Do: f.Do})
	}
	return out
}

// session is what the running appliance calls the voice that it has a session of; "": it has none, or does not run.
func (s *Subject) session(ctx context.Context) string {
	r, here, err := s.running(ctx)
	lost := slices.ContainsFunc(r.Conditions, func(c Condition) bool { return c.Code == "voice.lost" })
	if !here || err != nil || !r.Ready || lost {
		return ""
	}
	return r.Voice
}

// told is what a person is told of a session that is not there, and can do about it.
func told(say turn.Words) (cause, do string) {
	cause, _, _ = strings.Cut(clips.Text(language.English, string(say)), ". ")
	return cause, provider.Remedy(say)
}
