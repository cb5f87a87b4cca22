package realtime

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"testing"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

func deltaMessage(n int) []byte {
	return []byte(`{"type":"response.output_audio.delta","event_id":"event_123","response_id":"resp_1","item_id":"item_1","output_index":0,"content_index":0,"delta":"` + b64(n) + `"}`)
}

// fastReading are messages on which the two readings could differ.
var fastReading = []string{
	string(deltaMessage(4)),
	`{"type":"response.audio.delta","delta":"AAAA","response_id":"r"}`,
	` { "delta" : "AAAA" , "type" : "response.output_audio.delta" } ` + "\n",
	`{"type":"response.output_audio.delta","delta":"AA\/AA=="}`,
	`{"type":"response.output_audio.delta","delta":"AAAA","delta":"BBBB"}`,
	`{"type":"response.output_audio.delta","delta":"AAAA","x":{"type":"y"}}`,
	`{"type":"response.output_audio.delta","delta":"AAAA","output_index":1.5}`,
	`{"type":"response.output_audio.delta","delta":"AAAA","output_index":01}`,
	`{"type":"response.output_audio.delta","delta":null}`,
	`{"type":"response.output_audio.delta","delta":"AAAA",}`,
	`{"type":"response.output_audio.delta","delta":"AAAA"}}`,
	`{"type":"response.output_audio.delta","delta":"AAAA"`,
	`{"type":"response.output_audio.delta","delta":"é"}`,
	`{"type":"response.done","delta":"AAAA"}`,
	`{"type":"response.output_audio.delta","type":"response.done"}`,
	`{"delta":"AAAA"}`, `{}`, `{"`, `{"type"`, `{"type":`, ``, `[]`, `{"type":"error","error":"words"}`, `{"type":"from.the.future","delta":7}`,
}

// agree checks the fast reading of a delta against encoding/json's, and that decode survives.
func agree(t *testing.T, msg []byte) {
	var ev inbound
	kept := bytes.Clone(msg)
	audio, err := decode(msg, &ev)
	if !bytes.Equal(msg, kept) {
		t.Fatalf("decode changed the message %q", kept)
	}
	if (err == nil) && ev.Type == "" && known[ev.Type] {
		t.Fatalf("no type in %q", msg)
	}
	h, ok := scanDelta(msg)
	if !ok {
		return
	}
	var slow map[string]any
	if err := json.Unmarshal(msg, &slow); err != nil {
		t.Fatalf("the fast reading takes %q, which is not JSON: %v", msg, err)
	}
	for field, got := range map[string][]byte{"event_id": h.event, "response_id": h.response, "item_id": h.item, "delta": h.delta} {
		if want, _ := slow[field].(string); want != string(got) {
			t.Fatalf("%s of %q: the fast reading says %q, encoding/json %q", field, msg, got, want)
		}
	}
	if ev.Type != "response.output_audio.delta" || !bytes.Equal(audio, h.delta) {
		t.Fatalf("decode(%q) = %+v, %q", msg, ev, audio)
	}
}

func TestScanAgrees(t *testing.T) {
	fast := 0
	for _, s := range fastReading {
		agree(t, []byte(s))
		if _, ok := scanDelta([]byte(s)); ok {
			fast++
		}
	}
	if fast != 4 {
		t.Errorf("%d of the examples were read the fast way; want 4", fast)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range fastReading {
		f.Add([]byte(s))
	}
	for _, d := range []string{"ga"} {
		for _, r := range session(f, d) {
			for _, b := range r.Send {
				if len(b) < 2000 {
					f.Add([]byte(b))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, msg []byte) { agree(t, msg) })
}

// FuzzReceive gives the conversation whatever a server may say, in any order, in the middle of a turn.
func FuzzReceive(f *testing.F) {
	for _, d := range []string{"ga"} {
		for _, r := range session(f, d) {
			for _, b := range r.Send { // one at a time: large seeds are minimised for minutes
				if len(b) < 1000 {
					f.Add([]byte(b))
				}
			}
		}
	}
	for _, s := range fastReading {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		r, stop := bareRun(t)
		defer stop()
		r.asked.creates = []create{{turn: "t-1"}, {turn: "t-2"}}
		r.asked.commits = []turn.ID{"t-1", "t-2"}
		r.responseCreated(&wireResponse{ID: "resp_1", Metadata: map[string]any{"turn": "t-1"}})
		for i, b := range bytes.Split(lines, []byte{'\n'}) {
			if i > 200 {
				break
			}
			var m message
			m.audio, m.err = decode(b, &m.ev)
			m.buf = bytes.Clone(b)
			r.receive(m)
		}
		if len(r.responses) > maxResponses || len(r.items.of) > maxItems || len(r.items.calls) > maxItems || len(r.history.Entries) > kit.MaxHistory {
			t.Fatalf("%d responses, %d items, %d calls, %d words kept", len(r.responses), len(r.items.of), len(r.items.calls), len(r.history.Entries))
		}
	})
}

func TestAppendFrame(t *testing.T) {
	pcm := []int16{0, 1, -1, 32767, -32768}
	frame, raw := appendFrame(nil, nil, pcm)
	var ev struct{ Type, Audio string }
	if err := json.Unmarshal(frame, &ev); err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(ev.Audio)
	if err != nil || ev.Type != "input_audio_buffer.append" || !bytes.Equal(b, []byte{0, 0, 1, 0, 255, 255, 255, 127, 0, 128}) {
		t.Errorf("%s: %v, %v", frame, b, err)
	}
	long := make([]int16, 960)
	frame, raw = appendFrame(frame, raw, long)
	if n := testing.AllocsPerRun(100, func() { frame, raw = appendFrame(frame, raw, long) }); n != 0 {
		t.Errorf("%v allocations per append; want 0", n)
	}
}

func TestPumpJoinsHalvesOfASample(t *testing.T) {
	p := kit.NewPump(t.Context(), "t", "r", 100)
	all := []byte{1, 0, 2, 0, 3, 0, 4, 0}
	for _, cut := range [][2]int{{0, 1}, {1, 2}, {2, 5}, {5, 5}, {5, 8}} {
		if _, ok, room := p.Base64("i", []byte(base64.StdEncoding.EncodeToString(all[cut[0]:cut[1]]))); !ok || !room {
			t.Fatal(cut)
		}
	}
	pcm, item, _ := p.Take(make([]int16, 0, 10))
	if item != "i" || len(pcm) != 4 || pcm[0] != 1 || pcm[1] != 2 || pcm[2] != 3 || pcm[3] != 4 {
		t.Errorf("%v of %s", pcm, item)
	}
	if _, ok, _ := p.Base64("i", []byte("AAA")); ok {
		t.Error("half a base64 group is taken")
	}
}

func TestPumpKeepsItemsApart(t *testing.T) {
	p := kit.NewPump(t.Context(), "t", "r", 1000)
	p.Base64("a", []byte(b64(5)))
	p.Base64("b", []byte(b64(3)))
	p.Base64("b", []byte(b64(2)))
	for _, want := range []struct {
		item turn.ItemID
		n    int
	}{{"a", 4}, {"a", 1}, {"b", 4}, {"b", 1}} {
		if pcm, item, _ := p.Take(make([]int16, 0, 4)); item != want.item || len(pcm) != want.n {
			t.Errorf("%d samples of %s; want %d of %s", len(pcm), item, want.n, want.item)
		}
	}
}

// The speech band passes unchanged, what cannot be told apart at 16 kHz is gone, and pieces join without a seam.
func TestDown(t *testing.T) {
	level := func(hz float64, piece int) float64 {
		d := newDownsampler()
		var out []int16
		for at := 0; at < rate; at += piece {
			in := make([]int16, piece)
			for i := range in {
				in[i] = int16(10000 * math.Sin(2*math.Pi*hz*float64(at+i)/rate))
			}
			out = append(out, d.process(in)...)
		}
		if len(out) != 16000 {
			t.Errorf("%d samples of a second; want 16000", len(out))
		}
		var sum float64
		for _, s := range out[1600:] {
			sum += float64(s) * float64(s)
		}
		return 20 * math.Log10(math.Sqrt(sum/float64(len(out)-1600))/(10000/math.Sqrt2)+1e-9)
	}
	for _, piece := range []int{480, 960, 125, 1} {
		if piece == 125 || rate%piece == 0 {
			for _, hz := range []float64{100, 1000, 3000, 5000} {
				if l := level(hz, piece); math.Abs(l) > 0.3 {
					t.Errorf("%v Hz in pieces of %d: %.2f dB; want 0 +- 0.3", hz, piece, l)
				}
			}
			for _, hz := range []float64{9500, 11000} {
				if l := level(hz, piece); l > -45 {
					t.Errorf("%v Hz in pieces of %d: %.1f dB; want below -45", hz, piece, l)
				}
			}
		}
	}
}

func BenchmarkAppendEncode(b *testing.B) {
	pcm := make([]int16, 480) // 20 ms
	var frame, raw []byte
	b.ReportAllocs()
	for b.Loop() {
		frame, raw = appendFrame(frame, raw, pcm)
	}
}

func BenchmarkDeltaDecode(b *testing.B) {
	msg := deltaMessage(2400) // 100 ms
	p := kit.NewPump(b.Context(), "t", "r", 1<<20)
	out := make([]int16, 0, 2400)
	var ev inbound
	b.ReportAllocs()
	b.SetBytes(int64(len(msg)))
	for b.Loop() {
		audio, err := decode(msg, &ev)
		if err != nil {
			b.Fatal(err)
		}
		p.Base64("i", audio)
		if pcm, _, _ := p.Take(out); len(pcm) != 2400 {
			b.Fatal(len(pcm))
		}
	}
}

// BenchmarkDeltaDecodeJSON is the same through encoding/json, for the ratio.
func BenchmarkDeltaDecodeJSON(b *testing.B) {
	msg := deltaMessage(2400)
	p := kit.NewPump(b.Context(), "t", "r", 1<<20)
	out := make([]int16, 0, 2400)
	b.ReportAllocs()
	b.SetBytes(int64(len(msg)))
	for b.Loop() {
		var ev inbound
		if err := json.Unmarshal(msg, &ev); err != nil {
			b.Fatal(err)
		}
		p.Base64("i", []byte(ev.Delta))
		p.Take(out)
	}
}
