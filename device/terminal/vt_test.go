package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
)

// vt is as much of a terminal as a page may rely on: printing, CR, LF, cursor up and right, erase below, looks. It scrolls without end, and
// breaks its rows anew when it becomes narrower. Whatever else is written is an error.
type vt struct {
	t     *testing.T
	width int
	rows  [][]cell
	x, y  int
	look  string
}

type cell struct{ text, look string }

func newVT(t *testing.T, width int) *vt { return &vt{t: t, width: width, rows: [][]cell{nil}} }

func (v *vt) write(out string) {
	v.t.Helper()
	for out != "" {
		if after, ok := strings.CutPrefix(out, "\x1b["); ok {
			i := strings.IndexFunc(after, func(r rune) bool { return r >= '@' && r <= '~' })
			if i < 0 {
				v.t.Fatalf("a sequence without end: %q", out)
			}
			v.steer(after[:i], after[i])
			out = after[i+1:]
			continue
		}
		g := displaywidth.StringGraphemes(out)
		g.Next()
		v.print(g.Value())
		out = out[len(g.Value()):]
	}
}

func (v *vt) steer(parameters string, final byte) {
	v.t.Helper()
	n := 1
	_, _ = fmt.Sscan(parameters, &n)
	switch final {
	case 'A':
		if v.y -= n; v.y < 0 {
			v.t.Fatalf("the cursor goes %d rows above the screen", -v.y)
		}
	case 'C':
		v.x += n
	case 'J':
		v.rows = v.rows[:v.y+1]
		if v.x < len(v.rows[v.y]) {
			v.rows[v.y] = v.rows[v.y][:v.x]
		}
	case 'm':
		if v.look = parameters; parameters == "0" {
			v.look = ""
		}
	default:
		v.t.Fatalf("CSI %s %c is not for every terminal", parameters, final)
	}
}

func (v *vt) print(g string) {
	switch g {
	case "\r\n":
		v.x, v.y = 0, v.y+1
	case "\r":
		v.x = 0
		return
	case "\n":
		v.t.Fatalf("a line feed without a carriage return")
	default:
		n := displaywidth.String(g)
		if v.x+n > v.width-1 && v.width > 2 {
			v.t.Errorf("%q is written into the last of %d columns", g, v.width)
		}
		for len(v.rows[v.y]) < v.x+n {
			v.rows[v.y] = append(v.rows[v.y], cell{" ", ""})
		}
		v.rows[v.y][v.x] = cell{g, v.look}
		for i := 1; i < n; i++ {
			v.rows[v.y][v.x+i] = cell{}
		}
		v.x += n
	}
	for len(v.rows) <= v.y {
		v.rows = append(v.rows, nil)
	}
}

// narrow breaks the rows anew, as most terminals do.
func (v *vt) narrow(width int) {
	var rows [][]cell
	x, y := v.x, v.y
	for i, r := range v.rows {
		if i == v.y {
			y, x = len(rows)+v.x/width, v.x%width
		}
		for len(r) > width {
			rows, r = append(rows, r[:width:width]), r[width:]
		}
		rows = append(rows, r)
	}
	for len(rows) <= y {
		rows = append(rows, nil)
	}
	v.rows, v.x, v.y, v.width = rows, x, y, width
}

// text is the screen; struck words stand between tildes, the cursor is a bar.
func (v *vt) text() string {
	var b strings.Builder
	for y, r := range v.rows {
		struck := false
		for x := 0; x <= len(r); x++ {
			now := x < len(r) && strings.Contains(";"+r[x].look+";", ";9;")
			if now != struck {
				b.WriteString("~")
				struck = now
			}
			if x == v.x && y == v.y {
				b.WriteString("|")
			}
			if x < len(r) {
				b.WriteString(r[x].text)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
