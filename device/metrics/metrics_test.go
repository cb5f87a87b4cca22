package metrics

import (
	"strings"
	"testing"
)

func TestMetricLabelsAreEscaped(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	metric{name: "x_total", kind: "counter", help: "X.", label: "why", by: map[string]float64{"b": 1, "a\"\\\n": 2}}.write(&b)
	want := "# HELP x_total X.\n# TYPE x_total counter\nx_total{why=\"a\\\"\\\\\\n\"} 2\nx_total{why=\"b\"} 1\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
