package spelling

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Whatever a file holds, the parser takes no more than a small machine has to spare, and what is refused is said with line and remedy.
func TestTOMLIsBoundedBeforeItIsParsed(t *testing.T) {
	rep := strings.Repeat
	for _, row := range []struct{ name, text, say string }{
		{"a long path", "[audio]\n" + rep("a.", 15000) + "a = 1\n", "line 2: more than 8 names"},
		{"a long path, quoted", rep(`"a".`, 15000) + "a = 1\n", "line 1: more than 8 names"},
		{"a long header", "[" + rep("a.", 15000) + "a]\n", "line 1: more than 8 names"},
		{"a long list header", "[[" + rep("a . ", 15000) + "a]]\n", "line 1: more than 8 names"},
		{"tables in tables", "a = " + rep("{a = ", 15000), "line 1: more than 8 names"},
		{"lists in lists", "a = [\n\n" + rep("[", 200000), "line 3: more than 8 names"},
		{"tables of paths in each other", "a={a.b.c.d={a.b.c.d={a.b.c.d=1}}}", "line 1: more than 8 names"},
		{"behind a text with marks in it", "a = \"[[[[[[[[\\\"\" # [[[[[[[[[\nb = '''\n[[[[[[[[[[''''\n" + rep("a.", 9) + "a = 1\n", "line 4: more than 8 names"},
		{"zeros", rep("\x00", 1000), "line 1: there are zero bytes"},
		{"zeros at the end", "[audio]\nvolume = 40\n" + rep("\x00", 1000), "line 3: there are zero bytes"},
		{"zeros in the middle", "[audio]\n# \x00\nvolume = 40\n", "line 2: there are zero bytes"},
		{"too much", rep("# x\n", MaxTOML/4+1), "more than the 262144 allowed"},
		{"many texts in a line", "a = [" + rep(`"",`, 80000) + "]", ""},
		{"many sections", rep("[[a.b.c.d.e]]\n", MaxTOML/14), ""},
		{"many paths", rep("[[a.b.c.d.e]]\na.b.c.d.e.f.g.h = {a = 1}\n", 6000), "line 2: more than 8 names"},
		{"paths in lists", "a = [" + rep("{a.b.c.d.e = 1.5},\n", 12000) + "]", ""},
		{"what people write",
			"x = 1.5\n[a.b]\nc = [[1.5, 2.5], [3.5, 4.5]] # a.b.c.d.e.f.g.h.i.j\nd = \"a.b.c.d.e.f.g.h.i.j [[[[[[[[\"\ne = {f = {g = 'x'}}\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var tree map[string]any
			_, err := Decode(row.text, &tree)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 128<<20 {
				t.Errorf("%d bytes were allocated for one of %d", took, len(row.text))
			}
			if row.say == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.As(err, &refusedError{}) {
				t.Fatalf("it was parsed: %v", err)
			}
			line, say := TOML(row.text, err)
			if got := fmt.Sprintf("line %d: %s", line, say); !strings.Contains(got, row.say) || !strings.Contains(say, ": ") {
				t.Errorf("%q; want %q", got, row.say)
			}
		})
	}
}

// FuzzTOML has any text bounded: what is not refused is parsed with little.
func FuzzTOML(f *testing.F) {
	f.Add("[a.b]\nc = \"\"\"x\"\"\"\"\nd = ['''y''', {e = 1.5}]\n")
	f.Add("a.'b.c'.\"d\" = [[1,\n2], [3]] # .\n")
	f.Fuzz(func(t *testing.T, text string) {
		// What the fuzzer finds out of step with the parser, a repetition makes expensive.
		text += strings.Repeat("a.", 2000) + "a = 1\n"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var tree map[string]any
		_, err := Decode(text, &tree)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("%d bytes were allocated (%v)", took, err)
		}
	})
}
