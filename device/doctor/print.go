package doctor

import (
	"fmt"
	"io"
	"strings"

	"conch/device/printable"
)

// First is what to mend before anything else: the first that keeps conch from working, in the order in which one thing hangs on
// another. What the running appliance complains of follows from something, and comes after what was found.
func First(found []Finding) (first Finding, any bool) {
	for _, f := range found {
		symptom := strings.HasPrefix(f.Check, "condition ")
		switch {
		case f.Level != Bad:
		case !symptom:
			return f, true
		case !any:
			first, any = f, true
		}
	}
	return first, any
}

// Print writes findings for people: what to mend first, where there is more than one thing; a heading for each group, what is in order
// folded into one line unless verbose, and below each trouble its cause and what to do.
//
//	first, of 3 that are bad
//	  bad   holder       playback of Device is held by pulseaudio
//	        …
//	sound
//	  bad   holder       playback of Device is held by pulseaudio
//	        cause        a sound server of somebody logged in has the card
//	        do           …
//	  ok    sound, buffer
func Print(w io.Writer, found []Finding, verbose bool) {
	if first, any := First(found); any && Counts(found)[Bad] > 1 {
		fmt.Fprintf(w, "first, of %d that are bad\n", Counts(found)[Bad])
		line(w, string(first.Level), first.Check, first.Text)
		line(w, "", "cause", first.Cause)
		line(w, "", "do", first.Do)
	}
	for _, g := range Groups() {
		var fine []string
		var lines []Finding
		for _, f := range found {
			switch {
			case f.Group != g:
			case f.Level == OK && !verbose:
				if len(fine) == 0 || fine[len(fine)-1] != f.Check {
					fine = append(fine, f.Check)
				}
			default:
				lines = append(lines, f)
			}
		}
		if len(fine)+len(lines) == 0 {
			continue
		}
		fmt.Fprintln(w, g)
		for _, f := range lines {
			line(w, string(f.Level), f.Check, f.Text)
			line(w, "", "cause", f.Cause)
			line(w, "", "do", f.Do)
		}
		if len(fine) > 0 {
			fmt.Fprintf(w, "  %-5s %s\n", OK, strings.Join(fine, ", "))
		}
	}
	n := Counts(found)
	fmt.Fprintf(w, "%d bad, %s, %s, %d in order\n", n[Bad], printable.Count(n[Warn], "warning"), printable.Count(n[Note], "note"), n[OK])
}

func line(w io.Writer, level, name, text string) {
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			level, name = "", ""
		}
		if text != "" {
			fmt.Fprintf(w, "  %-5s %-12s %s\n", level, name, printable.Text(part))
		}
	}
}
