package cascade

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// packing is a way in which servers compress what they say, and the program that does it here, from a WAV to its output.
type packing struct {
	name, kind string
	program    []string
}

var packings = []packing{
	{"mp3", "audio/mpeg", []string{"lame", "--quiet", "-b", "64", "-", "-"}},
	{"mp3 at our rate", "audio/mpeg", []string{"lame", "--quiet", "-b", "48", "--resample", "24", "-", "-"}},
	{"opus", "audio/ogg; codecs=opus", []string{"opusenc", "--quiet", "--bitrate", "32", "-", "-"}},
	{"vorbis", "audio/ogg", []string{"oggenc", "-Q", "-o", "-", "-"}},
	{"flac", "application/octet-stream", []string{"flac", "-s", "-c", "-"}},
}

// spokenPacked is what these servers say: 8 s.
var spokenPacked = cascadetest.Sound(8, 44100)

var (
	packing1 sync.Mutex
	packedBy = map[string][]byte{}
)

// make is the sound so compressed; false: the program is not installed.
func (k packing) make() ([]byte, bool) {
	packing1.Lock()
	defer packing1.Unlock()
	if b, ok := packedBy[k.name]; ok {
		return b, b != nil
	}
	c := exec.Command(k.program[0], k.program[1:]...)
	c.Stdin = bytes.NewReader(kit.WAV(spokenPacked, 44100))
	b, err := c.Output()
	if err != nil {
		b = nil
	}
	packedBy[k.name] = b
	return b, b != nil
}

func (k packing) need(t *testing.T) []byte {
	t.Helper()
	have(t, k.program[0])
	b, ok := k.make()
	if !ok {
		t.Fatalf("%v makes nothing", k.program)
	}
	return b
}

// crossings are how often a sound rises through zero in a second of it.
func crossings(pcm []int16) float64 {
	n := 0
	for i := 1; i < len(pcm); i++ {
		if pcm[i-1] < 0 && pcm[i] >= 0 {
			n++
		}
	}
	return float64(n) * kit.Rate / float64(len(pcm))
}

// A server that compresses what it says, whatever it was asked for, is heard, as long and as high as it spoke; and while it still speaks.
func TestSpeechThatComesCompressed(t *testing.T) {
	for _, k := range packings {
		t.Run(k.name, func(t *testing.T) {
			b := k.need(t)
			in(t, cascadetest.Script{Models: []string{"m"}, Say: says(cascadetest.Reply{Type: k.kind, Body: string(b), Over: 4 * time.Second})}, nil, func(w *world) {
				w.answer("t-1", "Hello there.")
				want := float64(8*kit.Rate - 2*kit.Rate*8/100)
				if got := float64(len(w.pcm)); math.Abs(got-want) > kit.Rate/10 {
					t.Errorf("%.2f s were heard; want %.2f s", got/kit.Rate, want/kit.Rate)
				}
				if hz := crossings(w.pcm[kit.Rate : 6*kit.Rate]); hz < 215 || hz > 225 {
					t.Errorf("%.1f Hz were heard; want 220", hz)
				}
				if first, last := w.span("t-1"); first-w.at0("t-1") > 2*time.Second || last-first < 2*time.Second {
					t.Errorf("heard from %v to %v after the release, of speech that comes for 4 s", first-w.at0("t-1"), last-w.at0("t-1"))
				}
				if n := len(w.chain.Requests(cascadetest.Say)); n != 2 {
					t.Errorf("%d pieces were asked for; want the one of the probe, and the answer", n)
				}
			})
		})
	}
}

// One that refuses samples by name is asked for what it has, samples first; and from then on for that alone.
func TestTheFormatThatAServerHas(t *testing.T) {
	for _, row := range []struct {
		has, refusal string
		want         []string
		of           packing
	}{
		{"mp3", `{"error":{"message":"response_format must be one of: mp3"}}`, []string{"wav", "pcm", "mp3"}, packings[0]},
		{"opus", `{"detail":[{"loc":["body","response_format"],"msg":"Input should be 'opus' or 'aac'"}]}`, []string{"wav", "pcm", "mp3", "opus"}, packings[2]},
	} {
		t.Run(row.has, func(t *testing.T) {
			b := row.of.need(t)
			in(t, cascadetest.Script{Models: []string{"m"}, Say: func(q cascadetest.Request) cascadetest.Reply {
				if q.Body["response_format"] != row.has {
					return cascadetest.Reply{Status: 422, Type: "application/json", Body: row.refusal}
				}
				return cascadetest.Reply{Type: row.of.kind, Body: string(b)}
			}}, nil, func(w *world) {
				w.answer("t-1", "Hello there.")
				w.answer("t-2", "Hello there.")
				var got []string
				for _, q := range w.chain.Requests(cascadetest.Say) {
					f, _ := q.Body["response_format"].(string)
					got = append(got, f)
				}
				if want := append(row.want, row.has, row.has); !slices.Equal(got, want) {
					t.Errorf("asked for %q; want %q", got, want)
				}
			})
		})
	}
}

// What is compressed and broken, or in a way that nothing here can play, is told, and not heard as noise.
func TestCompressedSpeechThatIsBroken(t *testing.T) {
	mp3, flac := packings[0].need(t), packings[4].need(t)
	noise := strings.Repeat("\x55\xaa\x00\x17", 30000)
	for _, row := range []struct {
		name string
		p    cascadetest.Reply
		say  turn.Words
		why  string
	}{
		{"AAC", cascadetest.Reply{Body: "\xff\xf1\x50\x80\x02\x1f\xfc" + noise}, turn.WordsServerError, "sound as AAC"},
		{"AAC in a file", cascadetest.Reply{Body: "\x00\x00\x00\x20ftypM4A \x00\x00" + noise}, turn.WordsServerError, "sound as AAC"},
		{"a head and noise", cascadetest.Reply{Body: string(mp3[:3]) + "\x04\x00\x00\x00\x00\x00\x00" + noise}, turn.WordsServerError, "MP3 that cannot be played"},
		{"a tag and nothing", cascadetest.Reply{Body: "ID3\x04\x00\x00\x00\x00\x00\x00"}, turn.WordsServerError, "MP3"},
		{"FLAC without a frame", cascadetest.Reply{Body: string(flac[:42])}, turn.WordsServerError, "FLAC without sound"},
		{"Ogg with something else", cascadetest.Reply{Body: "OggS\x00\x02" + noise}, turn.WordsServerError, "Ogg"},
		{"cut in the middle", cascadetest.Reply{Body: string(mp3), Cut: 60}, turn.WordsLostMidway, "EOF"},
	} {
		t.Run(row.name, func(t *testing.T) {
			in(t, cascadetest.Script{Models: []string{"m"}}, nil, func(w *world) {
				w.chain.Be(cascadetest.Script{Models: []string{"m"}, Say: says(row.p)})
				w.press("t-1")
				w.until(func() bool { _, over := w.told("t-1"); return over })
				if say, _ := w.told("t-1"); say != row.say {
					t.Errorf("told %q; want %q\n%s", say, row.say, w.story())
				}
				if row.say == turn.WordsServerError && len(w.pcm) > 0 {
					t.Errorf("%d samples were heard", len(w.pcm))
				}
				if err := w.c.mouth.say(w.t.Context(), "Hello there.", english, func([]int16) bool { return true }); err == nil || !strings.Contains(err.Error(), row.why) {
					t.Errorf("%v; want %q", err, row.why)
				}
			})
		})
	}
}

// Speech that does not end is ended, also where a minute of it is few bytes; and what is kept of it meanwhile is bounded.
func TestCompressedSpeechThatDoesNotEnd(t *testing.T) {
	in(t, cascadetest.Script{Models: []string{"m"}}, func(_ *voice.Settings, _ *voice.Companion, cfg *Config) {
		if cfg != nil {
			cfg.Decode = func(io.Reader) (voice.Stream, error) { return forever{}, nil }
		}
	}, func(w *world) {
		w.chain.Be(cascadetest.Script{Models: []string{"m"}, Say: says(cascadetest.Reply{Body: "ID3" + strings.Repeat("\x00", 100)})})
		n := 0
		err := w.c.mouth.say(w.t.Context(), "Hm.", english, func(pcm []int16) bool { n += len(pcm); return true })
		var bad *unusable
		if !errors.As(err, &bad) || n > mostSaid+kit.Rate {
			t.Errorf("%v after %d samples", err, n)
		}
		w.press("t-1")
		w.until(func() bool { _, over := w.told("t-1"); return over })
		if got := len(w.pcm); got > leastSound+2*kit.Rate {
			t.Errorf("%d s were heard of two words", got/kit.Rate)
		}
	})
}

type forever struct{}

var second = cascadetest.Sound(1, kit.Rate)

func (forever) Next() ([]int16, error) { return second, nil }
