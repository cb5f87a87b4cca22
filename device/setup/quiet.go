package setup

import (
	"context"
	"strings"

	"conch/device/config"
)

// quietKey are the hours in which people sleep; usual is what Enter gives.
const (
	quietKey = "device.quiet"
	usual    = "22:00-07:00"
	noHours  = "none"
)

// lookQuiet says when it is quiet.
func (w *wizard) lookQuiet() (string, bool) {
	text := w.lang.Phrase("setup.quiet_never")
	if hours := w.cfg.Device.Quiet; hours != "" {
		text = w.lang.Phrase("setup.quiet_hours", "hours", hours)
	}
	return text, !w.cfg.Unset(quietKey)
}

// askQuiet asks for the hours, until what is typed are some.
func (w *wizard) askQuiet(ctx context.Context) error {
	enter := usual
	if !w.cfg.Unset(quietKey) {
		enter = w.cfg.Device.Quiet
		if enter == "" {
			enter = noHours
		}
	}
	hours := w.Quiet
	if hours == "" && w.nobody { // nobody has said when
		_, err := w.line(ctx, w.lang.Phrase("setup.quiet_when"), enter)
		return err
	}
	for hours == "" {
		var err error
		if hours, err = w.line(ctx, w.lang.Phrase("setup.quiet_when"), enter); err != nil {
			return err
		}
		if _, _, err = config.ParseHours(hours); err != nil && hours != noHours {
			w.say("%s", w.lang.Phrase("setup.no_hours"))
			hours = ""
		}
	}
	if hours == noHours {
		hours = ""
	}
	if _, err := w.set(ctx, []config.Edit{{Key: quietKey, Value: config.Quote(strings.ReplaceAll(hours, " ", ""))}}); err != nil {
		return err
	}
	if w.now.State != Skipped {
		text, _ := w.lookQuiet()
		w.with(w.now.State, "%s", text)
	}
	return nil
}
