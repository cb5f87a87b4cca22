package setup

import (
	"slices"
	"strings"
)

// What the boot of a Pi has to be told of a board: lines of config.txt, in a block of our own at its end. What a person has
// written there stays, letter for letter, and nothing that they have is said twice.
//
//	# conch: for waveshare-wm8960; conch setup board writes this block anew
//	[all]
//	dtoverlay=wm8960-soundcard
//	# conch: end

const (
	blockBegin = "# conch: for "
	blockHow   = "; conch setup board writes this block anew"
	blockEnd   = "# conch: end"
)

// bootPlan is what config.txt becomes.
type bootPlan struct {
	after  string
	add    []string  // that the block has now
	theirs []bootRow // of what is wanted: the person has it already
	off    []bootRow // the person says the opposite
}

// bootRow is a line of config.txt that a person has written.
type bootRow struct {
	number int
	text   string
	filter string // the section that it is in, where that may not be this machine's
}

func (r bootRow) String() string {
	if r.filter != "" {
		return r.text + " [" + r.filter + "]"
	}
	return r.text
}

// planBoot makes the block for a board out of the lines that it wants; none: the block goes. filters are the sections that
// count on this machine.
func planBoot(before, board string, want, filters []string) bootPlan {
	ending := "\n"
	if strings.Contains(before, "\r\n") {
		ending = "\r\n"
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(before, "\r\n", "\n"), "\n"), "\n")
	if before == "" {
		lines = nil
	}
	from, to := blockAt(lines)
	var p bootPlan
	theirs := bootRows(lines, from, to, filters)
	for _, w := range want {
		i := slices.IndexFunc(theirs, func(r bootRow) bool { return sameSetting(r.text, w) })
		if i >= 0 {
			p.theirs = append(p.theirs, theirs[i])
			continue
		}
		if i := slices.IndexFunc(theirs, func(r bootRow) bool { return opposite(r.text, w) }); i >= 0 {
			p.off = append(p.off, theirs[i])
		}
		p.add = append(p.add, w)
	}
	var block []string
	if len(p.add) > 0 {
		block = slices.Concat([]string{blockBegin + board + blockHow, "[all]"}, p.add, []string{blockEnd})
	}
	switch {
	case from >= 0:
		lines = slices.Replace(lines, from, to, block...)
	case len(block) > 0:
		if n := len(lines); n > 0 && strings.TrimSpace(lines[n-1]) != "" {
			lines = append(lines, "")
		}
		lines = append(lines, block...)
	default:
		p.after = before
		return p
	}
	p.after = strings.Join(lines, ending)
	if len(lines) > 0 {
		p.after += ending
	}
	return p
}

// blockAt is where our block is; -1: there is none. One whose end somebody has deleted ends where its own lines do.
func blockAt(lines []string) (from, to int) {
	from = slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, blockBegin) })
	if from < 0 {
		return -1, -1
	}
	for to = from + 1; to < len(lines); to++ {
		l := strings.TrimSpace(lines[to])
		if l == blockEnd {
			return from, to + 1
		}
		if l != "[all]" && !strings.HasPrefix(l, "dtoverlay=") && !strings.HasPrefix(l, "dtparam=") {
			return from, to
		}
	}
	return from, to
}

// bootRows are the settings outside our block that count on this machine, or may.
func bootRows(lines []string, from, to int, filters []string) (rows []bootRow) {
	section := "all"
	for i, l := range lines {
		l = strings.TrimSpace(l)
		switch {
		case i >= from && i < to, l == "", strings.HasPrefix(l, "#"):
		case strings.HasPrefix(l, "["):
			section = strings.ToLower(strings.Trim(l, "[] "))
		case section == "all" || slices.Contains(filters, section):
			rows = append(rows, bootRow{number: i + 1, text: l})
		case section == "none" || slices.Contains(models, section): // of another Pi
		default: // a display, a pin, a serial number: nobody knows from here
			rows = append(rows, bootRow{number: i + 1, text: l, filter: section})
		}
	}
	return rows
}

// models are the sections that name one (Raspberry Pi documentation, config.txt, "Conditional filters").
var models = []string{"pi0", "pi0w", "pi02", "pi1", "pi2", "pi3", "pi3+", "pi4", "pi400", "pi5", "pi500", "cm0", "cm1", "cm3", "cm3+", "cm4", "cm4s", "cm5"}

// filtersOf are the sections that count on a model, as the device tree calls it.
func filtersOf(model string) (all []string) {
	model = strings.TrimPrefix(model, "Raspberry Pi ")
	for _, m := range []struct {
		begins  string
		filters []string
	}{
		{"Zero 2", []string{"pi0", "pi0w", "pi02"}}, {"Zero W", []string{"pi0", "pi0w"}}, {"Zero", []string{"pi0"}},
		{"3 Model A Plus", []string{"pi3", "pi3+"}}, {"3 Model B Plus", []string{"pi3", "pi3+"}}, {"3", []string{"pi3"}},
		{"Compute Module 3 Plus", []string{"pi3", "cm3", "cm3+"}}, {"Compute Module 3", []string{"pi3", "cm3"}},
		{"400", []string{"pi4", "pi400"}}, {"4", []string{"pi4"}}, {"Compute Module 4S", []string{"pi4", "cm4s"}}, {"Compute Module 4", []string{"pi4", "cm4"}},
		{"500", []string{"pi5", "pi500"}}, {"5", []string{"pi5"}}, {"Compute Module 5", []string{"pi5", "cm5"}},
		{"2", []string{"pi2"}},
	} {
		if strings.HasPrefix(model, m.begins) {
			return m.filters
		}
	}
	return nil
}

// setting is one line taken apart: what it sets, and to what. An overlay's parameters are a person's own business.
func setting(line string) (kind string, names map[string]string) {
	key, value, _ := strings.Cut(line, "=")
	names = map[string]string{}
	switch strings.TrimSpace(key) {
	case "dtoverlay", "device_tree_overlay":
		name, _, _ := strings.Cut(value, ",")
		names[strings.TrimSuffix(strings.TrimSpace(name), "-overlay")] = "on"
		return "overlay", names
	case "dtparam", "device_tree_param":
		for part := range strings.SplitSeq(value, ",") {
			name, v, is := strings.Cut(strings.TrimSpace(part), "=")
			if !is {
				v = "on"
			}
			if name == "i2c" { // another name of it
				name = "i2c_arm"
			}
			names[name] = v
		}
		return "param", names
	}
	return "", names
}

// sameSetting says whether a person's line has all that is wanted.
func sameSetting(line, want string) bool {
	kind, have := setting(line)
	kindWanted, wanted := setting(want)
	for name, v := range wanted {
		if have[name] != v {
			return false
		}
	}
	return kind == kindWanted && kind != ""
}

// opposite says whether a person's line switches off what is wanted.
func opposite(line, want string) bool {
	kind, have := setting(line)
	_, wanted := setting(want)
	for name := range wanted {
		if kind == "param" && slices.Contains([]string{"off", "false", "0", "no"}, have[name]) {
			return true
		}
	}
	return false
}
