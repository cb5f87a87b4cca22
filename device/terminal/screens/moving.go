package main

import (
	"fmt"
	"strings"
	"time"
)

// shown is a row in one place for a time.
type shown struct {
	y        int
	row      row
	from, to time.Duration
}

// moving is a picture that plays the frames and begins anew. Each row is drawn once for as long as it stands where it stands.
func moving(frames []frame, length time.Duration, title string) string {
	var all []shown
	var cursors []frame
	live := map[int]shown{}
	for _, f := range frames {
		for y, r := range f.rows {
			if old, ok := live[y]; ok {
				if old.row.equal(r) {
					continue
				}
				old.to = f.from
				all = append(all, old)
			}
			live[y] = shown{y: y, row: r, from: f.from}
		}
		if n := len(cursors); n == 0 || cursors[n-1].at != f.at {
			cursors = append(cursors, f)
		}
	}
	for _, s := range live {
		s.to = length
		all = append(all, s)
	}
	var b strings.Builder
	begin(&b, frames[0].width, len(frames[0].rows), title)
	for _, s := range all {
		var row strings.Builder
		s.row.draw(&row, s.y, ` opacity="0"`)
		if row.Len() == 0 {
			continue
		}
		b.WriteString(strings.TrimSuffix(row.String(), "</text>\n") + during(s.from, s.to, length) + "</text>\n")
	}
	for i, c := range cursors {
		to := length
		if i+1 < len(cursors) {
			to = cursors[i+1].from
		}
		var rect strings.Builder
		c.at.draw(&rect, "")
		b.WriteString(strings.Replace(strings.TrimSuffix(rect.String(), "/>\n"), `opacity=".7"`, `opacity="0"`, 1) + ">" + during(c.from, to, length) + "</rect>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// during shows its parent from one time to another, over and over.
func during(from, to, length time.Duration) string {
	a, z := from.Seconds()/length.Seconds(), to.Seconds()/length.Seconds()
	keys, values := fmt.Sprintf("0;%.4f;%.4f", a, z), "0;.9;0"
	switch {
	case a == 0 && z >= 1:
		keys, values = "0", ".9"
	case a == 0:
		keys, values = fmt.Sprintf("0;%.4f", z), ".9;0"
	case z >= 1:
		keys, values = fmt.Sprintf("0;%.4f", a), "0;.9"
	}
	return fmt.Sprintf(`<animate attributeName="opacity" calcMode="discrete" dur="%.1fs" repeatCount="indefinite" keyTimes="%s" values="%s"/>`, length.Seconds(), keys, values)
}
