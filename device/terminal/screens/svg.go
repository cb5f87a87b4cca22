package main

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// screen is what a terminal shows.
type screen struct {
	width int
	rows  []row
	at    point // of the cursor
}

type point struct{ x, y int }

// frame is a screen and when it began.
type frame struct {
	screen
	from time.Duration
}

// row is what stands in a line, in pieces that look alike.
type row []piece

type piece struct {
	text string
	look look
}

// look is as much of SGR (ECMA-48 8.3.117) as is drawn here.
type look struct {
	colour             int // of 16; -1: the terminal's own
	bold, dim, reverse bool
	struck, underlined bool
}

func (r row) equal(o row) bool {
	if len(r) != len(o) {
		return false
	}
	for i := range r {
		if r[i] != o[i] {
			return false
		}
	}
	return true
}

func (r row) text() string {
	var b strings.Builder
	for _, p := range r {
		b.WriteString(p.text)
	}
	return b.String()
}

func (s screen) text() string {
	var b strings.Builder
	for _, r := range s.rows {
		b.WriteString(r.text() + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// parse reads a line of tmux capture-pane -e, which goes on in the look of the line before.
func parse(line string, l look) (row, look) {
	var r row
	for line != "" {
		text, rest, steered := strings.Cut(line, "\x1b[")
		if text != "" {
			r = append(r, piece{text, l})
		}
		if !steered {
			break
		}
		parameters, after, _ := strings.Cut(rest, "m")
		l, line = l.set(parameters), after
	}
	return r, l
}

func (l look) set(parameters string) look {
	codes := strings.Split(parameters, ";")
	for i := 0; i < len(codes); i++ {
		n, _ := strconv.Atoi(codes[i])
		switch {
		case n == 0:
			l = look{colour: -1}
		case n == 1:
			l.bold = true
		case n == 2:
			l.dim = true
		case n == 4:
			l.underlined = true
		case n == 7:
			l.reverse = true
		case n == 9:
			l.struck = true
		case n == 22:
			l.bold, l.dim = false, false
		case n == 29:
			l.struck = false
		case n >= 30 && n <= 37:
			l.colour = n - 30
		case n >= 90 && n <= 97:
			l.colour = n - 90 + 8
		case n == 39:
			l.colour = -1
		case n == 38 && i+2 < len(codes): // 38;5;N
			l.colour, _ = strconv.Atoi(codes[i+2])
			i += 2
		}
	}
	return l
}

// The sizes of a character, and colours that can be read on the ground.
const (
	across, down, edge = 8.4, 18.0, 12.0
	ground, ink        = "#16181d", "#d8dee9"
)

var palette = [16]string{"#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9",
	"#7b8495", "#ff8b94", "#b5e890", "#ffd68a", "#8cc8ff", "#dd9bf0", "#7fd6e0", "#ffffff"}

func begin(b *strings.Builder, width, height int, title string) {
	w, h := float64(width)*across+2*edge, float64(height)*down+2*edge
	fmt.Fprintf(b, `<svg xml:space="preserve" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label=%q>`+"\n", w, h, w, h, html.EscapeString(title))
	fmt.Fprintf(b, "<title>%s</title>\n<style>text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:%s;white-space:pre}", html.EscapeString(title), ink)
	for i, c := range palette {
		fmt.Fprintf(b, ".c%d{fill:%s}", i, c)
	}
	b.WriteString(".b{font-weight:bold}.d{fill-opacity:.6}.s{text-decoration:line-through}.u{text-decoration:underline}</style>\n")
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", ground)
}

// draw writes a row as one text of pieces.
func (r row) draw(b *strings.Builder, y int, more string) {
	if strings.TrimSpace(r.text()) == "" {
		return
	}
	fmt.Fprintf(b, `<text y="%.1f"%s>`, edge+float64(y)*down+13, more)
	x := 0
	for _, p := range r {
		n := utf8.RuneCountInString(p.text)
		if text := strings.TrimRight(p.text, " "); text != "" {
			var class []string
			if p.look.colour >= 0 && p.look.colour < 16 {
				class = append(class, "c"+strconv.Itoa(p.look.colour))
			}
			for i, on := range []bool{p.look.bold, p.look.dim, p.look.struck, p.look.underlined} {
				if on {
					class = append(class, string("bdsu"[i]))
				}
			}
			attributes := ""
			if len(class) > 0 {
				attributes = fmt.Sprintf(` class="%s"`, strings.Join(class, " "))
			}
			// The length is said, so that whatever font is there keeps to the columns.
			fmt.Fprintf(b, `<tspan x="%.1f" textLength="%.1f"%s>%s</tspan>`, edge+float64(x)*across, float64(utf8.RuneCountInString(text))*across, attributes, html.EscapeString(text))
		}
		x += n
	}
	b.WriteString("</text>\n")
}

func (p point) draw(b *strings.Builder, more string) {
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" opacity=".7"%s/>`+"\n", edge+float64(p.x)*across, edge+float64(p.y)*down, across, down-2, ink, more)
}

// still is one screen.
func still(s screen, title string) string {
	var b strings.Builder
	begin(&b, s.width, len(s.rows), title)
	for y, r := range s.rows {
		r.draw(&b, y, "")
	}
	s.at.draw(&b, "")
	b.WriteString("</svg>\n")
	return b.String()
}
