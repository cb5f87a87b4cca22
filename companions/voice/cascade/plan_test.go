package cascade

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"conch/companions/voice"
)

// Who hears, thinks and speaks is known before anybody is asked: where, as what, and with which key.
func TestPlan(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*voice.Settings)
		want   string
	}{
		{"one server", func(*voice.Settings) {}, "hears box.lan:8000 (of a kind that it will tell), model whisper-1, key: the voice's (conch key)\n" +
			"thinks box.lan:8000 (of a kind that it will tell), the first model that it lists, key: the voice's (conch key)\n" +
			"speaks box.lan:8000 (of a kind that it will tell), model tts-1, key: the voice's (conch key)\n"},
		{"three, and no key", func(s *voice.Settings) {
			s.URL, s.Own["hear"], s.Own["speak"], s.Key = "http://pc.lan:11434", "whisper.cpp http://pc.lan:8080", "http://pc.lan:8880", func() string { return "" }
		}, "hears pc.lan:8080 (whisper.cpp), model whisper, no key\nthinks pc.lan:11434 (ollama), the first model that it lists, no key\n" +
			"speaks pc.lan:8880 (kokoro), model kokoro, no key\n"},
		{"programs, and a model that is named", func(s *voice.Settings) {
			s.Own["hear"], s.Own["speak"], s.Model, s.ModelAssumed = "/nowhere/whisper-cli /x.bin", "/nowhere/flite", "qwen3:4b", false
		}, "hears /nowhere/whisper-cli on this machine, which is not installed\nthinks box.lan:8000 (of a kind that it will tell), model qwen3:4b, " +
			"key: the voice's (conch key)\nspeaks /nowhere/flite on this machine, which is not installed\n"},
		{"a key that cannot be read here", func(s *voice.Settings) {
			s.Own["speak"] = "openai http://tts.lan"
			s.SpeakKey = voice.Secret{From: "voice.speak_key_file", Read: func() (string, error) { return "", errors.New("permission denied") }}
		}, "speaks tts.lan (openai), model gpt-4o-mini-tts, key: voice.speak_key_file\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := settings()
			row.change(&s)
			parts, err := plan(s)
			got := ""
			for _, p := range parts {
				got += fmt.Sprintln(p.Does, p.By)
			}
			if err != nil || !strings.HasSuffix(got, row.want) {
				t.Errorf("%v\n%s\nwant\n%s", err, got, row.want)
			}
		})
	}
	s := settings()
	s.Own["hear"] = "pocketsphynx"
	if _, err := plan(s); err == nil || !strings.Contains(err.Error(), "voice.hear") {
		t.Errorf("a slip: %v", err)
	}
}
