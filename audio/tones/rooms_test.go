package tones

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"text/tabwriter"
)

var (
	roomsFlag = flag.Int("tones.rooms", 2, "rooms for each reverberation time and signal to noise ratio of TestRooms")
	seedFlag  = flag.Uint64("tones.seed", 20260, "seed of the rooms")
)

type outcome struct{ right, wrong, refused int }

func (o outcome) plus(p outcome) outcome {
	return outcome{o.right + p.right, o.wrong + p.wrong, o.refused + p.refused}
}

func (o outcome) String() string { return fmt.Sprintf("%d/%d/%d", o.right, o.wrong, o.refused) }

// listen decodes what is heard in pieces of the size that a microphone gives.
func listen(d *Decoder, pcm []int16) (codes []string) {
	const piece = 331
	for len(pcm) > 0 {
		n := min(piece, len(pcm))
		if code, ok := d.Feed(pcm[:n]); ok {
			codes = append(codes, code)
		}
		pcm = pcm[n:]
	}
	return codes
}

// TestRooms sends one frame through each of many rooms. Two columns are beyond what is asked for: they show where it ends.
func TestRooms(t *testing.T) {
	rts := []float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}
	snrs := []float64{-15, -10, 0, 5, 10, 15, 20}
	type cell struct{ rt, snr int }
	var mu sync.Mutex
	results := map[cell]outcome{}
	byNoise := map[string]outcome{}
	work := make(chan cell)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for c := range work {
				for i := range *roomsFlag {
					r := rand.New(rand.NewPCG(*seedFlag, uint64(c.rt*1_000_000+c.snr*100_000+i)))
					code := fmt.Sprintf("%06d", r.IntN(limit))
					conditions := draw(r, rts[c.rt], snrs[c.snr])
					codes := listen(NewDecoder(simRate), conditions.through(r, Encode(code, simRate)))
					mu.Lock()
					var o outcome
					switch {
					case len(codes) == 0:
						o.refused = 1
					case len(codes) == 1 && codes[0] == code:
						o.right = 1
					default:
						o.wrong = 1
						t.Errorf("%s was heard as %v (seed %d, room %d of %+v)", code, codes, *seedFlag, i, conditions)
					}
					results[c] = results[c].plus(o)
					byNoise[conditions.noise] = byNoise[conditions.noise].plus(o)
					mu.Unlock()
				}
			}
		})
	}
	for rt := range rts {
		for snr := range snrs {
			work <- cell{rt, snr}
		}
	}
	close(work)
	workers.Wait()

	total := outcome{}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "right/wrong/refused")
	for _, snr := range snrs {
		fmt.Fprintf(w, "\t%g dB", snr)
	}
	fmt.Fprintln(w)
	for rt := range rts {
		fmt.Fprintf(w, "RT60 %.1f s", rts[rt])
		for snr := range snrs {
			o := results[cell{rt, snr}]
			fmt.Fprintf(w, "\t%v", o)
			total = total.plus(o)
			if rts[rt] <= 0.6 && snrs[snr] >= 5 && o.right*100 < 95*(o.right+o.wrong+o.refused) {
				t.Errorf("at %g s and %g dB %d of %d codes were understood; want 95 %%", rts[rt], snrs[snr], o.right, o.right+o.wrong+o.refused)
			}
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	fmt.Printf("%d rooms, seed %d: %d right, %d wrong, %d refused; by noise %v\n", total.right+total.wrong+total.refused, *seedFlag, total.right, total.wrong, total.refused, byNoise)
}
