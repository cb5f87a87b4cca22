package aloud

import "testing"

// FuzzPlain: nothing is held for ever, and nothing is left at the end.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{"a **b** [c](d) `e`", "```\nx\n", "| a |\n", "http://x.y", "\xff\xfe", "![", "- - -"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, step int) {
		if len(text) > 1000 || step < 1 {
			t.Skip("longer than what is looked at here, or no step")
		}
		var p Plain
		for rest := text; rest != ""; {
			k := min(step, len(rest))
			p.Write(rest[:k])
			if rest = rest[k:]; len(p.held) > mostURL+step+mostHeld {
				t.Fatalf("%d bytes are held", len(p.held))
			}
		}
		if p.Flush(true); p.held != "" {
			t.Errorf("left: %q", p.held)
		}
	})
}
