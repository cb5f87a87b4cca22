// Command gen draws what the light tells as an SVG that moves, from the code that draws the frames. Run it by:
// go generate ./gpio/light
package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"os"
	"strings"
	"time"

	"conch/gpio/light"
)

func main() {
	if err := os.WriteFile("states.svg", draw(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// What is drawn: a row of LEDs with colours, and one LED that is on or off.
var (
	row = light.Shape{Pixels: 3, Colour: true, Dim: true}
	led = light.Shape{Pixels: 1}
)

// Sizes in pixels, and times.
const (
	width, line, top = 960, 40, 56
	rowX, ledX       = 36, 170
	nameX, aboutX    = 222, 300
	laneX, laneWide  = 764, 176
	step             = 50 * time.Millisecond
	lane             = 4 * time.Second // shown of the single LED
	speech           = 3 * time.Second // after which the sample of speech begins anew
)

// off is an LED without power.
var off = light.Colour{R: 0x30, G: 0x36, B: 0x3d}

func draw() []byte {
	var b bytes.Buffer
	looks := light.Looks()
	height := top + line*len(looks) + 12
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" fill="#c9d1d9">
<title>What the light tells</title>
<rect width="%d" height="%d" rx="8" fill="#161b22"/>
<g fill="#8b949e" font-size="12"><text x="%d" y="32">LEDs with colours</text><text x="%d" y="32">one LED</text><text x="%d" y="32">one LED, %d seconds</text></g>
`, width, height, width, height, rowX-12, ledX-18, laneX, int(lane.Seconds()))
	for i, l := range looks {
		y := top + line*i + line/2
		s := light.Sample(l)
		for p := range row.Pixels {
			circle(&b, rowX+28*p, y, s, row, p)
		}
		circle(&b, ledX, y, s, led, 0)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text><text x=\"%d\" y=\"%d\">%s</text>\n",
			nameX, y+5, l, aboutX, y+5, html.EscapeString(l.About()))
		timeline(&b, y, s)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// talk is a level like that of words: syllables, and a pause at the end.
func talk(at time.Duration) float64 {
	s := math.Mod(at.Seconds(), speech.Seconds())
	if s > 2.4 {
		return 0
	}
	return math.Abs(math.Sin(2.1*math.Pi*s)) * (0.6 + 0.4*math.Sin(5*s))
}

// at is the colour of one LED.
func at(s light.Scene, shape light.Shape, pixel int, when time.Duration) light.Colour {
	f, _ := s.Frame(shape, when, talk(when), 1)
	c := f.LEDs[pixel]
	if !shape.Colour && c != (light.Colour{}) {
		c = light.Colour{R: 0xff, G: 0xe0, B: 0x8a} // whatever colour it has
	}
	share := float64(max(c.R, c.G, c.B)) / 255
	mix := func(dark, lit uint8) uint8 { return uint8(float64(dark) + share*(float64(lit)-float64(dark))) }
	if share == 0 {
		return off
	}
	full := func(v uint8) uint8 { return uint8(math.Round(float64(v) / share)) }
	return light.Colour{R: mix(off.R, full(c.R)), G: mix(off.G, full(c.G)), B: mix(off.B, full(c.B))}
}

func hex(c light.Colour) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// circle draws one LED, which moves as the real one does.
func circle(b *bytes.Buffer, x, y int, s light.Scene, shape light.Shape, pixel int) {
	period := s.Period(shape)
	if s.Look == light.Speaking {
		period = speech
	}
	still := at(s, shape, pixel, 0) // for whoever shows no movement: the moment with the most light
	for t := step; t < period; t += step {
		if c := at(s, shape, pixel, t); int(c.R)+int(c.G)+int(c.B) > int(still.R)+int(still.G)+int(still.B) && s.Look != light.Pairing {
			still = c
		}
	}
	fmt.Fprintf(b, `<circle cx="%d" cy="%d" r="9" fill="%s"`, x, y, hex(still))
	if period == 0 {
		b.WriteString("/>\n")
		return
	}
	var values, times []string
	last := light.Colour{}
	for t := time.Duration(0); t < period; t += step {
		if c := at(s, shape, pixel, t); t == 0 || c != last {
			values, times = append(values, hex(c)), append(times, fmt.Sprintf("%.3g", float64(t)/float64(period)))
			last = c
		}
	}
	fmt.Fprintf(b, `><animate attributeName="fill" calcMode="discrete" repeatCount="indefinite" dur="%gs" values="%s" keyTimes="%s"/></circle>`+"\n",
		period.Seconds(), strings.Join(values, ";"), strings.Join(times, ";"))
}

// timeline draws when the single LED is lit.
func timeline(b *bytes.Buffer, y int, s light.Scene) {
	x := func(t time.Duration) float64 { return laneX + laneWide*float64(t)/float64(lane) }
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="12" rx="2" fill="%s"/>`, laneX, y-6, laneWide, hex(off))
	for t := time.Duration(0); t < lane; {
		end := t + 10*time.Millisecond
		lit := at(s, led, 0, t) != off
		for end < lane && (at(s, led, 0, end) != off) == lit {
			end += 10 * time.Millisecond
		}
		if lit {
			fmt.Fprintf(b, `<rect x="%.4g" y="%d" width="%.3g" height="12" fill="#ffe08a"/>`, x(t), y-6, x(end)-x(t))
		}
		t = end
	}
	b.WriteString("\n")
}
