package decode

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// mp3Kind is one kind of MP3 that lame makes.
type mp3Kind struct {
	rate, bitrate int // of samples, and of bits in thousands
	mode          string
}

func (k mp3Kind) make(t *testing.T, dir string) (name string) {
	t.Helper()
	name = filepath.Join(dir, "a.mp3")
	run(t, []string{"lame", "--quiet", "--resample", fmt.Sprint(float64(k.rate) / 1000), "-m", k.mode, "-b", fmt.Sprint(k.bitrate), "IN", "OUT"},
		filepath.Join(dir, fmt.Sprint(k.rate, ".wav")), name)
	return name
}

// sounds compares what is heard of a file with what another program makes of it.
func sounds(t *testing.T, name, program string) {
	t.Helper()
	ref := filepath.Join(t.TempDir(), "ref.wav")
	run(t, strings.Fields(program), name, ref)
	if db, lag := below(loaded(t, ref), all(t, opened(t, name)), 1500); db < 60 {
		t.Errorf("the difference is %.1f dB below the sound, %d later; want 60", db, lag)
	}
}

const byFFmpeg = "ffmpeg -loglevel error -y -i IN -c:a pcm_s16le OUT"

// both tries a kind with ffmpeg and without. ffmpeg and the other decoders have another border of one of the bands of 24 kHz.
func (k mp3Kind) both(t *testing.T, dir string) {
	t.Run(fmt.Sprintf("%d Hz, %d kbit/s, %s", k.rate, k.bitrate, k.mode), func(t *testing.T) {
		name := k.make(t, dir)
		sounds(t, name, byFFmpeg)
		program := byFFmpeg
		if k.rate == 24000 {
			program = "lame --quiet --decode IN OUT"
		}
		ref := filepath.Join(dir, "ref.wav")
		run(t, strings.Fields(program), name, ref)
		t.Setenv("PATH", "")
		if db, lag := below(loaded(t, ref), all(t, opened(t, name)), 1500); db < 60 {
			t.Errorf("without ffmpeg the difference is %.1f dB below the sound, %d later; want 60", db, lag)
		}
	})
}

// mp3Inputs are the sound at each rate.
func mp3Inputs(t *testing.T) (dir string) {
	dir = t.TempDir()
	for _, rate := range []int{48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025} {
		writeStereo(t, filepath.Join(dir, fmt.Sprint(rate, ".wav")), rate, sound(rate, 3))
	}
	return dir
}

// Some of each rate, and those whose frames the library counts wrong.
func TestKindsOfMP3(t *testing.T) {
	dir := mp3Inputs(t)
	for _, k := range []mp3Kind{
		{48000, 320, "s"}, {44100, 64, "j"}, {32000, 40, "m"}, {24000, 64, "m"}, {22050, 32, "m"}, {22050, 160, "j"}, {16000, 8, "s"},
		{12000, 32, "j"}, {11025, 64, "m"},
	} {
		k.both(t, dir)
	}
}

// All that lame makes. It is a long test.
func TestGridOfMP3(t *testing.T) {
	dir := mp3Inputs(t)
	for rate, version := range map[int]int{48000: 1, 44100: 1, 32000: 1, 24000: 2, 22050: 2, 16000: 2, 12000: 25, 11025: 25} {
		for _, bitrate := range mp3Bitrates[min(2, version)] {
			for _, mode := range []string{"m", "s", "j"} {
				if bitrate > 0 && (version != 25 || bitrate <= 64) {
					mp3Kind{rate, bitrate, mode}.both(t, dir)
				}
			}
		}
	}
}
