package cascade

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
)

// TestOneLanguageForEarAndMouth: what the server that hears is asked, and what is run to speak, by the languages that people speak.
func TestOneLanguageForEarAndMouth(t *testing.T) {
	const english, german, japanese, french = "It is a quarter past three, and the sun is out.", "Es ist Viertel nach drei, und die Sonne scheint.",
		"今は三時十五分です。", "Il est trois heures et quart, et le soleil brille."
	for _, row := range []struct {
		name      string
		languages string
		mouth     string
		hears     string // language that the server names
		answer    string
		speak     string
		asked     []string // language of each request to the ear
		said      string
	}{
		{"LANG alone: the ear detects", "", "de", "german", german, "espeak-ng", []string{"auto"}, "espeak-ng de"},
		{"LANG alone, and the answer in English", "", "de", "english", english, "espeak-ng", []string{"auto"}, "espeak-ng en"},
		{"German", "de", "de", "german", german, "espeak-ng", []string{"de"}, "espeak-ng de"},
		{"German, by a program that has English alone", "de", "de", "german", german, "flite", []string{"de"}, "espeak-ng de"},
		{"French", "fr", "fr", "french", french, "espeak-ng", []string{"fr"}, "espeak-ng fr"},
		{"Japanese", "ja", "ja", "japanese", japanese, "espeak-ng", []string{"ja"}, "espeak-ng ja"},
		{"Japanese to a device that knows nothing of it", "", "en", "japanese", japanese, "flite", []string{"auto"}, "espeak-ng ja"},
		{"two, German", "de,en", "de", "german", german, "flite", []string{"auto"}, "espeak-ng de"},
		{"two, English", "de,en", "de", "english", english, "flite", []string{"auto"}, "flite"},
		{"two, and taken for a third", "de,en", "de", "dutch", german, "espeak-ng", []string{"auto", "de"}, "espeak-ng de"},
		{"two, by code", "de,en", "de", "nl", german, "espeak-ng", []string{"auto", "de"}, "espeak-ng de"},
		{"two, and one word of answer", "de,en", "de", "german", "Drei.", "espeak-ng", []string{"auto"}, "espeak-ng de"},
		{"a voice of one's own keeps its variant", "de,en", "de", "german", german, "espeak-ng en-us+f3", []string{"auto"}, "espeak-ng de+f3"},
		{"a server with voices", "fr", "fr", "french", french, "kokoro SERVER", []string{"fr"}, "ff_siwis"},
		{"a server with voices, English", "fr,en", "fr", "english", english, "kokoro SERVER", []string{"auto"}, "af_heart"},
	} {
		t.Run(row.name, func(t *testing.T) {
			log := programsThatLog(t)
			set := settings()
			set.Mouth = row.mouth
			if row.languages != "" {
				set.Languages = strings.Split(row.languages, ",")
			}
			speak, voiced, _ := strings.Cut(row.speak, " ")
			if speak == "kokoro" {
				speak, voiced = row.speak, ""
			}
			set.Own = map[string]string{"hear": "whisper.cpp SERVER", "speak": speak}
			chain, heard, said, _ := talkAs(t, voiced, cascadetest.Script{
				Listen: "/inference",
				Hear: func(cascadetest.Request) cascadetest.Reply {
					return cascadetest.Reply{Type: "application/json", Body: fmt.Sprintf(`{"text":"a question","language":%q}`, row.hears)}
				},
				Chat: func(cascadetest.Request) cascadetest.Reply { return cascadetest.Reply{Text: row.answer} },
			}, set, cascadetest.Sound(2, kit.Rate))
			if heard != "a question" || !strings.Contains(said, row.answer) {
				t.Errorf("heard %q, said %q", heard, said)
			}
			var asked []string
			for _, q := range chain.Requests(cascadetest.Hear) {
				asked = append(asked, fmt.Sprint(q.Body["language"]))
			}
			if asked = asked[max(0, len(asked)-len(row.asked)):]; !slices.Equal(asked, row.asked) {
				t.Errorf("the ear was asked in %q; want %q", asked, row.asked)
			}
			var spoke []string
			for _, q := range chain.Requests(cascadetest.Say) {
				spoke = append(spoke, fmt.Sprint(q.Body["voice"]))
			}
			run, err := os.ReadFile(log)
			if err == nil {
				spoke = append(spoke, strings.Split(strings.TrimSpace(string(run)), "\n")...)
			}
			if len(spoke) == 0 || spoke[len(spoke)-1] != row.said {
				t.Errorf("spoken by %q; want %q as the last", spoke, row.said)
			}
		})
	}
}

// programsThatLog puts a flite and an espeak-ng in front of all others that write into a file in which language they are asked to speak.
func programsThatLog(t *testing.T) (log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	wav := filepath.Join(dir, "said.wav")
	if err := os.WriteFile(wav, kit.WAV(cascadetest.Sound(1, kit.Rate), kit.Rate), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, what := range map[string]string{
		"flite":     "echo flite >>" + log,
		"espeak-ng": `while [ "$1" != -v ]; do shift; done; echo "espeak-ng $2" >>` + log,
	} {
		script := "#!/bin/sh\n" + what + "\ncat >/dev/null\nexec cat " + wav + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return log
}

// TestWhatNobodySaid: what recognizers write of silence is dropped, and the same words of a user are not.
func TestWhatNobodySaid(t *testing.T) {
	spoken := func(seconds float64) []int16 { return cascadetest.Sound(seconds, kit.Rate) }
	hiss := func(seconds float64) []int16 {
		pcm := make([]int16, int(seconds*kit.Rate))
		for i := range pcm {
			pcm[i] = int16(i*7919%61) - 30 // 65 dB below full scale
		}
		return pcm
	}
	in := func(before float64, pcm []int16, after float64) []int16 {
		return slices.Concat(hiss(before), pcm, hiss(after))
	}
	sure, unsure, silent := transcript{sure: true, silent: 0.02, logprob: -0.2}, transcript{sure: true, silent: 0.1, logprob: -0.9},
		transcript{sure: true, silent: 0.85, logprob: -1.2}
	for _, row := range []struct {
		text  string
		how   transcript
		pcm   []int16
		names string
		want  bool
	}{
		{"Thank you.", transcript{}, in(0.2, spoken(0.6), 0.2), "", true},
		{"Thank you.", sure, in(0.2, spoken(0.6), 0.2), "", true},
		{"Thank you.", unsure, in(0.2, spoken(0.6), 0.2), "", false},
		{"Thank you.", transcript{}, hiss(1.5), "", false},
		{"Thank you for watching.", transcript{}, hiss(2), "", false},
		{"Thank you for watching!", transcript{}, in(0.2, spoken(0.3), 1), "", false},     // quicker than anybody says it
		{"Thank you.", transcript{}, spoken(8), "", false},                                // eight seconds of something else
		{"Thank you. Thank you for watching. Bye-bye!", transcript{}, hiss(3), "", false}, // one behind another
		{"Bis zum nächsten Mal! Tschüss.", transcript{}, hiss(2), "", false},
		{"www.example.org", transcript{}, hiss(2), "", false},
		{"Thank you. Turn on the light.", transcript{}, hiss(2), "", true},
		{"Vielen Dank.", transcript{}, hiss(2), "", false},
		{"Vielen Dank.", sure, in(0.2, spoken(0.8), 0.2), "", true},
		{"Untertitel der Amara.org-Community", transcript{}, hiss(2), "", false},
		{"Sous-titrage ST' 501", unsure, spoken(2), "", false},
		{"ご視聴ありがとうございました", transcript{}, hiss(2), "", false},
		{"谢谢", sure, in(0.2, spoken(0.7), 0.2), "", true},
		{"Gracias.", sure, in(0.2, spoken(0.6), 0.2), "", true},
		{"Gracias por ver el vídeo.", silent, spoken(1.5), "", false},
		{"Dziękuję za uwagę.", unsure, spoken(1.5), "", false},
		{"Продолжение следует...", transcript{}, hiss(3), "", false},
		{"Turn on the light.", silent, spoken(1.5), "", false}, // whisper's own rule for silence
		{"Turn on the light.", unsure, spoken(1.5), "", true},
		{"Turn on the light.", transcript{}, hiss(1.5), "", true}, // no phrase of that kind: a far voice
		{"[BLANK_AUDIO]", transcript{}, spoken(1), "", false},
		{"[BLANK AUDIO]", transcript{}, spoken(1), "", false},
		{"[BLANK_AUDIO] [BLANK_AUDIO]", transcript{}, spoken(1), "", false},
		{" [ Silence ]\n", transcript{}, spoken(1), "", false},
		{"[VIDEO PLAYBACK]", transcript{}, spoken(1), "", false},
		{"(Musik) [Applaus] ♪", transcript{}, spoken(1), "", false},
		{"<|nospeech|>", transcript{}, spoken(1), "", false},
		{"【音楽】", transcript{}, spoken(1), "", false},
		{"[BLANK_AUDIO] Turn on the light.", transcript{}, spoken(1.5), "", true},
		{"(wind blowing)", transcript{}, spoken(1), "", false},
		{"*music*", transcript{}, spoken(1), "", false},
		{"♪♪♪", transcript{}, spoken(1), "", false},
		{"...", transcript{}, spoken(1), "", false},
		{"[laughs] What time is it?", transcript{}, spoken(1), "", true},
		{"Names: Ada.", transcript{}, spoken(1), "Names: Ada.", false},
		{"Names: Ada, Ben, Cleo.", transcript{}, spoken(2), "Names: Ada, Ben, Cleo.", false},
		{"names ada ben", transcript{}, spoken(2), "Names: Ada, Ben, Cleo.", false},
		{"Ada.", transcript{}, spoken(0.5), "Names: Ada.", true},
		{"Ada, Ben!", transcript{}, spoken(1), "Names: Ada, Ben, Cleo.", true},
		{"Names of flowers, Ada.", transcript{}, spoken(1.5), "Names: Ada.", true},
	} {
		row.how.text = row.text
		if got := row.how.words(row.pcm, row.names); (got != "") != row.want {
			t.Errorf("%q (%+v) in %.1f s, %.2f of them loud: %q", row.text, row.how, float64(len(row.pcm))/kit.Rate, loudFor(row.pcm), got)
		}
	}
}

// TestHowSureTheServerIs: what verbose_json says is read, whatever else is in it; a server that refuses it is asked without it from then on.
func TestHowSureTheServerIs(t *testing.T) {
	segments := `{"text":"Turn on the light","language":"english","duration":1.5,"segments":[{"id":"x","text":"a","no_speech_prob":0.9,"avg_logprob":-1.4}]}`
	for _, row := range []struct {
		name  string
		reply func(q cascadetest.Request) cascadetest.Reply
		want  bool
		least []string // formats of the first requests
	}{
		{"silence, by its figures", func(cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Type: "application/json", Body: segments}
		}, false,
			[]string{"verbose_json", "verbose_json"}},
		{"no figures", func(cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Type: "application/json", Body: `{"text":"Turn on the light","segments":"none","language":7}`}
		}, true, []string{"verbose_json", "verbose_json"}},
		{"refused", func(q cascadetest.Request) cascadetest.Reply {
			if q.Body["response_format"] != "json" {
				return cascadetest.Reply{Status: 400, Type: "application/json", Body: `{"error":{"message":"response_format"}}`}
			}
			return cascadetest.Reply{Text: "Turn on the light"}
		}, true, []string{"verbose_json", "json", "json"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			in(t, cascadetest.Script{Models: []string{"m"}, Listen: "/v1/audio/transcriptions", Hear: row.reply}, nil, func(w *world) {
				text, err := w.c.ear.hear(w.t.Context(), cascadetest.Sound(1.5, kit.Rate), "")
				if err != nil || (text != "") != row.want {
					t.Errorf("%q, %v", text, err)
				}
				var asked []string
				for _, q := range w.chain.Requests(cascadetest.Hear) {
					asked = append(asked, fmt.Sprint(q.Body["response_format"]))
				}
				if !slices.Equal(asked, row.least) {
					t.Errorf("asked for %q; want %q", asked, row.least)
				}
			})
		})
	}
}
