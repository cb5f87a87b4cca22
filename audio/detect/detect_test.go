package detect

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"conch/audio"
	"conch/audio/wav"
)

// Texts of six languages. The rules were made with those of the first three; the others were looked at once they stood.
var texts = map[string][]string{
	"en": {
		"stop", "no", "yes", "what time is it", "and then?", "hello", "set a timer for ten minutes", "why", "tell me a story", "louder please",
		"thanks", "who is there", "hm", "okay", "turn off the light in the kitchen", "I feel a bit dizzy",
	},
	"de": {
		"stopp", "nein", "ja", "wie spät ist es", "und dann?", "hallo", "stell einen Wecker auf zehn Minuten", "warum", "erzähl mir was", "lauter bitte",
		"danke", "wer ist da", "hm", "gut", "mach das Licht in der Küche aus", "mir ist schwindlig",
	},
	"fr": {
		"stop", "non", "oui", "quelle heure est-il", "et après?", "bonjour", "un minuteur de dix minutes", "pourquoi", "raconte une histoire", "plus fort",
		"merci", "qui est là", "hum", "d'accord", "éteins la lumière de la cuisine", "j'ai la tête qui tourne",
	},
	"es": {
		"para", "no", "sí", "qué hora es", "¿y luego?", "hola", "pon un temporizador de diez minutos", "por qué", "cuéntame un cuento", "más alto",
		"gracias", "quién es", "eh", "vale", "apaga la luz de la cocina", "estoy mareado",
	},
	"it": {
		"basta", "no", "sì", "che ore sono", "e poi?", "ciao", "un timer di dieci minuti", "perché", "raccontami una storia", "più forte",
		"grazie", "chi è", "ehm", "va bene", "spegni la luce in cucina", "mi gira la testa",
	},
	"nl": {
		"stop", "nee", "ja", "hoe laat is het", "en toen?", "hallo", "zet een wekker op tien minuten", "waarom", "vertel een verhaal", "harder graag",
		"bedankt", "wie is daar", "hm", "goed", "doe het licht in de keuken uit", "ik ben duizelig",
	},
}

var seen = []string{"en", "de", "fr"}

// spoken makes an utterance at 24 kHz.
func spoken(t *testing.T, name string, args ...string) []int16 {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	if i := bytes.Index(out, []byte("data")); i > 0 && len(out) > i+8 {
		copy(out[i+4:], []byte{255, 255, 255, 255}) // to the end: what writes to a pipe cannot know the length
	}
	sound, err := wav.Read(name, bytes.NewReader(out))
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	pcm, err := audio.Resample(sound.Samples, sound.Rate, Rate)
	if err != nil {
		t.Fatal(err)
	}
	return pcm
}

// resampled is the sound at another speed, by straight lines.
func resampled(pcm []int16, by float64) []int16 {
	out := make([]int16, int(float64(len(pcm)-1)/by))
	for i := range out {
		at := float64(i) * by
		j := int(at)
		out[i] = int16(float64(pcm[j])*(1-(at-float64(j))) + float64(pcm[j+1])*(at-float64(j)))
	}
	return out
}

// level is the loudest half second of a sound, dBFS.
func level(pcm []int16) float64 {
	most := 0.0
	for from := 0; from == 0 || from+Rate/2 <= len(pcm); from += Rate / 20 {
		sum, n := 0.0, 0
		for _, s := range pcm[from:min(len(pcm), from+Rate/2)] {
			sum += float64(s) * float64(s)
			n++
		}
		most = max(most, sum/float64(n))
	}
	return 10 * math.Log10(most/(32768*32768)+1e-12)
}

func gained(pcm []int16, db float64) []int16 {
	out, by := make([]int16, len(pcm)), math.Pow(10, db/20)
	for i, s := range pcm {
		out[i] = int16(max(-32767, min(32767, math.Round(float64(s)*by))))
	}
	return out
}

func to(pcm []int16, db float64) []int16 { return gained(pcm, db-level(pcm)) }

func sum(a, b []int16) []int16 {
	out := slices.Clone(a)
	for i := range min(len(a), len(b)) {
		out[i] = int16(max(-32767, min(32767, int(a[i])+int(b[i]))))
	}
	return out
}

// pink is a piece of a minute of pink noise.
func pink(r *rand.Rand, n int, db float64) []int16 {
	all := minute()
	at := r.IntN(len(all) - n)
	return gained(all[at:at+n], db-level(all[at:at+n]))
}

var minute = sync.OnceValue(func() []int16 { return voss(rand.New(rand.NewPCG(7, 7)), 60*Rate) })

// voss is noise of equal power in each octave (Voss and McCartney, twelve rows).
func voss(r *rand.Rand, n int) []int16 {
	var rows [12]float64
	out := make([]int16, n)
	total := 0.0
	for i := range out {
		for k := range rows {
			if i&(1<<k-1) == 0 {
				total -= rows[k]
				rows[k] = r.Float64() - 0.5
				total += rows[k]
				if k > 0 {
					break
				}
			}
		}
		out[i] = int16(4000 * (total + r.Float64() - 0.5) / 3)
	}
	return out
}

func tones(n int, db float64, of ...float64) []int16 {
	out := make([]int16, n)
	for i := range out {
		x := 0.0
		for k, hz := range of {
			x += math.Sin(2*math.Pi*hz*float64(i)/Rate) / float64(k+1)
		}
		out[i] = int16(6000 * x / 2)
	}
	return to(out, db)
}

// fan is noise whose level the blades move, and the hum of its motor.
func fan(r *rand.Rand, n int, db float64) []int16 {
	out := pink(r, n, -20)
	hz := 8 + 30*r.Float64()
	for i := range out {
		out[i] = int16(float64(out[i]) * (1 + 0.2*math.Sin(2*math.Pi*hz*float64(i)/Rate)))
	}
	return to(sum(out, tones(n, -32, 50, 100, 150)), db)
}

// click is a contact: a knock of some milliseconds, and what the room makes of it.
func click(r *rand.Rand, n, at int, db, rt60 float64) []int16 {
	out := make([]float64, n)
	for k := range 3 {
		hz, from := 400+2500*r.Float64(), at+k*r.IntN(Rate/200)
		for i := from; i < n; i++ {
			out[i] += math.Exp(-float64(i-from)/(0.004*Rate)) * math.Sin(2*math.Pi*hz*float64(i-from)/Rate)
		}
	}
	for i := at; i < n; i++ {
		out[i] += 0.15 * (2*r.Float64() - 1) * math.Pow(10, -3*float64(i-at)/(rt60*Rate))
	}
	pcm := make([]int16, n)
	for i, x := range out {
		pcm[i] = int16(max(-32767, min(32767, 32767*x/2*math.Pow(10, db/20))))
	}
	return pcm
}

// ringing is music that was cut at the beginning, as the room gives it back.
func ringing(r *rand.Rand, n int, db, rt60 float64) []int16 {
	out := tones(n, db, 220*math.Pow(2, float64(r.IntN(24))/12), 330, 441, 660, 1320)
	hiss := pink(r, n, db-6)
	for i := range out {
		out[i] = int16((float64(out[i]) + float64(hiss[i])) * math.Pow(10, -3*float64(i)/(rt60*Rate)))
	}
	return out
}

// What people say is speech in six languages, whispered, by children, far away and in noise; what stands still, clicks and rings on is not.
func TestWhatIsSpeech(t *testing.T) {
	for _, p := range []string{"espeak-ng", "flite"} {
		if _, err := exec.LookPath(p); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skipf("missing: %s (make deps-test installs it)", p)
		}
	}
	seed := uint64(20261127)
	r := rand.New(rand.NewPCG(seed, 0))
	type count struct{ of, wrong int }
	groups := map[string]*count{}
	is := func(group string, want bool, pcm []int16) {
		c := groups[group]
		if c == nil {
			c = &count{}
			groups[group] = c
		}
		d := New()
		d.Begin()
		for len(pcm) > 0 {
			n := min(len(pcm), 480)
			d.Add(pcm[:n])
			pcm = pcm[n:]
		}
		c.of++
		if got := d.Holds(); got != want {
			c.wrong++
			t.Logf("%s, %.2f s: %v; levels %.0f", group, float64(len(d.levels))/100, got, d.levels)
		}
	}
	// A recording begins with the press and ends 120 ms after the release.
	said := func(pcm []int16) []int16 {
		return slices.Concat(make([]int16, Rate*(5+r.IntN(30))/100), pcm, make([]int16, Rate*(8+r.IntN(30))/100))
	}
	over := func(pcm []int16, db float64) []int16 { return sum(pcm, pink(r, len(pcm), db)) }
	for lang, all := range texts {
		part := "kept back"
		if slices.Contains(seen, lang) {
			part = "seen"
		}
		for _, text := range all {
			near := to(spoken(t, "espeak-ng", "--stdout", "-v", lang, text), -24)
			is(part+": "+lang, true, over(said(near), -62))
			is(part+": "+lang+", far, -40 dBFS", true, over(said(to(near, -40)), -62))
			is(part+": "+lang+", a noisy room", true, over(said(near), -42))
			child := resampled(to(spoken(t, "espeak-ng", "--stdout", "-v", lang+"+f3", "-p", "80", text), -26), 1.15)
			is(part+": "+lang+", a child", true, over(said(child), -60))
			whisper := to(spoken(t, "espeak-ng", "--stdout", "-v", lang+"+whisper", text), -38)
			is(part+": "+lang+", whispered", true, over(said(whisper), -64))
			quick := to(spoken(t, "espeak-ng", "--stdout", "-v", lang+"+m3", "-s", "230", text), -24)
			is(part+": "+lang+", quick", true, over(said(quick), -60))
			is(part+": "+lang+", quick and far", true, over(said(to(quick, -40)), -60))
			slow := to(spoken(t, "espeak-ng", "--stdout", "-v", lang+"+f2", "-s", "110", text), -24)
			is(part+": "+lang+", slow", true, over(said(slow), -60))
			is(part+": "+lang+", beside a fan", true, sum(said(near), fan(r, 4*Rate, -48)))
			if lang == "en" {
				for _, v := range []string{"kal", "kal16", "slt", "awb", "rms"} {
					near := to(spoken(t, "flite", "-voice", v, "-o", "/dev/stdout", "-t", text), -28)
					is("seen: flite "+v, true, over(said(near), -60))
					is("seen: flite "+v+", far", true, over(said(to(near, -40)), -62))
				}
			}
		}
	}
	speech := len(groups)
	for range 120 {
		n := Rate * (12 + r.IntN(288)) / 100 // 0.12 to 3 s
		db := -70 + 45*r.Float64()
		is("pink noise", false, pink(r, n, db))
		is("hum", false, over(tones(n, db, 50, 100, 150, 250, 350), -66))
		is("a fan", false, fan(r, n, db))
		quiet := pink(r, n, -62)
		rt := 0.2 + 0.5*r.Float64()
		is("the button's click", false, sum(quiet, click(r, n, r.IntN(Rate/50), -6-20*r.Float64(), rt)))
		is("two clicks", false, sum(sum(quiet, click(r, n, 0, -8-20*r.Float64(), rt)), click(r, n, n-Rate/10, -8-20*r.Float64(), rt)))
		is("music that was cut", false, sum(quiet, ringing(r, n, -22-20*r.Float64(), rt)))
		is("noise behind a silent start", false, slices.Concat(make([]int16, Rate*r.IntN(15)/100), pink(r, n, db)))
		is("silence", false, make([]int16, n))
	}
	var lines []string
	var total, kept, rest count
	for name, c := range groups {
		lines = append(lines, fmt.Sprintf("%-34s %4d of %4d wrong (%.1f %%)", name, c.wrong, c.of, 100*float64(c.wrong)/float64(c.of)))
		switch {
		case strings.HasPrefix(name, "seen"), strings.HasPrefix(name, "kept back"):
			total.of, total.wrong = total.of+c.of, total.wrong+c.wrong
			if strings.HasPrefix(name, "kept") {
				kept.of, kept.wrong = kept.of+c.of, kept.wrong+c.wrong
			}
		default:
			rest.of, rest.wrong = rest.of+c.of, rest.wrong+c.wrong
		}
	}
	slices.Sort(lines)
	t.Logf("seed %d; %d groups of speech\n%s", seed, speech, strings.Join(lines, "\n"))
	t.Logf("speech lost: %d of %d (of what was kept back %d of %d); the rest taken for speech: %d of %d", total.wrong, total.of, kept.wrong, kept.of, rest.wrong, rest.of)
	if total.of < 1000 || float64(total.wrong) > 0.005*float64(total.of) || float64(rest.wrong) > 0.03*float64(rest.of) {
		t.Error("more than 0.5 % of speech is lost, or 3 % of the rest passes")
	}
	larger := map[string]count{} // by language, voice and manner
	for name, g := range groups {
		if _, what, ok := strings.Cut(name, ": "); ok {
			for part := range strings.SplitSeq(what, ", ") {
				c := larger[part]
				larger[part] = count{c.of + g.of, c.wrong + g.wrong}
			}
		}
	}
	for name, c := range larger {
		if float64(c.wrong) > 0.02*float64(c.of) {
			t.Errorf("%s: %d of %d are lost", name, c.wrong, c.of)
		}
	}
}

// What is louder than the room that the detector knows, for more than a second, is sent: somebody may be singing through a pipe.
func TestLouderThanTheRoomForASecondIsSpeech(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d := New()
	hear := func(pcm []int16) bool {
		d.Begin()
		d.Add(pcm)
		return d.Holds()
	}
	if hear(pink(r, Rate, -60)) {
		t.Error("the room is taken for speech")
	}
	if !hear(pink(r, 2*Rate, -45)) {
		t.Error("noise that is louder than the room for two seconds is no speech")
	}
	if hear(pink(r, 2*Rate, -45)) {
		t.Error("a room that has become louder is taken for speech for ever")
	}
	if hear(nil) {
		t.Error("nothing is taken for speech")
	}
}

func BenchmarkDetector(b *testing.B) {
	pcm := pink(rand.New(rand.NewPCG(1, 1)), Rate, -30)
	d := New()
	b.ReportAllocs()
	for b.Loop() {
		d.Begin()
		d.Add(pcm)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "us/s-of-sound")
}
