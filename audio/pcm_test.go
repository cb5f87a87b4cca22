package audio

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimeAndSamples(t *testing.T) {
	for d, want := range map[time.Duration]int{0: 0, -time.Second: 0, time.Second: 24000, 20 * time.Millisecond: 480,
		41666 * time.Nanosecond: 0, 41667 * time.Nanosecond: 1, 20 * time.Hour: 1_728_000_000} {
		if n := Samples(d); n != want {
			t.Errorf("Samples(%v) = %d; want %d", d, n, want)
		}
	}
	if d := CardDuration(48000 * 3600); d != time.Hour {
		t.Errorf("CardDuration of an hour's frames = %v", d)
	}
}

func TestMixAndGainSaturate(t *testing.T) {
	a := []int16{30000, -30000, 5}
	Mix(a, []int16{10000, -10000, -7, 9})
	if a[0] != 32767 || a[1] != -32768 || a[2] != -2 {
		t.Errorf("Mix = %v", a)
	}
	Scale(a, 2)
	if a[0] != 32767 || a[1] != -32768 || a[2] != -4 {
		t.Errorf("Scale = %v", a)
	}
	if Gain(-5) != 0 || Gain(0) != 0 || Gain(100) != 1 || Gain(500) != 1 || Gain(50) != 0.125 {
		t.Error("Gain: 0 is silence, 100 is as it is, 50 an eighth")
	}
	for p := range 100 {
		if Gain(p) >= Gain(p+1) {
			t.Errorf("Gain(%d) = %v is not below Gain(%d)", p, Gain(p), p+1)
		}
	}
}

func sine(n, rate int, hz float64) []int16 {
	pcm := make([]int16, n)
	for i := range pcm {
		pcm[i] = int16(math.Round(16000 * math.Sin(2*math.Pi*hz*float64(i)/float64(rate))))
	}
	return pcm
}

// db is how loud the tone of hz is in pcm, against a sine of 16000; the ends are left out.
func db(pcm []int16, rate int, hz float64) float64 {
	pcm = pcm[len(pcm)/4 : len(pcm)*3/4]
	var re, im float64
	for i, s := range pcm {
		w := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(len(pcm)))
		x := 2 * math.Pi * hz * float64(i) / float64(rate)
		re += w * float64(s) * math.Cos(x)
		im += w * float64(s) * math.Sin(x)
	}
	return 20 * math.Log10(math.Hypot(re, im)*4/float64(len(pcm))/16000+1e-9)
}

func TestHalfbandPassesAndStops(t *testing.T) {
	for _, hz := range []float64{100, 1000, 3000, 5000, 7000, 9000, 9500} {
		up := Upsample(sine(24000, Rate, hz))
		if l := db(up, CardRate, hz); math.Abs(l) > 0.05 {
			t.Errorf("24 to 48 kHz: %v Hz comes out at %.2f dB; want 0", hz, l)
		}
		if l := db(up, CardRate, Rate-hz); l > -70 {
			t.Errorf("24 to 48 kHz: the image of %v Hz is at %.0f dB; want below -70", hz, l)
		}
		if l := db(Downsample(sine(48000, CardRate, hz)), Rate, hz); math.Abs(l) > 0.05 {
			t.Errorf("48 to 24 kHz: %v Hz comes out at %.2f dB; want 0", hz, l)
		}
	}
	for _, hz := range []float64{14500, 15000, 17000, 20000, 23000} {
		if l := db(Downsample(sine(48000, CardRate, hz)), Rate, Rate-hz); l > -70 {
			t.Errorf("48 to 24 kHz: the alias of %v Hz is at %.0f dB; want below -70", hz, l)
		}
	}
}

func TestUpAndDownIsTheSame(t *testing.T) {
	in := sine(4800, Rate, 440)
	out := Downsample(Upsample(in))
	if len(out) != len(in) {
		t.Fatalf("%d samples became %d", len(in), len(out))
	}
	if l := db(out, Rate, 440); math.Abs(l) > 0.05 {
		t.Errorf("level %.2f dB", l)
	}
	for i := range in { // one copy of the input stands in the odd frames
		if up := Upsample(in); up[2*i] != in[i] {
			t.Fatalf("frame %d is %d; want the sample itself, %d", 2*i, up[2*i], in[i])
		}
	}
}

// A clip of eight seconds is twice as long in memory for a moment, not ten times: an appliance says one when it starts.
func TestResamplingAllocatesLittle(t *testing.T) {
	pcm := make([]int16, 8*16000)
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Resample(pcm, 16000, Rate); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if most := int64(2 * 2 * 8 * Rate); got > most {
		t.Errorf("resampling 8 s allocates %d bytes; want %d at most", got, most)
	}
}

func TestResampleForSpeech(t *testing.T) {
	for _, from := range Rates {
		for _, hz := range []float64{200, 1000, 3000} {
			in := sine(from, from, hz)
			out, err := Resample(in, from, Rate)
			if err != nil || len(out) != Rate {
				t.Fatalf("%d Hz: a second became %d samples, %v", from, len(out), err)
			}
			if l := db(out, Rate, hz); math.Abs(l) > 0.2 {
				t.Errorf("%d to 24000: %v Hz comes out at %.2f dB", from, hz, l)
			}
			if from < Rate { // the first image lies below 12 kHz
				if l := db(out, Rate, float64(from)-hz); float64(from)-hz < 12000 && l > -55 {
					t.Errorf("%d to 24000: the image of %v Hz is at %.0f dB; want below -55", from, hz, l)
				}
			}
		}
		if from > 30000 {
			out, _ := Resample(sine(from, from, 14500), from, Rate)
			if l := db(out, Rate, 9500); l > -55 {
				t.Errorf("%d to 24000: the alias of 14500 Hz is at %.0f dB; want below -55", from, l)
			}
		}
	}
	if _, err := Resample(nil, 44101, Rate); err == nil {
		t.Error("a rate of 44101 is taken")
	}
}

func TestPiecesSoundLikeTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.Int16(), 0, mixChunk).Draw(t, "pcm")
		floats := make([]float32, len(in))
		for i, s := range in {
			floats[i] = float32(s)
		}
		var up, upPieces up2
		var down, downPieces Downsampler
		a, x := make([]float32, 2*len(in)), make([]float32, 2*len(in))
		up.process(a, floats)
		b := down.Append(nil, in)
		var y []int16
		for at := 0; at < len(in); {
			n := rapid.IntRange(1, len(in)-at).Draw(t, "n")
			upPieces.process(x[2*at:], floats[at:at+n])
			y = downPieces.Append(y, in[at:at+n])
			at += n
		}
		if !slices.Equal(a, x) || !slices.Equal(b, y) {
			t.Fatalf("up %v whole, %v in pieces; down %v whole, %v in pieces", a, x, b, y)
		}
	})
}

// The ring against a slice.
func TestRingIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRingOf(rapid.IntRange(1, 64).Draw(t, "size"), rapid.UintRange(0, 6).Draw(t, "shift"))
		limit := rapid.IntRange(1, 64).Draw(t, "limit")
		var model []int16
		next, read := int16(0), uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				p := make([]int16, rapid.IntRange(0, 80).Draw(t, "n"))
				for i := range p {
					p[i] = next + int16(i)
				}
				n := r.write(p, limit)
				if want := min(len(p), min(limit, r.size())-len(model)); n != max(0, want) {
					t.Fatalf("wrote %d; want %d", n, want)
				}
				model = append(model, p[:n]...)
				next += int16(n)
			},
			"read": func(t *rapid.T) {
				if len(model) == 0 {
					return
				}
				seg := r.at(read, rapid.IntRange(1, len(model)).Draw(t, "n"))
				for i, x := range seg {
					if x != model[i] {
						t.Fatalf("read %d; want %d", x, model[i])
					}
				}
				model = model[len(seg):]
				read += uint64(len(seg))
				r.release(read)
			},
			"": func(t *rapid.T) {
				if r.queued() != len(model) || r.written()-r.released() != uint64(len(model)) {
					t.Fatalf("%d queued; want %d", r.queued(), len(model))
				}
			},
		})
	})
}

func TestRingBetweenTwoGoroutines(t *testing.T) {
	r := newRingOf(1024, 7)
	const total = 300_000
	go func() {
		p := make([]int16, 480)
		for sent := 0; sent < total; {
			for i := range p {
				p[i] = int16(sent + i)
			}
			sent += r.write(p[:min(len(p), total-sent)], 1000)
		}
	}()
	for read := uint64(0); read < total; {
		w := r.written()
		for read < w {
			seg := r.at(read, int(w-read))
			for i, x := range seg {
				if x != int16(read+uint64(i)) {
					t.Fatalf("sample %d is %d", read+uint64(i), x)
				}
			}
			read += uint64(len(seg))
		}
		r.release(read)
	}
}

// A minute of room costs memory only as far as somebody writes, and not for ever.
func TestRingTakesWhatIsWritten(t *testing.T) {
	held := func(r *ring) (n int) {
		for _, b := range r.blocks {
			n += len(b)
		}
		return n
	}
	r := newRing(Samples(SpeechBuffer))
	if held(r) != 0 {
		t.Errorf("a new ring holds %d samples of memory; want none", held(r))
	}
	second := make([]int16, Rate)
	r.write(second, r.size())
	if n := held(r); n < Rate || n > 2*Rate {
		t.Errorf("with a second in it, it holds memory for %d samples; want %d to %d", n, Rate, 2*Rate)
	}
	for r.write(second, r.size()) > 0 {
	}
	if held(r) != r.size() {
		t.Errorf("full, it holds memory for %d samples; want %d", held(r), r.size())
	}
	r.reset()
	if n := held(r); n > 12*Rate {
		t.Errorf("used and given back, it holds memory for %d samples; want 12 s at most", n)
	}
	mic := newWholeRing(CardFrames(micBuffer))
	frames := make([]int16, 480)
	if n := testing.AllocsPerRun(1000, func() { mic.write(frames, mic.size()); mic.release(mic.written()) }); n != 0 {
		t.Errorf("the audio thread allocates %v times a write; want never", n)
	}
}

func BenchmarkRing(b *testing.B) {
	r, p := newWholeRing(4096), make([]int16, 480)
	b.ReportAllocs()
	for b.Loop() {
		r.write(p, 4096)
		copy(p, r.at(r.released(), 480))
		r.release(r.written())
	}
}
