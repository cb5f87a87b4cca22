package benchtest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// Strip is the distribution of one row, for the picture.
type Strip struct {
	Label string    `json:"label"`
	Group string    `json:"group"`
	Costs string    `json:"costs,omitempty"`
	MS    []float64 `json:"ms"` // sorted
}

// Groups of rows.
const (
	Ours   = "conch takes back what the card has not played"
	Others = "the same card, as others use it"
)

// Of the picture, in its units and in milliseconds.
const (
	pictureWide   = 960
	plotX, plotW  = 322, 470
	rowH, ridgeH  = 46, 30
	plotMS, binMS = 60, 0.5
)

const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="DejaVu Sans, Arial, sans-serif" font-size="13" fill="#1f2328">
<title>From the press to the last audible sample, as distributions</title>
<style>.bg{fill:#ffffff}.dim{fill:#59636e}.ours{fill:#1a7f37}.others{fill:#9a6700}.grid{stroke:#d1d9e0}.mark{stroke:#1f2328}
@media (prefers-color-scheme:dark){svg{fill:#e6edf3}.bg{fill:#161b22}.dim{fill:#9198a1}.ours{fill:#3fb950}.others{fill:#d29922}.grid{stroke:#3d444d}.mark{stroke:#e6edf3}}</style>
<rect class="bg" width="%d" height="%d" rx="8"/>
<text x="24" y="34" font-size="16" font-weight="bold">From the press to the last audible sample</text>
<text class="dim" x="24" y="54" font-size="12">One simulated ALSA card that is the judge, one run. A column is half a millisecond; the lines are p50 and p99.</text>
<text class="dim" x="936" y="54" font-size="12" text-anchor="end">p50 / p99, ms</text>
`

// Picture draws the strips, those of a group below each other, as SVG.
func Picture(strips []Strip) []byte {
	var grid, rows bytes.Buffer
	y := 66
	for _, group := range []struct{ name, class string }{{Ours, "ours"}, {Others, "others"}} {
		y += 28
		top := y + 8
		fmt.Fprintf(&rows, `<text x="24" y="%d" font-weight="bold">%s</text>`+"\n", y, escaped(group.name))
		for _, s := range strips {
			if s.Group == group.name && len(s.MS) > 0 {
				y += rowH
				s.draw(&rows, y, group.class)
			}
		}
		for ms := 0; ms <= plotMS; ms += 10 {
			fmt.Fprintf(&grid, `<path class="grid" d="M%g %dV%d"/>`, plotAt(float64(ms)), top, y+6)
		}
	}
	height := y + 40
	var b bytes.Buffer
	fmt.Fprintf(&b, pictureHead, pictureWide, height, pictureWide, height)
	for ms := 0; ms <= plotMS; ms += 10 {
		fmt.Fprintf(&b, `<text class="dim" x="%g" y="%d" font-size="11" text-anchor="middle">%d</text>`+"\n", plotAt(float64(ms)), y+22, ms)
	}
	fmt.Fprintf(&b, `<text class="dim" x="%d" y="%d" font-size="11">ms</text>`+"\n", plotX+plotW+14, y+22)
	fmt.Fprintf(&b, "%s\n%s</svg>\n", grid.Bytes(), rows.Bytes())
	return b.Bytes()
}

func plotAt(ms float64) float64 { return math.Round(10*(plotX+plotW*min(ms, plotMS)/plotMS)) / 10 }

// draw is one row: what it is, its columns, and its figures. y is its ground.
func (s Strip) draw(b *bytes.Buffer, y int, class string) {
	bins := make([]int, int(plotMS/binMS)+1) // the last one: whatever is beyond
	most := 0
	for _, ms := range s.MS {
		i := min(int(max(ms, 0)/binMS), len(bins)-1)
		bins[i]++
		most = max(most, bins[i])
	}
	fmt.Fprintf(b, `<text x="24" y="%d">%s</text><text class="dim" x="24" y="%d" font-size="11">%s</text>`+"\n", y-14, escaped(s.Label), y, escaped(s.Costs))
	wide := plotW / float64(plotMS) * binMS
	fmt.Fprintf(b, `<path class="%s" d="`, class)
	for i, n := range bins {
		if n > 0 { // however few, they are seen
			fmt.Fprintf(b, "M%.1f %dv-%.1fh%.1fV%dz", plotAt(float64(i)*binMS), y, max(1.5, ridgeH*math.Sqrt(float64(n)/float64(most))), wide-0.4, y)
		}
	}
	b.WriteString(`"/>` + "\n")
	for _, p := range []float64{.5, .99} {
		at := plotAt(Quantile(s.MS, p))
		fmt.Fprintf(b, `<path class="mark" d="M%g %dV%d"/>`, at, y+3, y-ridgeH-2)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%.1f / %.1f</text><text class="dim" x="%d" y="%d" font-size="11" text-anchor="end">max %.1f, n %d</text>`+"\n",
		pictureWide-24, y-14, Quantile(s.MS, .5), Quantile(s.MS, .99), pictureWide-24, y, s.MS[len(s.MS)-1], len(s.MS))
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // to memory
	return b.String()
}
