package join

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"conch/audio"
	clips "conch/audio/words"
	"conch/device/language"
)

// heldFor is how long a button is held for a gesture, with the pre-roll.
const heldFor = 5250 * time.Millisecond

// kitchen is a noise of heldFor, at about full scale; its root mean square is set by at.
var kitchens = map[string]func(r *rand.Rand, x []float64){
	"white": func(r *rand.Rand, x []float64) {
		for i := range x {
			x[i] = r.NormFloat64()
		}
	},
	"rumble": func(r *rand.Rand, x []float64) { // traffic, a fan: brown
		y := 0.0
		for i := range x {
			y = 0.995*y + r.NormFloat64()
			x[i] = y
		}
	},
	"water": func(r *rand.Rand, x []float64) { // a tap that is turned on and off, and splashes
		y, open := 0.0, 0.2
		for i := range x {
			if r.IntN(24000) == 0 {
				open = 0.2 + r.Float64()
			}
			y = 0.5*y + r.NormFloat64()*open*(1+0.5*math.Sin(float64(i)/3000))
			x[i] = y
		}
	},
	"kettle": func(r *rand.Rand, x []float64) { // 20 dB in the time
		y := 0.0
		for i := range x {
			y = 0.8*y + r.NormFloat64()*math.Pow(10, float64(i)/float64(len(x)))
			x[i] = y
		}
	},
	"hum": func(r *rand.Rand, x []float64) { // a refrigerator
		for i := range x {
			s := float64(i) / audio.Rate
			for h, g := range []float64{1, 0.7, 0.4, 0.3, 0.2, 0.1} {
				x[i] += g * math.Sin(2*math.Pi*50*float64(h+1)*s+float64(h))
			}
			x[i] += 0.2 * r.NormFloat64()
		}
	},
	"clatter": func(r *rand.Rand, x []float64) { // pans and plates: a few modes each, that ring for 30 to 200 ms
		for i := range x {
			x[i] = 0.02 * r.NormFloat64()
		}
		for range 10 {
			at := r.IntN(len(x))
			for range 6 {
				hz, ring, gain := 300+4000*r.Float64(), 0.01+0.06*r.Float64(), r.Float64()
				for i := at; i < len(x) && i < at+audio.Rate/2; i++ {
					s := float64(i-at) / audio.Rate
					x[i] += gain * math.Exp(-s/ring) * math.Sin(2*math.Pi*hz*s)
				}
			}
		}
	},
	"steps": func(r *rand.Rand, x []float64) { // and doors: thuds
		for i := range x {
			x[i] = 0.02 * r.NormFloat64()
		}
		for range 8 {
			at := r.IntN(len(x))
			hz := 50 + 80*r.Float64()
			for i := at; i < len(x) && i < at+audio.Rate/4; i++ {
				s := float64(i-at) / audio.Rate
				x[i] += math.Exp(-s/0.04) * (math.Sin(2*math.Pi*hz*s) + 0.3*r.NormFloat64())
			}
		}
	},
	"nothing": func(*rand.Rand, []float64) {},
}

// scene is heldFor of a kitchen at a level, with the button's own clicks, and perhaps somebody who speaks.
func scene(r *rand.Rand, kind string, db float64, said []int16, saidDB float64) []int16 {
	x := make([]float64, audio.Samples(heldFor))
	kitchens[kind](r, x)
	setLevel(x, db)
	for _, at := range []int{audio.Rate / 4, len(x) - audio.Rate/50} { // down, up
		for i := range audio.Rate / 100 {
			x[at+i] += 0.05 * r.NormFloat64() * math.Exp(-float64(i)/30)
		}
	}
	if said != nil {
		v := make([]float64, len(said))
		for i, s := range said {
			v[i] = float64(s)
		}
		setLevel(v, saidDB)
		at := audio.Rate/2 + r.IntN(max(1, len(x)-len(v)-audio.Rate))
		for i := range v {
			if at+i < len(x) {
				x[at+i] += v[i]
			}
		}
	}
	pcm := make([]int16, len(x))
	for i, v := range x {
		pcm[i] = int16(math.Max(-32768, math.Min(32767, math.Round(v*32768))))
	}
	return pcm
}

func setLevel(x []float64, db float64) {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	if sum == 0 {
		return
	}
	g := math.Pow(10, db/20) / math.Sqrt(sum/float64(len(x)))
	for i := range x {
		x[i] *= g
	}
}

func TestNobodySpokeInAKitchen(t *testing.T) {
	t.Parallel()
	const seed = 1
	t.Logf("seed %d", seed)
	for kind := range kitchens {
		for i := range 20 {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			db := -65 + 45*r.Float64()
			if pcm := scene(r, kind, db, nil, 0); spoken(pcm) {
				t.Errorf("%s at %.0f dB (%d) is taken for speech", kind, db, i)
			}
		}
	}
}

// TestSomebodySpoke: every sentence that conch ships, spoken by flite, over every noise, 6 dB and more louder than it.
func TestSomebodySpoke(t *testing.T) {
	t.Parallel()
	const seed = 2
	t.Logf("seed %d", seed)
	for i, key := range clips.Keys() {
		said, err := clips.Samples(language.English, key)
		if err != nil {
			t.Fatal(err)
		}
		if audio.CardDuration(2*len(said)) < time.Second {
			continue
		}
		for kind := range kitchens {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			loud := -45 + 30*r.Float64()
			over := 6 + 20*r.Float64()
			if pcm := scene(r, kind, loud-over, said, loud); !spoken(pcm) {
				t.Errorf("%q at %.0f dB, %.0f dB over %s, is not taken for speech", clips.Text(language.English, key), loud, over, kind)
			}
		}
	}
}

// TestLevelsAreThoseOfThePress: an utterance does not count for the next one, nor for a gesture long after it.
func TestLevelsAreThoseOfThePress(t *testing.T) {
	said, err := clips.Samples(language.English, "offline")
	if err != nil {
		t.Fatal(err)
	}
	var l levels
	if !l.quiet(time.Hour) {
		t.Error("before anything was captured somebody has spoken")
	}
	feed := func(id string, pcm []int16) {
		for at := 0; at+480 <= len(pcm); at += 480 {
			l.of(id, time.Minute, pcm[at:at+480])
		}
	}
	feed("t-1", said)
	if l.quiet(time.Minute + 100*time.Millisecond) {
		t.Error("nobody has spoken in a sentence")
	}
	if !l.quiet(time.Minute + staleLevel + time.Millisecond) {
		t.Error("a sentence of an earlier press counts for a later one")
	}
	feed("t-2", make([]int16, len(said)))
	if !l.quiet(time.Minute) {
		t.Error("silence after a sentence is taken for speech")
	}
	feed("t-3", make([]int16, 15*audio.Rate))
	if feed("t-3", said); !l.quiet(time.Minute) {
		t.Error(fmt.Sprint("more than ", levelMost, " frames were kept"))
	}
}

func BenchmarkSpeechMeter(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	pcm := scene(r, "white", -30, nil, 0)[:audio.Rate]
	b.ReportAllocs()
	var m speechMeter
	for b.Loop() {
		m.frames = 0
		m.add(pcm)
	}
}

// spoken says whether somebody speaks in pcm (24 kHz).
func spoken(pcm []int16) bool {
	var m speechMeter
	m.add(pcm)
	return m.spoken()
}
