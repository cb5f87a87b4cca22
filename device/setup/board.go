package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"conch/device/config"
	"conch/gpio"
)

// bootFile is config.txt: below /boot/firmware since bookworm, below /boot before, where a file that only says so stands now.
func (w *wizard) bootFile() string {
	const now, before = "/boot/firmware/config.txt", "/boot/config.txt"
	if text := w.read(before); !w.exists(now) && text != "" && !strings.Contains(text, now) {
		return before
	}
	return now
}

func isPi(w *wizard) bool {
	return strings.Contains(w.read("/proc/device-tree/model"), "Raspberry Pi")
}

// cardUp is the board's sound card, if it is up.
func (w *wizard) cardUp(b gpio.Board) (id string, up bool) {
	here := gpio.SoundCards(w.Root)
	i := slices.IndexFunc(b.Cards, func(c string) bool { return slices.Contains(here, c) })
	if i < 0 {
		return "", false
	}
	return b.Cards[i], true
}

// lookBoard says which board is configured, and whether what it needs is up.
func (w *wizard) lookBoard() (string, bool) {
	b, known := gpio.FindBoard(w.cfg.Device.Board)
	if !known {
		for _, p := range gpio.Detect(gpio.DetectOptions{Root: w.Root}).Proposals {
			if p.Sure {
				return w.lang.Phrase("setup.board_seen", "board", p.Title), false
			}
		}
		return w.lang.Phrase("setup.board_unset"), false
	}
	id, up := w.cardUp(b)
	switch {
	case up:
		return w.lang.Phrase("setup.board_up", "board", b.Title, "card", id), true
	case len(b.Cards) == 0:
		return b.Title, true
	case w.newSinceBoot():
		return w.lang.Phrase("setup.board_boot", "board", b.Title), true
	}
	return w.lang.Phrase("setup.board_gone", "board", b.Title, "card", strings.Join(b.Cards, "/")), false
}

// newSinceBoot says whether config.txt was changed after the machine was started.
func (w *wizard) newSinceBoot() bool {
	info, err := os.Stat(w.path(w.bootFile()))
	_, rest, ok := strings.Cut(w.read("/proc/stat"), "\nbtime ")
	var boot int64
	if _, scan := fmt.Sscan(rest, &boot); err != nil || !ok || scan != nil {
		return false
	}
	return info.ModTime().After(time.Unix(boot, 0))
}

// askBoard proposes what the machine shows, and writes the board with what its driver needs.
func (w *wizard) askBoard(ctx context.Context) error {
	b, none, err := w.whichBoard(ctx)
	if err != nil {
		return err
	}
	var edits []config.Edit
	switch {
	case none && w.cfg.Device.Board != "":
		edits = []config.Edit{{Key: "device.board", Value: config.Quote("")}}
	case !none && b.Name != w.cfg.Device.Board:
		edits = []config.Edit{{Key: "device.board", Value: config.Quote(b.Name)}}
	}
	boot, trouble := bootChange(w, b)
	if b.Note != "" {
		w.say("  %s", b.Note)
	}
	var others []change
	if boot.path != "" {
		others = bootWrites(boot)
	}
	done, err := w.set(ctx, edits, others...)
	switch {
	case err != nil && boot.path != "" && len(edits) > 0 && strings.HasPrefix(err.Error(), boot.path): // the boot partition cannot be written: the rest goes on
		w.say("  %v", err)
		trouble = errors.New(w.lang.Phrase("setup.boot_unwritten", "file", boot.path) + "\n" + boot.diff())
		if done, err = w.set(ctx, edits); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	wrote := done && !none && trouble == nil && boot.path != ""
	if wrote {
		w.boot, w.now.NeedsBoot = true, true
	}
	switch {
	case trouble != nil:
		w.fail(trouble.Error(), w.lang.Phrase("setup.then_board"))
	case w.now.State == Skipped || w.now.State == Planned:
	case none:
		w.with(w.now.State, "%s", w.lang.Phrase("setup.no_board"))
	default:
		w.now.Text, _ = w.lookBoard()
		w.with(w.now.State, "%s", w.now.Text)
	}
	return nil
}

// whichBoard asks which it is; none: none of them.
func (w *wizard) whichBoard(ctx context.Context) (b gpio.Board, none bool, err error) {
	if w.Board != "" {
		if w.Board == "none" {
			return b, true, nil
		}
		if _, err := w.Load(map[string]string{"device.board": w.Board}); err != nil {
			return b, false, err
		}
		b, _ = gpio.FindBoard(w.Board)
		return b, false, nil
	}
	seen := gpio.Detect(gpio.DetectOptions{Root: w.Root, ProbeI2C: w.Root == "" && os.Getuid() == 0})
	const no, other = "none", "another"
	for {
		var choices []choice
		enter := -1
		for i, p := range seen.Proposals {
			choices = append(choices, choice{p.Board, p.Title + " (" + strings.Join(p.Evidence, "; ") + ")"})
			if p.Sure || len(seen.Proposals) == 1 || p.Board == w.cfg.Device.Board {
				enter = i
			}
		}
		if len(choices) == 0 {
			for i, r := range gpio.Boards {
				choices = append(choices, choice{r.Name, r.Title})
				if r.Name == w.cfg.Device.Board {
					enter = i
				}
			}
		} else {
			choices = append(choices, choice{other, w.lang.Phrase("setup.another_board")})
		}
		choices = append(choices, choice{no, w.lang.Phrase("setup.no_such_board")})
		if enter < 0 { // several could be, and they do not agree about the button: nobody guesses
			enter = len(choices) - 1
		}
		i, err := w.choose(ctx, w.lang.Phrase("setup.which_board"), choices, enter)
		if err != nil {
			return b, false, err
		}
		switch name := choices[i].word; name {
		case other:
			seen.Proposals = nil
		case no:
			return b, true, nil
		default:
			b, _ = gpio.FindBoard(name)
			return b, false, nil
		}
	}
}

// bootWanted are the lines that a board needs of config.txt. What is up without one (the board's own memory has said so, or
// another file) needs none.
func (w *wizard) bootWanted(b gpio.Board, text string) (lines []string, missing error) {
	stands := func(line string) bool {
		p := planBoot(text, b.Name, []string{line}, filtersOf(strings.TrimSpace(w.read("/proc/device-tree/model"))))
		return len(p.theirs) > 0 || strings.Contains(text, "\n"+line+"\n")
	}
	if b.Overlay != "" {
		name, _, _ := strings.Cut(strings.TrimPrefix(b.Overlay, "dtoverlay="), ",")
		dir := strings.TrimSuffix(w.bootFile(), "config.txt") + "overlays/"
		_, up := w.cardUp(b)
		switch {
		case up && !stands(b.Overlay):
		case w.exists(dir+"*.dtbo") && !w.exists(dir+name+".dtbo"):
			missing = errors.New(w.lang.Phrase("setup.no_overlay", "board", b.Title, "overlay", name, "note", b.Note))
		default:
			lines = append(lines, b.Overlay)
		}
	}
	for _, p := range []struct {
		needed       bool
		device, line string
	}{
		{b.Light.Driver == gpio.LightAPA102, "/dev/spidev0.*", "dtparam=spi=on"},
		{len(b.I2C) > 0, "/dev/i2c-1", "dtparam=i2c_arm=on"},
	} {
		if p.needed && (!w.exists(p.device) || stands(p.line)) {
			lines = append(lines, p.line)
		}
	}
	return lines, missing
}

// bootChange is what becomes of config.txt; no path: nothing.
func bootChange(w *wizard, b gpio.Board) (change, error) {
	path := w.bootFile()
	data, err := os.ReadFile(w.path(path))
	if err != nil {
		lines, missing := w.bootWanted(b, "")
		switch {
		case len(lines) == 0, !isPi(w) && errors.Is(err, fs.ErrNotExist):
			return change{}, missing
		case errors.Is(err, fs.ErrNotExist):
			return change{}, errors.New(w.lang.Phrase("setup.boot_missing", "file", path, "lines", strings.Join(lines, ", ")))
		}
		return change{}, errors.New(w.lang.Phrase("setup.boot_unread", "why", path+": "+config.UnwrapPath(err).Error(),
			"lines", strings.Join(lines, ", ")))
	}
	text := string(data)
	lines, missing := w.bootWanted(b, text)
	p := planBoot(text, b.Name, lines, filtersOf(strings.TrimSpace(w.read("/proc/device-tree/model"))))
	for _, r := range p.theirs {
		w.say("  %s", w.lang.Phrase("setup.boot_theirs", "file", path, "line", r.number, "text", r))
	}
	for _, r := range p.off {
		w.say("  %s", w.lang.Phrase("setup.boot_off", "file", path, "line", r.number, "text", r))
	}
	if p.after == text {
		return change{}, missing
	}
	return change{path: w.path(path), before: text, after: p.after}, missing
}

// bootWrites is the change with a copy of what was before it.
func bootWrites(c change) []change {
	backup := change{path: c.path + ".before-conch", after: c.before, copy: true}
	if data, err := os.ReadFile(backup.path); err == nil {
		backup.before = string(data)
	}
	return []change{backup, c}
}
