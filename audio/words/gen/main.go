// Command gen speaks the phrases of package words in each language and writes the clips. Run it by: make clips
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"conch/audio"
	"conch/audio/wav"
	"conch/audio/words"
	"conch/device/language"
)

// rate is that of what is packed.
const rate = 16000

func main() {
	for _, l := range language.All() {
		if err := generate(l, filepath.Join("clips", l.Code())); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}

// generate writes the clips of a language and removes what is none any more. A clip of a text that has not changed stays as it is.
func generate(l language.Language, dir string) error {
	tmp, err := os.MkdirTemp("", "clips")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	made := map[string]bool{}
	for _, key := range words.Keys() {
		text, path := words.Text(l, key), filepath.Join(dir, key+words.Suffix)
		made[path] = true
		if spoken(path, text) {
			continue
		}
		pcm, err := speak(l, filepath.Join(tmp, "clip.wav"), text)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		b, err := pack(tmp, text, pcm)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s %-16s %5d ms  %s\n", l, key, len(pcm)*1000/rate, text)
	}
	for _, path := range old {
		if !made[path] {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// spoken says whether there is a clip of that text.
func spoken(path, text string) bool {
	b, err := os.ReadFile(path)
	return err == nil && bytes.HasPrefix(b, head(text))
}

// head is the beginning of a clip: what it is, and the sum of what it says.
func head(text string) []byte {
	return binary.LittleEndian.AppendUint32([]byte(words.Magic), crc32.ChecksumIEEE([]byte(text)))
}

// pack makes a clip of pcm that says text, as words.Samples reads it.
func pack(tmp, text string, pcm []int16) ([]byte, error) {
	raw, out := filepath.Join(tmp, "clip.raw"), filepath.Join(tmp, "clip.opus")
	var samples []byte
	for _, s := range pcm {
		samples = binary.LittleEndian.AppendUint16(samples, uint16(s))
	}
	if err := os.WriteFile(raw, samples, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("opusenc", "--quiet", "--raw", "--raw-rate", strconv.Itoa(rate), "--raw-chan", "1", "--speech", "--bitrate", "9",
		"--comp", "10", "--framesize", "60", "--padding", "0", "--discard-comments", "--serial", "1", raw, out)
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s (apt install opus-tools)", err, bytes.TrimSpace(said))
	}
	b, err := os.ReadFile(out)
	return append(head(text), b...), err
}

// speak says it: English by flite, whose voice is the better one, the rest by espeak-ng.
func speak(l language.Language, path, text string) ([]int16, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "flite", "-voice", "slt", "--setf", "duration_stretch=1.02", "-t", text, "-o", path)
	if l != language.English {
		cmd = exec.CommandContext(ctx, "espeak-ng", "-v", l.Voice(), "-s", "165", "-w", path, text)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s (apt install flite espeak-ng)", err, bytes.TrimSpace(out))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w, err := wav.Read(path, f)
	if err != nil {
		return nil, err
	}
	pcm, err := audio.Resample(w.Samples, w.Rate, rate)
	if err != nil {
		return nil, err
	}
	return level(trim(pcm)), nil
}

// trim leaves 40 ms before and 80 ms after the part that is louder than -50 dB.
func trim(pcm []int16) []int16 {
	const threshold = 100
	from, to := 0, len(pcm)
	for from < to && audio.Peak(pcm[from:from+1]) < threshold {
		from++
	}
	for to > from && audio.Peak(pcm[to-1:to]) < threshold {
		to--
	}
	pcm = pcm[max(0, from-rate/25):min(len(pcm), to+rate*8/100)]
	fade(pcm, rate/100, rate/50)
	return pcm
}

// fade raises the first samples from nothing and lowers the last ones to nothing, along half a cosine.
func fade(pcm []int16, in, out int) {
	for i := range pcm {
		x := min(1, float64(i)/float64(in), float64(len(pcm)-1-i)/float64(out))
		pcm[i] = audio.Saturate(float32(float64(pcm[i]) * (0.5 - 0.5*math.Cos(math.Pi*x))))
	}
}

// level brings the peak to -3 dB.
func level(pcm []int16) []int16 {
	if p := audio.Peak(pcm); p > 0 {
		audio.Scale(pcm, 0.708*32767/float32(p))
	}
	return pcm
}
