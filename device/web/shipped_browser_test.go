package web_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"flag"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/wav"
)

var update = flag.Bool("update", false, "make the pictures of the page anew")

// The whole of it: the program as it is built here, three devices with their voices, and a browser.

// shipped is the program, built once for the tests below.
func shipped(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "conch")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", path, "../../cmd/conch").CombinedOutput(); err != nil {
		t.Fatalf("go build ../../cmd/conch: %v\n%s", err, out)
	}
	return path
}

// need skips a test without a program.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("no %s: nobody speaks or hears here", p)
		}
	}
}

// rehearsal is conch rehearse, and where its page is.
type rehearsal struct {
	t     *testing.T
	url   string
	lines io.WriteCloser

	mu  sync.Mutex
	out strings.Builder
}

// rehearse starts a room.
func rehearse(t *testing.T, program string) *rehearsal {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	cmd := exec.CommandContext(ctx, program, "rehearse", "--page", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "CONCH_AUDIO_BACKEND=null")
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		cmd.Env = append(cmd.Env, name+"="+dir)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &rehearsal{t: t, lines: in}
	page, read := make(chan string, 1), make(chan struct{})
	go func() { // until the program ends
		defer close(read)
		for s := bufio.NewScanner(out); s.Scan(); {
			r.mu.Lock()
			r.out.WriteString(s.Text() + "\n")
			r.mu.Unlock()
			if rest, ok := strings.CutPrefix(s.Text(), "page   "); ok {
				page <- strings.Fields(rest)[0]
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		_, _ = io.WriteString(in, "q\n")
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Logf("the rehearsal ended with: %v", err)
		}
		cancel()
		_ = write.Close()
		<-read
		if t.Failed() {
			t.Logf("the rehearsal said\n%s", r.said())
		}
	})
	select {
	case r.url = <-page:
	case <-time.After(patience):
		t.Fatalf("the rehearsal has no page; it said\n%s", r.said())
	}
	return r
}

func (r *rehearsal) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// ask types a line into the page.
func (b *tab) ask(text string) {
	b.t.Helper()
	js[bool](b, `(document.getElementById('text').value = %s, document.querySelector('#line button').click(), true)`, text)
}

// quiet waits until nobody speaks and nothing is decided.
func (b *tab) quiet() {
	b.t.Helper()
	b.until(`document.getElementById('now').textContent === 'waiting for a press' && !document.querySelector('.disc:is(.speaks, .chosen, .votes)')`)
}

// TestTheShippedPage is one for the sake of the program, which is built once.
func TestTheShippedPage(t *testing.T) {
	t.Parallel()
	chromium(t)
	need(t, "flite", "espeak-ng")
	program := shipped(t)
	for name, test := range map[string]func(*testing.T, string){"Press": shippedPress, "Conversation": shippedConversation, "Pictures": shippedPictures} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, program)
		})
	}
}

// A press in the page while a companion speaks: silence in the page, and at the device.
func shippedPress(t *testing.T, program string) {
	r := rehearse(t, program)
	l := desk
	l.before = tapped
	b, beside := open(t, r.url, l), open(t, r.url, desk) // a page that is silent itself shows what the devices measure
	b.until(`document.querySelectorAll('.disc:not(.gone)').length === 3`)
	b.click("#talk")
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	questions := []string{"tell me a story", "how long do I boil an egg", "will it rain tomorrow"}
	presses := 0
	for ; len(b.own()) < 50; presses++ {
		if presses == 240 { // on a busy machine a press may fall into a pause of the speech
			t.Fatalf("%d presses, and %d figures", presses, len(b.own()))
		}
		b.quiet() // what the press before has recorded is over, too: silence, or something too short
		b.ask(questions[presses%len(questions)])
		b.until(`document.querySelector('.disc.speaks') && tap.blocks.slice(-12).every((b) => b.left + b.right > 0)`) // no tone that is over by then
		b.hold("#talk")
		b.let()
		b.until(`tap.blocks.slice(-10).every((b) => b.left === 0 && b.right === 0)`)
	}
	own := b.own()
	device := js[[]float64](beside, `[...document.querySelectorAll('#silences i:not(.own):not([hidden])')].map((d) => parseFloat(d.title))`)
	t.Logf("from a press to silence, %d presses: in the page, on its own clock, %s; its sound card adds %.0f ms", presses, quantiles(own),
		js[float64](b, `1000 * (tap.context.outputLatency || tap.context.baseLatency)`))
	if len(device) == 0 {
		t.Error("no device has told how long a press took there")
	} else {
		t.Logf("at the devices, whose virtual cards play 15 ms ahead: %s", quantiles(device))
	}
	slices.Sort(own)
	if p50 := own[len(own)/2]; p50 > 30 {
		t.Errorf("half of the presses take more than %.1f ms in the page", p50)
	}
	if js[int](b, `document.querySelectorAll('.bubble.cut').length`) == 0 {
		t.Error("fifty answers were cut, and none is shown so")
	}
}

// spoken is a WAV of a sentence between silences, as a browser's fake microphone plays it, over and over.
func spoken(t *testing.T, sentence string) string {
	t.Helper()
	dir := t.TempDir()
	said := filepath.Join(dir, "said.wav")
	if out, err := exec.CommandContext(t.Context(), "flite", "-voice", "slt", "-t", sentence, "-o", said).CombinedOutput(); err != nil {
		t.Fatalf("flite: %v\n%s", err, out)
	}
	f, err := os.Open(said)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sound, err := wav.Read(said, f)
	if err != nil {
		t.Fatal(err)
	}
	const rate = 48000
	words, err := audio.Resample(sound.Samples, sound.Rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	samples := slices.Concat(make([]int16, 2*rate), words, make([]int16, 7*rate))
	data := make([]byte, 0, 2*len(samples))
	for _, x := range samples {
		data = binary.LittleEndian.AppendUint16(data, uint16(x))
	}
	path := filepath.Join(dir, "microphone.wav")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	file, err := wav.NewFile(out, rate)
	if err == nil {
		_, err = file.Write(data)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A person speaks into the browser's microphone, and hears the answer in it.
func shippedConversation(t *testing.T, program string) {
	need(t, "pocketsphinx_continuous")
	r := rehearse(t, program)
	l := desk
	l.before = tapped
	l.flags = []string{"use-file-for-fake-audio-capture=" + spoken(t, "How long do I boil an egg?")}
	b := open(t, r.url, l)
	b.until(`document.querySelectorAll('.disc:not(.gone)').length === 3`)
	b.click("#talk")
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	js[bool](b, `(() => { // when the microphone was loud last, by what the button shows
		globalThis.loudAt = 0;
		setInterval(() => { if (parseFloat(document.getElementById('talk').style.getPropertyValue('--loud')) > 0.05) loudAt = performance.now(); }, 10);
		return true;
	})()`)
	asked, answer := "", ""
	understood := func() bool {
		return (strings.Contains(asked, "egg") || strings.Contains(asked, "boil")) && answer != ""
	}
	b.until(`loudAt > 0`)                            // once for the browser, which learns how loud this microphone is, and what is noise
	for try := 1; !understood() && try <= 4; try++ { // on a busy machine sound has holes, and words are others then
		b.until(`performance.now() - loudAt > 1500`)
		b.hold("#talk")
		b.until(`document.querySelector('.place.listens') !== null`)
		b.until(`performance.now() - loudAt < 50`)
		b.until(`performance.now() - loudAt > 500`)
		js[bool](b, `(tap.samples.length = 0, tap.keep = true)`)
		b.let()
		b.until(`document.querySelectorAll('.bubble.ask').length >= %s`, try)
		b.quiet()
		b.until(`[...document.querySelectorAll('.bubble.answer')].every((e) => !e.matches('.growing, .open'))`)
		asked = js[string](b, `[...document.querySelectorAll('.bubble.ask .heard')].at(-1).textContent`)
		answer = js[string](b, `[...document.querySelectorAll('.bubble.answer .heard')].at(-1)?.textContent ?? ''`)
	}
	samples := js[[]float64](b, `tap.samples`)
	sum, loud := 0.0, 0
	for i, x := range samples {
		sum += x * x
		if math.Abs(x) > 300 && i%480 == 0 {
			loud++
		}
	}
	rms := math.Sqrt(sum / float64(max(1, len(samples))))
	t.Logf("understood %q, answered %q; %.1f s were recorded in the page, %.0f (of 32767) loud on average", asked, answer, float64(len(samples))/48000, rms)
	if !understood() {
		t.Errorf("the question was understood as %q, and answered %q", asked, answer)
	}
	if rms < 100 || loud < 20 {
		t.Errorf("what was recorded in the page is no answer: %.0f loud on average, %d loud moments", rms, loud)
	}
}

// Pictures of a conversation that was held: what the README shows.
func shippedPictures(t *testing.T, program string) {
	if !*update {
		t.Skip("pictures are made with -update")
	}
	r := rehearse(t, program)
	b := open(t, r.url, desk)
	b.until(`document.querySelectorAll('.disc:not(.gone)').length === 3`)
	b.click("#talk")
	b.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	b.ask("tell me a story")
	b.until(bubble("Ben") + `?.querySelector('.heard').textContent.length > 40`)
	b.hold("#talk")
	b.let()
	b.until(bubble("Ben") + `.matches('.cut')`)
	b.quiet()
	b.ask("how long do I boil an egg")
	loud := func(name string) string {
		return disc(name) + `.matches('.speaks') && parseFloat(` + disc(name) + `.style.getPropertyValue('--level')) > 0.4`
	}
	b.until(bubble("Ada") + `.querySelector('.heard').textContent.length > 25 && ` + loud("Ada"))
	js[bool](b, `(`+bubble("Ada")+`.querySelector('summary').click(), document.activeElement.blur(), true)`)
	b.until(bubble("Ada") + `.querySelectorAll('.vote').length === 3 && ` + loud("Ada"))
	keep(t, "desk.png", b.shot())
	b.quiet()

	c := open(t, r.url, telephone)
	c.until(`document.querySelectorAll('.bubble.answer').length === 2`)
	c.ask("what do you all think of winter")
	c.until(bubble("Cleo") + `.querySelector('.heard').textContent.length > 10 && ` + loud("Cleo"))
	js[bool](c, `(document.querySelector('.bubble.ask').scrollIntoView({ block: 'start' }), document.activeElement.blur(), true)`)
	c.until(loud("Cleo"))
	keep(t, "telephone.png", c.shot())
	c.quiet()

	d := open(t, r.url, look{width: 1280, height: 800, dark: true})
	d.until(`document.querySelectorAll('.bubble.answer').length === 5`)
	d.ask("Cleo, will it rain tomorrow")
	d.until(bubble("Cleo") + `.querySelector('.heard').textContent.length > 30 && ` + loud("Cleo"))
	js[bool](d, `(`+bubble("Cleo")+`.querySelector('summary').click(), document.activeElement.blur(), true)`)
	d.until(loud("Cleo"))
	keep(t, "dark.png", d.shot())
}

// few is a picture in 256 colours.
func few(t *testing.T, data []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	times := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	r := full.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			times[at(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(times), func(a, b color.RGBA) int {
		return cmp.Or(times[b]-times[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	// Each next colour is the one that is missed most: by how often it is there, and how far from those that are chosen.
	palette := color.Palette{all[0]}
	far := make([]float64, len(all))
	for i, c := range all {
		far[i] = apart(c, all[0])
	}
	for len(palette) < 256 {
		next, most := 0, 0.0
		for i, c := range all {
			if missed := far[i] * math.Sqrt(float64(times[c])); missed > most {
				next, most = i, missed
			}
		}
		if most == 0 {
			break
		}
		palette = append(palette, all[next])
		for i, c := range all {
			far[i] = min(far[i], apart(c, all[next]))
		}
	}
	index := map[color.RGBA]uint8{}
	small := image.NewPaletted(r, palette)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c := at(x, y)
			i, ok := index[c]
			if !ok {
				i = uint8(palette.Index(c))
				index[c] = i
			}
			small.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// apart is how far two colours are from each other.
func apart(a, b color.RGBA) float64 {
	d := func(x, y uint8) float64 { return float64(x) - float64(y) }
	return math.Hypot(math.Hypot(d(a.R, b.R), d(a.G, b.G)), d(a.B, b.B))
}

// keep writes a picture.
func keep(t *testing.T, name string, shot []byte) {
	t.Helper()
	data := few(t, shot)
	if err := os.MkdirAll("pictures", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("pictures", name), data, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("pictures/%s: %d bytes", name, len(data))
	if len(data) > 120_000 {
		t.Errorf("pictures/%s is %d bytes; at most 120 kB", name, len(data))
	}
}
