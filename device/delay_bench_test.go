package device

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"conch/audio"
	"conch/audio/twin"
	"conch/companions/voice"
	"conch/companions/voice/realtime"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
	"conch/gpio"
	gpiotwin "conch/gpio/twin"
)

// BenchmarkDelay measures what conch itself adds on the way of the sound, on a whole device with the shipped client and a
// WebSocket server on loopback that notes the time of everything:
//
//	up    when an append has arrived: the age of its newest sample, counted from the callback of the card that brought it;
//	      20 ms of framing and the card's own period are apart (they are the same for everybody). The microphone counts its
//	      frames aloud, so that what arrives tells which frame it is, wherever the utterance begins
//	down  from the server's write of a delta to its samples being in the ring of the loudspeaker
//
// The virtual card runs in time with the wall.
func BenchmarkDelay(b *testing.B) {
	spareProcessors()
	for range b.N {
		up, down := measureDelay(b, 4*time.Second, 150)
		b.ReportMetric(quantile(up, .5), "up-p50-ms")
		b.ReportMetric(quantile(up, .99), "up-p99-ms")
		b.ReportMetric(quantile(down, .5), "down-p50-ms")
		b.ReportMetric(quantile(down, .99), "down-p99-ms")
		b.ReportMetric(0, "ns/op")
		b.Logf("microphone frame to WebSocket (%d appends): p50 %.2f p99 %.2f max %.2f ms beyond the frame's own 20 ms; delta to ring (%d deltas): p50 %.3f p99 %.3f max %.3f ms",
			len(up), quantile(up, .5), quantile(up, .99), slices.Max(up), len(down), quantile(down, .5), quantile(down, .99), slices.Max(down))
	}
}

func quantile(v []float64, q float64) float64 {
	s := slices.Clone(v)
	slices.Sort(s)
	return s[min(len(s)-1, int(math.Ceil(q*float64(len(s))))-1)]
}

// stopwatch is the server, and the outlet between client and coordinator.
type stopwatch struct {
	deltas int

	mu      sync.Mutex
	arrived []arrival   // appends, in order
	written []time.Time // deltas, in order
}

type arrival struct {
	at     time.Time
	newest int16 // sample
}

func (s *stopwatch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	c.SetReadLimit(16 << 20)
	send := func(format string, args ...any) {
		_ = c.Write(r.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...))
	}
	send(`{"type":"session.created","event_id":"s","session":{"type":"realtime"}}`)
	for n := 0; ; n++ {
		_, data, err := c.Read(r.Context())
		if err != nil {
			return
		}
		at := time.Now()
		var e struct {
			Type, Audio string
			Response    struct{ Metadata json.RawMessage }
		}
		if json.Unmarshal(data, &e) != nil {
			continue
		}
		switch e.Type {
		case "session.update":
			send(`{"type":"session.updated","event_id":"u%d","session":{"type":"realtime"}}`, n)
		case "input_audio_buffer.append":
			pcm, err := base64.StdEncoding.DecodeString(e.Audio)
			if err != nil || len(pcm) < 2 {
				continue
			}
			s.mu.Lock()
			s.arrived = append(s.arrived, arrival{at, int16(binary.LittleEndian.Uint16(pcm[len(pcm)-2:]))})
			s.mu.Unlock()
		case "input_audio_buffer.commit":
			send(`{"type":"input_audio_buffer.committed","event_id":"c%d","item_id":"item_in"}`, n)
		case "response.create":
			s.answer(r.Context(), c, e.Response.Metadata)
		}
	}
}

// answer sends one answer of pieces of 100 ms, 20 ms apart.
func (s *stopwatch) answer(ctx context.Context, c *websocket.Conn, metadata json.RawMessage) {
	if metadata == nil {
		metadata = json.RawMessage("null")
	}
	response := func(kind, status string) []byte {
		return fmt.Appendf(nil, `{"type":%q,"event_id":"%s","response":{"id":"resp","object":"realtime.response","status":%q,"output":[],"metadata":%s}}`, kind, kind, status, metadata)
	}
	_ = c.Write(ctx, websocket.MessageText, response("response.created", "in_progress"))
	pcm := make([]byte, audio.Rate/10*2)
	for i := range pcm {
		pcm[i] = byte(i)
	}
	sound := base64.StdEncoding.EncodeToString(pcm)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := range s.deltas {
		<-tick.C
		event := fmt.Appendf(nil, `{"type":"response.output_audio.delta","event_id":"d%d","response_id":"resp","item_id":"item_out","output_index":0,"content_index":0,"delta":%q}`, i, sound)
		s.mu.Lock()
		s.written = append(s.written, time.Now())
		s.mu.Unlock()
		_ = c.Write(ctx, websocket.MessageText, event)
	}
	_ = c.Write(ctx, websocket.MessageText, response("response.done", "completed"))
}

// timedCard notes which callback of the capture device brought which frames. What it captures is the count of its frames,
// as far as 16 bits go: a straight line, which every linear filter leaves as it is.
type timedCard struct {
	audio.Card
	now func() time.Duration

	mu    sync.Mutex // the bench's own: a shipped callback locks nothing
	times []time.Duration
	total []int // frames at CardRate, after each callback
}

func (c *timedCard) OpenCapture(conf audio.StreamConfig, take func([]int16)) (audio.Stream, error) {
	return c.Card.OpenCapture(conf, func(in []int16) {
		c.mu.Lock()
		n := 0
		if len(c.total) > 0 {
			n = c.total[len(c.total)-1]
		}
		for i := range in {
			in[i] = int16(n + i)
		}
		c.times, c.total = append(c.times, c.now()), append(c.total, n+len(in))
		c.mu.Unlock()
		take(in)
	})
}

// brought is when the callback came that completed a sample, seen at a time; false where the line begins anew, and rings.
func (c *timedCard) brought(sample int16, seen time.Duration) (time.Duration, bool) {
	const lag = 23 // frames, of audio.Downsampler
	if sample > math.MaxInt16-10*lag || sample < math.MinInt16+10*lag {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, _ := slices.BinarySearch(c.times, seen)
	if i == 0 {
		return 0, false
	}
	captured := c.total[i-1]
	need := captured - int(uint16(captured-int(sample))) + lag + 1 // the latest frame by then that had this number, and what the filter waits for
	i, _ = slices.BinarySearch(c.total, need)
	return c.times[min(i, len(c.times)-1)], true
}

// timedVoice notes when the speech of each delta has been taken by the ring.
type timedVoice struct {
	*realtime.Client
	taken *[]time.Time // by the pump's goroutine; read when the turn has ended
}

func (v timedVoice) Run(ctx context.Context, out voice.Outlet) error {
	return v.Client.Run(ctx, timedOutlet{out, v.taken})
}

type timedOutlet struct {
	voice.Outlet
	taken *[]time.Time
}

func (o timedOutlet) Audio(ctx context.Context, id turn.ID, pcm []int16) int {
	n := o.Outlet.Audio(ctx, id, pcm)
	*o.taken = append(*o.taken, time.Now())
	return n
}

// measureDelay holds the button for a while, and hears an answer of that many deltas.
func measureDelay(b *testing.B, hold time.Duration, deltas int) (up, down []float64) {
	watch := &stopwatch{deltas: deltas}
	server := httptest.NewServer(watch)
	defer server.Close()
	dialect, err := realtime.DialectByName("ga")
	if err != nil {
		b.Fatal(err)
	}
	client, err := realtime.New(realtime.Config{URL: "ws" + strings.TrimPrefix(server.URL, "http"), Dialect: dialect, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	var taken []time.Time
	card := twin.NewCard(twin.WallClock())
	start := time.Now().Add(-card.Clock().Now())
	hand := gpiotwin.NewButton(gpio.ButtonOptions{Clock: card.Clock().Now})
	cfg := config.Default()
	cfg.Audio.Preroll = 0 // what was captured before the edge is older
	ended := make(chan control.Turn, 1)
	captures := &timedCard{Card: card, now: card.Clock().Now}
	d, err := New(cfg, Options{Log: slog.New(slog.DiscardHandler), Card: captures, Now: card.Clock().Now, Buttons: []gpio.Events{hand},
		Voice: timedVoice{client, &taken}, AnySound: true, OnTurn: func(t control.Turn) { ended <- t }})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { _ = card.Run(ctx, 1) })
	parts.Go(func() {
		if err := d.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	defer parts.Wait()
	defer cancel()
	if err := d.WaitReady(ctx, 10*time.Second); err != nil {
		b.Fatal(err)
	}
	hand.Press()
	_ = wait.For(ctx, hold)
	hand.Release()
	select {
	case t := <-ended:
		if t.Reason != "done" {
			b.Fatalf("the turn ended %s %s", t.Reason, t.Words)
		}
	case <-time.After(time.Minute):
		b.Fatal("the turn did not end")
	}
	watch.mu.Lock()
	defer watch.mu.Unlock()
	for _, a := range watch.arrived {
		seen := a.at.Sub(start)
		if brought, ok := captures.brought(a.newest, seen); ok {
			up = append(up, ms(seen-brought))
		}
	}
	for i, w := range watch.written[:min(len(watch.written), len(taken))] {
		down = append(down, ms(taken[i].Sub(w)))
	}
	if len(up) == 0 || len(down) == 0 {
		b.Fatalf("measured nothing: %d appends, %d deltas", len(up), len(down))
	}
	return up, down
}
