package realtime

import (
	"encoding/json"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"testing"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// reported is an answer whose usage is what a server writes.
func (p *peer) reported(resp, usage string) {
	r := response_(resp, "completed", nil)
	r["usage"] = json.RawMessage(usage)
	p.send(map[string]any{"type": "response.done", "response": r})
}

// Whatever a server writes of tokens, the answer ends and is counted as far as that makes sense. The rest is estimated: a second of sound,
// and a question of 0.2 s.
func TestWhatServersReport(t *testing.T) {
	for name, row := range map[string]struct {
		usage string
		want  voice.Counts // its tokens
	}{
		"as OpenAI does": {`{"total_tokens":253,"input_tokens":132,"output_tokens":121,
			"input_token_details":{"text_tokens":119,"audio_tokens":13,"image_tokens":0,"cached_tokens":64,
				"cached_tokens_details":{"text_tokens":60,"audio_tokens":4}},
			"output_token_details":{"text_tokens":30,"audio_tokens":91}}`,
			voice.Counts{TextIn: 119, TextCached: 60, TextOut: 30, AudioIn: 13, AudioCached: 4, AudioOut: 91}},
		"as text and with fractions": {`{"input_token_details":{"text_tokens":"119","audio_tokens":13.0,"cached_tokens_details":{"text_tokens":60.0}},
			"output_token_details":{"text_tokens":"30.0","audio_tokens":null}}`, voice.Counts{TextIn: 119, TextCached: 60, TextOut: 30, AudioIn: 13}},
		"sums alone": {`{"input_tokens":132,"output_tokens":121}`, voice.Counts{TextIn: 132, TextOut: 121}},
		"details are null": {`{"input_tokens":132,"output_tokens":121,"input_token_details":null,"output_token_details":[]}`,
			voice.Counts{TextIn: 132, TextOut: 121}},
		"cached is a sum": {`{"input_token_details":{"text_tokens":100,"audio_tokens":20,"cached_tokens":110}}`,
			voice.Counts{TextIn: 100, TextCached: 100, AudioIn: 20, AudioCached: 10, AudioOut: 20, Estimated: 1}},
		"more is cached than sent": {`{"input_token_details":{"text_tokens":10,"audio_tokens":20,"cached_tokens":900,
			"cached_tokens_details":{"text_tokens":300,"audio_tokens":600}}}`,
			voice.Counts{TextIn: 10, TextCached: 10, AudioIn: 20, AudioCached: 20, AudioOut: 20, Estimated: 1}},
		"thought as well": {`{"output_tokens":150,"output_token_details":{"text_tokens":30,"audio_tokens":91}}`,
			voice.Counts{TextIn: 3, TextOut: 59, AudioIn: 2, AudioOut: 91, Estimated: 1}},
		"negative": {`{"input_tokens":-7,"output_tokens":-9223372036854775808,"input_token_details":{"text_tokens":-119,"audio_tokens":13}}`,
			voice.Counts{AudioIn: 13, AudioOut: 20, Estimated: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, nil, func(w *world) {
				w.ask2("t-1")
				p := w.peer(0)
				p.created("r-1", "t-1")
				p.delta("r-1", "i-1", 24000)
				p.reported("r-1", row.usage)
				w.took()
				got := w.c.Usage().Today
				if got.Responses != 1 {
					t.Errorf("%d answers", got.Responses)
				}
				got.Responses, got.HeardSeconds, got.SaidSeconds = 0, 0, 0
				if got != row.want {
					t.Errorf("%+v; want %+v", got, row.want)
				}
			})
		})
	}
}

// The end of an answer that a server announces again is no second answer.
func TestAnAnswerIsCountedOnce(t *testing.T) {
	in(t, nil, func(w *world) {
		p := w.peer(0)
		w.ask2("t-1")
		p.created("r-1", "t-1")
		p.delta("r-1", "i-1", 24000)
		for range 3 {
			p.doneResponse("r-1", "completed")
		}
		p.doneResponse("of another client", "completed") // it costs money as well
		p.doneResponse("of another client", "completed")
		w.took()
		if u := w.c.Usage().Today; u.Tokens() != 60 || u.Responses != 2 {
			t.Errorf("%d tokens of %d answers; want 60 of 2", u.Tokens(), u.Responses)
		}
		w.ask2("t-2")
		p.created("r-1", "t-2") // some servers use an id again
		p.delta("r-1", "i-2", 24000)
		p.doneResponse("r-1", "completed")
		w.took()
		if u := w.c.Usage().Today; u.Tokens() != 90 {
			t.Errorf("%d tokens; want 90", u.Tokens())
		}
	})
}

// A transcript is paid by its seconds or by its tokens, as the server reports.
func TestWhatATranscriptReports(t *testing.T) {
	for usage, want := range map[string]voice.Counts{
		`{"type":"duration","seconds":30}`:                        {Cost: 3, HearCost: 3},
		`{"type":"duration","seconds":"30.0"}`:                    {Cost: 3, HearCost: 3},
		`{"seconds":30}`:                                          {Cost: 3, HearCost: 3},
		`{"type":"duration","seconds":-30}`:                       {},
		`{"type":"duration","seconds":null}`:                      {},
		`{"type":"duration","seconds":1e999}`:                     {Cost: 1e15, HearCost: 1e15},
		`{"type":"tokens","input_tokens":20,"output_tokens":"7"}`: {TextIn: 20, TextOut: 7, Cost: 34, HearCost: 34},
		`"none"`: {},
		`null`:   {},
	} {
		prices := voice.Prices{TranscriptionMinute: 6, TextIn: 1e6, TextOut: 2e6}
		client, err := New(Config{URL: "ws://127.0.0.1/", EarPrices: prices, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		var ev inbound
		event := `{"type":"conversation.item.input_audio_transcription.completed","item_id":"i","usage":` + usage + `,"transcript":"Hello."}`
		if _, err := decode([]byte(event), &ev); err != nil || ev.Transcript != "Hello." {
			t.Errorf("%s: the transcript is lost: %q, %v", usage, ev.Transcript, err)
			continue
		}
		if ev.Usage != nil {
			client.transcribed("t-1", ev.Usage)
		}
		if got := client.Usage().Today; got != want {
			t.Errorf("%s: %+v; want %+v", usage, got, want)
		}
	}
}

// A server that counts nothing is no way around a ceiling: seconds of sound and letters stand for tokens.
func TestTokensThatNoServerCounts(t *testing.T) {
	for name, usage := range map[string]string{
		"nothing": `null`, "zero": `{"total_tokens":0,"input_tokens":0,"output_tokens":0}`,
		"none": `"none"`, "negative": `{"input_tokens":-1,"output_tokens":-1}`,
	} {
		t.Run(name, func(t *testing.T) {
			var told []bool
			in(t, func(c *Config) {
				c.Ceiling, c.Prices = kit.Ceiling{Tokens: 40}, voice.Prices{AudioIn: 1e6, AudioOut: 1e6}
				c.Instructions = "You are Ada." // three tokens
				c.Guessed = func(estimated bool) { told = append(told, estimated) }
			}, func(w *world) {
				p := w.peer(0)
				for _, id := range []string{"1", "2"} {
					w.ask2(turn.ID("t-" + id))
					p.created("r-"+id, "t-"+id)
					p.delta("r-"+id, "i-"+id, 24000) // a second
					p.reported("r-"+id, usage)
					w.took()
				}
				u := w.c.Usage()
				if got := u.Today; got.AudioIn != 4 || got.AudioOut != 40 || got.TextIn != 6 || got.Estimated != 2 || got.Cost != 44 || u.Refusing == "" {
					t.Errorf("%+v, refusing %q", got, u.Refusing)
				}
				if !slices.Equal(told, []bool{true}) {
					t.Errorf("announced: %v; want it once", told)
				}
				if err := w.c.ResetUsage(); err != nil {
					t.Error(err)
				}
				w.ask2("t-3")
				p.created("r-3", "t-3")
				p.delta("r-3", "i-3", 24000)
				p.doneResponse("r-3", "completed") // it counts after all
				w.took()
				if got := w.c.Usage().Today; got.Estimated != 0 || got.Tokens() != 30 || !slices.Equal(told, []bool{true, false}) {
					t.Errorf("%+v, announced: %v", got, told)
				}
			})
		})
	}
}

// An answer of which nothing came costs nothing that anybody could estimate.
func TestAnAnswerThatSaidNothingIsNotEstimated(t *testing.T) {
	in(t, nil, func(w *world) {
		w.ask2("t-1")
		w.peer(0).created("r-1", "t-1")
		w.peer(0).reported("r-1", `null`)
		w.took()
		if got := w.c.Usage().Today; got.Tokens() != 0 || got.Estimated != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// Where a server does not say how long it has heard, all that was sent was written down; a transcript that comes twice is paid once.
func TestATranscriptWithoutUsage(t *testing.T) {
	in(t, func(c *Config) { c.EarPrices = voice.Prices{TranscriptionMinute: 60} }, func(w *world) {
		w.ask2("t-1")
		p := w.peer(0)
		item := string(regexp.MustCompile(`item_u[0-9_]+`).Find(slices.Concat(p.sent...)))
		for range 2 {
			p.send(map[string]any{"type": "conversation.item.input_audio_transcription.completed", "item_id": item, "transcript": "Hello."})
		}
		w.took()
		if got := w.c.Usage().Today; math.Abs(got.HearCost-0.2) > 1e-9 || got.Cost != got.HearCost {
			t.Errorf("%s: %+v", item, got)
		}
	})
}
