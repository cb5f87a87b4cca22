package models

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"conch/companions/voice"
)

// shutdown is when a model ends. Source: the deprecations in OpenAI's own typed SDK (openai-node 7.55.0) and pages, as
// collected in realtime/FACTS.md 0 on 2026-11-21; where the server's list has a date, that one counts.
var shutdown = []struct {
	model   string // or its beginning, before a "*"
	on      string
	instead string
}{
	{"gpt-realtime", "2027-01-20", "gpt-realtime-2.1"},
	{"gpt-realtime-mini", "2027-01-20", "gpt-realtime-2.1-mini"},
	{"gpt-realtime-2025-*", "2027-01-20", "gpt-realtime-2.1"},
	{"gpt-realtime-mini-2025-*", "2027-01-20", "gpt-realtime-2.1-mini"},
	{"gpt-audio-mini", "2027-01-20", "gpt-realtime-2.1-mini"},
	{"tts-1", "2027-01-06", "gpt-realtime-2.1-mini"},
	{"tts-1-hd", "2027-01-06", "gpt-realtime-2.1-mini"},
	{"gpt-4o-mini-tts", "2027-01-06", "gpt-realtime-2.1-mini"},
	{"gpt-5", "2026-12-11", ""},
	{"o3", "2026-12-11", ""},
	{"gpt-4o", "2027-01-14", "gpt-6-luna"},
	{"gpt-4.1", "2027-01-14", "gpt-6-luna"},
	{"whisper-1", "2027-02-26", "gpt-transcribe"},
	{"gpt-4o-transcribe", "2027-02-26", "gpt-transcribe"},
	{"gpt-4o-mini-transcribe", "2027-02-26", "gpt-transcribe"},
}

// soon is how long before its end a model is worth a word.
const soon = 120 * 24 * time.Hour

// ends is when a model is shut down, as far as anybody knows.
func ends(name string, listed []model) (on time.Time, instead string, known bool) {
	for _, s := range shutdown {
		before, wild := strings.CutSuffix(s.model, "*")
		if s.model == name || wild && strings.HasPrefix(name, before) {
			on, _ = time.Parse(time.DateOnly, s.on)
			instead, known = s.instead, true
		}
	}
	for _, l := range listed {
		if l.ID != name {
			continue
		}
		switch d := l.Shutdown.(type) {
		case string:
			for _, layout := range []string{time.RFC3339, time.DateOnly} {
				if t, err := time.Parse(layout, d); err == nil {
					on, known = t, true
				}
			}
		case float64:
			if d > 0 {
				on, known = time.Unix(int64(d), 0), true
			}
		}
	}
	return on, instead, known
}

// Models say whether the models that are configured are there, and stay.
func (a Answer) Models(talks, transcribes string) (out voice.Findings) {
	official := strings.Contains(a.of.Endpoint.String(), "api.openai.com")
	for _, w := range []struct{ key, name string }{{"voice.model", talks}, {"voice.transcription", transcribes}} {
		if w.name == "" {
			continue
		}
		if a.listed && !slices.ContainsFunc(a.models, func(l model) bool { return l.ID == w.name }) {
			level, do := voice.Bad, "set "+w.key+" to one that it has"
			if near := realtimes(a.models); w.key == "voice.model" && near != "" {
				do += ": " + near
			}
			if !official || w.key != "voice.model" { // compatible servers have aliases, and lists that are not complete
				level = voice.Warn
			}
			out = append(out, voice.Finding{Part: "model", Level: level, Text: fmt.Sprintf("the server does not list %s (%s)", w.name, w.key),
				Cause: "a slip, a model that was shut down, or a key that may not use it", Do: do})
			continue
		}
		var listed []model
		if a.listed {
			listed = a.models
		}
		on, instead, known := ends(w.name, listed)
		if !official && !slices.ContainsFunc(listed, func(l model) bool { return l.ID == w.name && l.Shutdown != nil }) {
			known = false // somebody else's server keeps what it likes
		}
		do := "set " + w.key + " to a newer one"
		if instead != "" {
			do = fmt.Sprintf("set %s = %q", w.key, instead)
		}
		if !(known && warn(&out, "model", w.name, on.Sub(a.of.Now()), on, do)) && a.listed {
			out.OK("model", "%s is there", w.name)
		}
	}
	return out
}

// warn says that a model has ended, or will soon; false: it stays for longer.
func warn(out *voice.Findings, part, name string, left time.Duration, on time.Time, do string) bool {
	day := on.UTC().Format(time.DateOnly)
	switch {
	case left <= 0:
		out.Bad(part, name+" was shut down on "+day, "the provider ended it", do)
	case left < soon:
		out.Warn(part, name+" will be shut down on "+day, "the provider ends it", do+" before that")
	default:
		return false
	}
	return true
}

// Ending says whether a model of api.openai.com that is no Realtime session's has ended, or will soon. Without a text in do, it says
// what the provider offers instead.
func Ending(now time.Time, part, key, name, do string) (out voice.Findings) {
	on, instead, known := ends(name, nil)
	switch {
	case do != "":
	case instead != "":
		do = fmt.Sprintf("set %s = %q", key, instead)
	default:
		do = "set " + key + " to a newer one"
	}
	if known {
		warn(&out, part, name, on.Sub(now), on, do)
	}
	return out
}

// realtimes are a few names of models that talk.
func realtimes(all []model) string {
	var names []string
	for _, l := range all {
		if strings.Contains(l.ID, "realtime") && len(names) < 4 {
			names = append(names, l.ID)
		}
	}
	return strings.Join(names, ", ")
}
