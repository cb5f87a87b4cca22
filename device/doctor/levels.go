package doctor

import (
	"context"
	"slices"
	"strings"

	"conch/device/sound"
	"conch/gpio"
)

// checkLevels looks at the mixers of the cards that conch plays on and hears with: a level at zero is a card that is in order
// and silent.
func checkLevels(_ context.Context, m *Machine, s *Subject) (out []Finding) {
	if !s.alsa() || m.Levels == nil {
		return nil
	}
	var here, ids []string
	for _, c := range m.cards() {
		here = append(here, c.id)
	}
	b, _ := gpio.FindBoard(s.Board)
	for _, id := range append([]string{cardOf(s.Sound.Playback), cardOf(s.Sound.Capture)}, b.Cards...) {
		if slices.Contains(here, id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 && len(here) == 1 {
		ids = here
	}
	for _, id := range ids {
		all, err := m.Levels(id)
		if err != nil { // the check of the card says who may not open it
			continue
		}
		board := s.Board
		if !slices.Contains(b.Cards, id) {
			board = ""
		}
		silent := sound.Silent(board, all)
		if len(silent) == 0 {
			out = append(out, ok("", "%s: none is at zero", id)...)
			continue
		}
		names := silent[:min(len(silent), 4)]
		out = append(out, warn("", id+": at zero or muted: "+strings.Join(names, "; "), "somebody turned it down, or nobody ever turned it up",
			"alsamixer -c "+id+" (F5 shows all; M is the mute), or: amixer -c "+id+" sset '"+simple(names[0])+"' 80% unmute; then sudo alsactl store")...)
	}
	return out
}

// simple is a control as amixer's sset calls it: without what it does.
func simple(name string) string {
	for _, end := range []string{" Playback Volume", " Playback Switch", " Capture Volume", " Capture Switch", " Volume", " Switch"} {
		if before, is := strings.CutSuffix(name, end); is {
			return before
		}
	}
	return name
}
