package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Level is how much a finding matters.
type Level string

// Levels, the worst last.
const (
	OK   Level = "ok"
	Note Level = "note" // worth knowing; nothing is wrong
	Warn Level = "warn" // it works, and could be better, or will stop to work
	Bad  Level = "bad"  // it keeps conch, or a part of it, from working
)

// A Finding is one thing doctor looked at. The field names are an interface (conch doctor --json): they stay.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"`            // what was found
	Cause string `json:"cause,omitempty"` // why; every warn and bad has one
	Do    string `json:"do,omitempty"`    // what to do about it: a command or a setting; every warn and bad has one
	Group Group  `json:"group"`           // what it belongs to
}

// Group is what a check belongs to, as people think of the box.
type Group string

// Groups, in the order of a report.
const (
	Box     Group = "machine"
	Service Group = "service"
	Button  Group = "button"
	Sound   Group = "sound"
	Network Group = "network"
	Voice   Group = "voice"
	Room    Group = "room"
)

// Groups lists them in the order of a report.
func Groups() []Group { return []Group{Box, Service, Button, Sound, Network, Voice, Room} }

// Check is one look at one thing. Look may call itself several things: its findings are named by it (Finding.Check).
type Check struct {
	Name  string        // of the check, and of its findings unless they have a name of their own
	Also  []string      // names that its findings may have besides Name
	About string        // one line for the table in the package comment
	Group Group         //
	Limit time.Duration // it may take so long; 0: the usual
	Look  func(context.Context, *Machine, *Subject) []Finding
}

const (
	usual      = 5 * time.Second // our choice: what is here answers in milliseconds; a busy Zero takes seconds to ask systemd
	soundLimit = 6 * time.Second
	grace      = 500 * time.Millisecond // for a check whose time is over to say so itself
	whole      = 9 * time.Second        // of all checks: APPLIANCE.md asks for less than ten
)

// Run looks at everything at once, each check within its limit, and returns what was found in the order of the groups. A
// check that hangs (a card that does not answer, a dead mount) is left behind and named; its goroutine ends with the program.
func Run(ctx context.Context, m *Machine, s *Subject, checks []Check) []Finding {
	ctx, cancel := context.WithTimeout(ctx, whole)
	defer cancel()
	found := make([][]Finding, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() { found[i] = c.run(ctx, m, s) })
	}
	wg.Wait()
	var out []Finding
	hide := m.hider(s)
	for _, f := range slices.Concat(found...) {
		f.Text, f.Cause, f.Do = hide(f.Text), hide(f.Cause), hide(f.Do)
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return slices.Index(Groups(), a.Group) - slices.Index(Groups(), b.Group)
	})
	return out
}

// run is one check, bounded.
func (c Check) run(ctx context.Context, m *Machine, s *Subject) []Finding {
	limit := cmp.Or(c.Limit, usual)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan []Finding, 1) // one slot: a check that was left behind ends too, some day
	go func() {
		defer func() {
			if p := recover(); p != nil { // a defect here shall not hide what the other checks found
				done <- note("", "this check failed itself: %v", p)
			}
		}()
		done <- c.Look(ctx, m, s)
	}()
	left := time.NewTimer(limit + grace)
	defer left.Stop()
	var found []Finding
	select {
	case found = <-done:
	case <-left.C:
		found = warn("", fmt.Sprintf("no answer within %s", limit),
			"what is looked at here hangs: a device or a mount that does not answer, or a machine that is very busy",
			"dmesg --level=err,warn | tail")
	}
	for i := range found {
		if found[i].Check == "" {
			found[i].Check = c.Name
		}
		if found[i].Group == "" {
			found[i].Group = c.Group
		}
	}
	return found
}

// The four ways to say something. An empty name is the check's own.
func ok(name, format string, args ...any) []Finding {
	return []Finding{{Check: name, Level: OK, Text: fmt.Sprintf(format, args...)}}
}

func note(name, format string, args ...any) []Finding {
	return []Finding{{Check: name, Level: Note, Text: fmt.Sprintf(format, args...)}}
}

func warn(name, text, cause, do string) []Finding {
	return []Finding{{Check: name, Level: Warn, Text: text, Cause: cause, Do: do}}
}

func bad(name, text, cause, do string) []Finding {
	return []Finding{{Check: name, Level: Bad, Text: text, Cause: cause, Do: do}}
}

// tip is a note that something can be done about.
func tip(name, text, do string) []Finding {
	return []Finding{{Check: name, Level: Note, Text: text, Do: do}}
}

// unknown is what cannot be known with the rights of the caller.
func unknown(name, what, do string) []Finding {
	return tip(name, what+" cannot be seen without root", do)
}

// Counts are how many findings there are of each level.
func Counts(found []Finding) map[Level]int {
	n := map[Level]int{}
	for _, f := range found {
		n[f.Level]++
	}
	return n
}

// named joins words for a sentence.
func named(words []string) string { return strings.Join(words, ", ") }
