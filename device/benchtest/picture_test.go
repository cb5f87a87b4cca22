package benchtest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// A picture is well-formed, small, and has each row's name, costs and figures as text.
func TestPicture(t *testing.T) {
	t.Parallel()
	var many []float64
	for i := range 800 {
		many = append(many, float64(i)/100)
	}
	svg := Picture([]Strip{
		{Label: "nothing", Group: Ours},
		{Label: "aplay", Group: Others, Costs: "a click of 7.6 steps", MS: []float64{-0.1, 0, 0.1, 250}},
		{Label: "5 ms x 8 <as shipped> & more", Group: Ours, Costs: "no click", MS: many},
	})
	var text []string
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		if c, ok := tok.(xml.CharData); ok {
			text = append(text, string(c))
		}
	}
	all := strings.Join(text, "\n")
	for _, want := range []string{Ours, "5 ms x 8 <as shipped> & more", "no click", "4.0 / 7.9", "max 8.0, n 800", Others, "aplay", "a click of 7.6 steps", "max 250.0, n 4"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in it:\n%s", want, all)
		}
	}
	if strings.Contains(all, "nothing") {
		t.Error("a row without figures is drawn")
	}
	if strings.Index(all, "as shipped") > strings.Index(all, "aplay") {
		t.Error("the groups are not in order")
	}
	if len(svg) > 10<<10 {
		t.Errorf("%d bytes for two rows", len(svg))
	}
}
