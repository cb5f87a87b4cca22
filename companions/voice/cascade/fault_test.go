package cascade

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/coordinator/turn"
)

// told is what a person was told of a turn: the words of its refusal or its end, or of a session that is lost for good.
func (w *world) told(id turn.ID) (say turn.Words, over bool) {
	lost := -time.Hour
	for _, ev := range w.all() {
		switch e := ev.(type) {
		case turn.SessionReady:
			lost = -time.Hour
		case turn.ResponseRefused:
			if e.Turn == id {
				return e.Say, true
			}
		case turn.ResponseDone:
			if e.Turn == id {
				return e.Say, true
			}
		case turn.InputRefused:
			if e.Turn == id {
				return turn.WordsNotHeard, true
			}
		case turn.SessionLost:
			if e.Fatal {
				return e.Say, true
			}
			lost, say = e.At, e.Say
		}
	}
	if lost > 0 && w.Now()-lost >= 5*time.Second { // the coordinator waits no longer
		return say, true
	}
	return "", false
}

// lost are the words of all sessions that were lost.
func (w *world) lost() (all []turn.Words) {
	for _, ev := range w.all() {
		if e, ok := ev.(turn.SessionLost); ok {
			all = append(all, e.Say)
		}
	}
	return all
}

func with(status int, kind, text string) func(cascadetest.Request) cascadetest.Reply {
	return func(cascadetest.Request) cascadetest.Reply {
		return cascadetest.Reply{Status: status, Type: kind, Body: text}
	}
}

// Whatever a stage answers in place of what it should: a person is told what it is, whoever looks at the device sees it, nothing stays
// open, and the next question is answered when the chain is well again.
func TestBadInputEndsInWords(t *testing.T) {
	page := "<!DOCTYPE html><html><body>Sign in to the hotel</body></html>"
	always := func(p cascadetest.Reply) func(cascadetest.Request) cascadetest.Reply {
		return func(cascadetest.Request) cascadetest.Reply { return p }
	}
	for _, row := range []struct {
		name string
		bad  cascadetest.Script
		want turn.Words
		lost bool // it is a condition, too
	}{
		{"unknown model, as Ollama says it", cascadetest.Script{Chat: with(404, "application/json", `{"error":{"message":"model \"m\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`)}, turn.WordsModelRefused, true},
		{"unknown model, as OpenAI says it", cascadetest.Script{Chat: with(404, "application/json", `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`)}, turn.WordsModelRefused, true},
		{"unknown voice model, as a bare string", cascadetest.Script{Say: with(400, "application/json", `{"detail":{"error":"invalid_model","message":"Unsupported model: tts-1"}}`)}, turn.WordsModelRefused, true},
		{"wrong key", cascadetest.Script{Key: "another"}, turn.WordsKeyRefused, true},
		{"a web page, chat", cascadetest.Script{Chat: with(200, "text/html", page)}, turn.WordsElsewhere, true},
		{"a web page, speech", cascadetest.Script{Say: with(200, "text/html; charset=utf-8", page)}, turn.WordsElsewhere, true},
		{"a web page, hearing", cascadetest.Script{Hear: with(502, "text/html", page)}, turn.WordsServerError, true},
		{"not JSON, hearing", cascadetest.Script{Hear: with(200, "application/json", `{"text": "hel`)}, turn.WordsServerError, true},
		{"nothing at all, chat", cascadetest.Script{Chat: with(200, "text/event-stream", "\n")}, turn.WordsNoAnswer, true},
		{"a sentence that is no stream, chat", cascadetest.Script{Chat: with(200, "text/plain", "hello there I am not json")}, turn.WordsServerError, true},
		{"an object of nothing, chat", cascadetest.Script{Chat: with(200, "application/json", "{}")}, turn.WordsServerError, true},
		{"a stream of broken JSON, chat", cascadetest.Script{Chat: with(200, "text/event-stream",
			"data: {\"choices\":[{\"delta\":{\"content\":\"Hi there. \n\ndata: [DONE]\n\n")}, turn.WordsServerError, true},
		{"an error in a stream, chat", cascadetest.Script{Chat: with(200, "text/event-stream",
			"data: {\"error\":{\"message\":\"CUDA out of memory\"}}\n\n")}, turn.WordsServerError, true},
		{"a rate that cannot be, in the header", cascadetest.Script{Say: always(cascadetest.Reply{Format: "wav", Claims: 96001})}, turn.WordsServerError, true},
		{"a rate of nothing", cascadetest.Script{Say: always(cascadetest.Reply{Format: "wav", Claims: 1})}, turn.WordsServerError, true},
		{"sound without a header", cascadetest.Script{Say: always(cascadetest.Reply{Format: "pcm"})}, turn.WordsServerError, true},
		{"MP3", cascadetest.Script{Say: with(200, "audio/mpeg", "ID3\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00")}, turn.WordsServerError, true},
		{"empty audio", cascadetest.Script{Say: always(cascadetest.Reply{Format: "pcm", Seconds: -1})}, turn.WordsServerError, true},
		{"a WAV without a sample", cascadetest.Script{Say: always(cascadetest.Reply{Format: "wav", Seconds: -1})}, turn.WordsServerError, true},
		{"speech that does not end", cascadetest.Script{Say: always(cascadetest.Reply{Endless: true})}, turn.WordsServerError, true},
		{"words that do not end", cascadetest.Script{Chat: func(q cascadetest.Request) cascadetest.Reply {
			return cascadetest.Reply{Endless: true}
		}}, turn.WordsCutShort, false},
		{"a stream of nothing", cascadetest.Script{Before: func(w http.ResponseWriter, r *http.Request, stage string) bool {
			for stage == cascadetest.Chat && r.Context().Err() == nil {
				_, _ = io.WriteString(w, ": wait\n\n")
				w.(http.Flusher).Flush()
				select {
				case <-time.After(100 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
			return stage == cascadetest.Chat
		}}, turn.WordsNoAnswer, true},
		{"accepted and never answered, chat", cascadetest.Script{Chat: always(cascadetest.Reply{Hang: true})}, turn.WordsNoAnswer, true},
		{"accepted and never answered, hearing", cascadetest.Script{Hear: always(cascadetest.Reply{Hang: true})}, turn.WordsNoAnswer, true},
		{"accepted and never answered, speech", cascadetest.Script{Say: always(cascadetest.Reply{Hang: true})}, turn.WordsLostMidway, true},
		{"no money", cascadetest.Script{Chat: with(402, "application/json", `{"error":"Insufficient credits"}`)}, turn.WordsNoCredit, true},
		{"too many requests", cascadetest.Script{Chat: with(429, "application/json", `{"error":{"message":"slow down","type":"rate_limit"}}`)}, turn.WordsQuota, true},
		{"forbidden", cascadetest.Script{Chat: with(403, "application/json", `{"error":{"message":"no"}}`)}, turn.WordsDenied, true},
		{"a redirect", cascadetest.Script{Before: func(w http.ResponseWriter, r *http.Request, stage string) bool {
			if stage == cascadetest.Chat {
				http.Redirect(w, r, "http://elsewhere.lan/", http.StatusTemporaryRedirect)
			}
			return stage == cascadetest.Chat
		}}, turn.WordsElsewhere, true},
		{"filtered", cascadetest.Script{Chat: always(cascadetest.Reply{Text: "I cannot", Finish: "content_filter"})}, turn.WordsFiltered, false},
		{"an answer of nothing", cascadetest.Script{Chat: always(cascadetest.Reply{Text: ""})}, turn.WordsNoAnswer, false},
		{"an answer of nothing that can be said", cascadetest.Script{Chat: always(cascadetest.Reply{Text: "😀 **"})}, turn.WordsNoAnswer, false},
		{"nobody spoke", cascadetest.Script{Hear: always(cascadetest.Reply{Text: " [BLANK_AUDIO]"})}, turn.WordsNotHeard, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			good := cascadetest.Script{Models: []string{"m"}}
			in(t, good, nil, func(w *world) {
				bad := row.bad
				bad.Models = good.Models
				w.chain.Be(bad)
				w.press("t-1")
				for range 20 * 60 { // a turn is given up by its coordinator after ten seconds, or asked again
					if _, over := w.told("t-1"); over {
						break
					}
					time.Sleep(50 * time.Millisecond) // virtual
				}
				say, over := w.told("t-1")
				if !over || say != row.want {
					t.Errorf("told %q (%v); want %q\n%s", say, over, row.want, w.story())
				}
				time.Sleep(20 * time.Second) // virtual
				if got := w.lost(); (len(got) > 0) != row.lost {
					t.Errorf("sessions lost: %q; want a condition: %v", got, row.lost)
				}
				w.chain.Be(good)
				time.Sleep(time.Minute) // until it is looked at again
				w.press("t-2")
				w.until(func() bool { say, over := w.answered("t-2"); return over && say == "" })
			})
		})
	}
}

// answered is how a turn's answer ended.
func (w *world) answered(id turn.ID) (say turn.Words, over bool) {
	for _, ev := range w.all() {
		if e, ok := ev.(turn.ResponseDone); ok && e.Turn == id {
			return e.Say, true
		}
	}
	return "", false
}

func (w *world) until(f func() bool) {
	w.t.Helper()
	for range 20 * 120 {
		if f() {
			return
		}
		time.Sleep(50 * time.Millisecond) // virtual
	}
	w.t.Fatalf("not within two minutes; facts:\n%s", w.story())
}

// What a server says of a key is not repeated, and the key goes to its own host alone.
func TestTheKeyStaysWhereItBelongs(t *testing.T) {
	in(t, cascadetest.Script{Models: []string{"m"}, Speak: "/synthesize"}, func(s *voice.Settings, _ *voice.Companion, _ *Config) {
		s.Own = map[string]string{"speak": "piper http://other.lan:5000"}
	}, func(w *world) {
		w.press("t-1")
		w.done(1)
		for _, q := range w.chain.Requests(cascadetest.Chat) {
			if q.Header.Get("Authorization") != "Bearer the-key" {
				t.Errorf("chat: %v", q.Header)
			}
		}
		for _, q := range w.chain.Requests(cascadetest.Say) {
			if q.Header.Get("Authorization") != "" {
				t.Errorf("speech at another host: %v", q.Header)
			}
		}
	})
	err := error(nil)
	in(t, cascadetest.Script{Models: []string{"m"}}, nil, func(w *world) {
		w.chain.Be(cascadetest.Script{Key: "another"})
		_, err = w.c.mind.list(w.t.Context())
	})
	if err == nil || strings.Contains(err.Error(), "the-key") {
		t.Errorf("%v", err)
	}
}

// What is wrong, and what to do about it, is told as it is: nobody is sent to look at the network because a model loads, a program is not
// there, or there is no key.
func TestWhatIsToldNamesTheCause(t *testing.T) {
	keyed := cascadetest.Script{Models: []string{"m"}, Key: "another"}
	bare := func(s *voice.Settings, _ *voice.Companion, _ *Config) { s.Key = func() string { return "" } }
	for _, row := range []struct {
		name    string
		script  cascadetest.Script
		change  func(*voice.Settings, *voice.Companion, *Config)
		later   bool // it is well at first
		say     turn.Words
		why, do string
	}{
		{name: "twenty seconds to the first word", script: cascadetest.Script{Chat: says(cascadetest.Reply{Wait: 20 * time.Second})}, later: true,
			say: turn.WordsNoAnswer, why: "nothing of an answer within 6s", do: "turn.commit_s"},
		{name: "comments for fifteen seconds", script: cascadetest.Script{Chat: says(cascadetest.Reply{Status: 200, Type: "text/event-stream",
			Body: strings.Repeat(": keep-alive\n\n", 100), Over: 15 * time.Second})}, later: true,
			say: turn.WordsNoAnswer, why: "nothing of an answer within 6s", do: "turn.commit_s"},
		{name: "a program that is not there", script: cascadetest.Script{Models: []string{"m"}}, change: own("", "speak", "piper /nowhere/en.onnx"),
			say: turn.WordsServerError, why: "\"piper\" is not installed", do: "install it, or set voice.speak"},
		{name: "speech that nobody can play", script: cascadetest.Script{Models: []string{"m"}, Say: with(200, "audio/aac", "\xff\xf1\x50\x80 and so on")},
			say: turn.WordsServerError, why: "speech: sound as AAC", do: "cannot be used"},
		{name: "no key for the voice", script: keyed, change: bare, say: turn.WordsKeyRefused, why: "wants a key, and there is none", do: "sudo conch key"},
		{name: "a web page, and all is well", script: cascadetest.Script{Models: []string{"m"}, Chat: with(200, "text/html", "<html>hello</html>")},
			say: turn.WordsElsewhere, why: "a web page in place of an answer (status 200)"},
		{name: "a wrong key", script: keyed, say: turn.WordsKeyRefused, why: "status 401"},
		{name: "no key for who hears", script: cascadetest.Script{Models: []string{"m"}, Hear: with(401, "application/json", `{"error":"no"}`)},
			change: own("", "hear", "http://ear.lan:8001"), say: turn.WordsKeyRefused, why: "ear.lan:8001", do: "voice.hear_key_file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			within(t, row.script, row.change, func(w *world) {
				if row.later {
					w.chain.Be(cascadetest.Script{Models: []string{"m"}})
					w.first(turn.SessionReady{})
					w.chain.Be(row.script)
					w.press("t-1")
				}
				e := w.first(turn.SessionLost{}).(turn.SessionLost)
				if e.Say != row.say || !strings.Contains(e.Why, row.why) || !strings.Contains(e.Do, row.do) || row.do == "" && e.Do != "" {
					t.Errorf("%+v; want %q, %q, %q", e, row.say, row.why, row.do)
				}
			})
		})
	}
}

// An answer in which there is nothing to say is told as that, and the log says what came.
func TestAnAnswerOfNothingIsInTheLog(t *testing.T) {
	for _, text := range []string{"", "<think> </think>", "  ", "😀🎉"} {
		var log strings.Builder
		in(t, cascadetest.Script{Models: []string{"m"}, Chat: says(cascadetest.Reply{Text: text})}, func(_ *voice.Settings, c *voice.Companion, _ *Config) {
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		}, func(w *world) {
			w.press("t-1")
			if d := w.done(1); d.Say != turn.WordsNoAnswer {
				t.Errorf("%q: %+v", text, d)
			}
		})
		if !strings.Contains(log.String(), "level=WARN msg=response.failed") || !strings.Contains(log.String(), "nothing to say") {
			t.Errorf("%q: the log has\n%s", text, &log)
		}
	}
}

// A server that is busy is waited for no longer than five seconds, however often it asks for three; one that wants an hour is looked at with
// each press, at most once a second, and answers as soon as it is well.
func TestABusyServerIsWaitedForNoLongerThanIsSaid(t *testing.T) {
	for _, row := range []struct {
		after string
		most  time.Duration
		asked int
	}{
		{"", 5 * time.Second, 6},
		{"3", 5 * time.Second, 2},
		{"3600", time.Second, 1},
	} {
		busy := cascadetest.Script{Models: []string{"m"}, Before: func(w http.ResponseWriter, _ *http.Request, stage string) bool {
			if stage == cascadetest.Chat {
				w.Header().Set("Retry-After", row.after)
				w.WriteHeader(http.StatusTooManyRequests)
			}
			return stage == cascadetest.Chat
		}}
		in(t, cascadetest.Script{Models: []string{"m"}}, nil, func(w *world) {
			w.chain.Be(busy)
			began, n := w.Now(), len(w.chain.Requests(cascadetest.Chat))
			w.press("t-1")
			e := w.first(turn.ResponseRefused{}).(turn.ResponseRefused)
			if took := e.At - began; e.Say != turn.WordsQuota || took > row.most {
				t.Errorf("Retry-After %s: %q after %v; want quota within %v", row.after, e.Say, took, row.most)
			}
			if k := len(w.chain.Requests(cascadetest.Chat)) - n; k != row.asked {
				t.Errorf("Retry-After %s: asked %d times; want %d", row.after, k, row.asked)
			}
			if row.after != "3600" {
				return
			}
			for i := range 100 { // a user hammers on the button for 30 s
				w.c.Do(turn.ClearInput{Turn: turn.ID("t-w" + strings.Repeat("i", i))})
				time.Sleep(300 * time.Millisecond) // virtual
			}
			if k := len(w.chain.Requests(cascadetest.Chat)) - n - row.asked; k < 15 || k > 30 {
				t.Errorf("looked at %d times in 30 s of presses; want one a second", k)
			}
			w.chain.Be(cascadetest.Script{Models: []string{"m"}})
			w.answer("t-2", "Hello there.")
		})
	}
}
