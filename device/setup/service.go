package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"conch/device/language"
)

// unit is the installed service.
const unit = "conch.service"

// serviceLimit is longer than the unit's own limits for stopping and starting together.
const serviceLimit = 90 * time.Second

// ServiceState is what systemd says of the unit; empty: there is no systemd, or it does not answer.
func ServiceState(ctx context.Context) string {
	text, _ := systemctl(ctx, "show", "--property=ActiveState", "--value", unit)
	if !slices.Contains([]string{"active", "activating", "reloading", "deactivating", "failed", "inactive"}, text) {
		return ""
	}
	return text
}

// up says that the service runs, or is about to.
func up(ctx context.Context) bool {
	return slices.Contains([]string{"active", "activating", "reloading"}, ServiceState(ctx))
}

// RestartService makes the running service take what was stored: credentials are read when it starts. A service that somebody
// stopped stays so.
func RestartService(ctx context.Context, out io.Writer, l language.Language) error {
	if path, _ := exec.LookPath("systemctl"); path == "" {
		fmt.Fprintln(out, l.Phrase("service.no_systemd"))
		return nil
	}
	switch ServiceState(ctx) {
	case "":
		fmt.Fprintln(out, l.Phrase("service.silent"))
		return nil
	case "inactive":
		fmt.Fprintln(out, l.Phrase("service.stopped"))
		return nil
	}
	fmt.Fprintln(out, l.Phrase("service.restarting"))
	if err := restart(ctx, l); err != nil {
		return err
	}
	fmt.Fprintln(out, l.Phrase("service.runs"))
	return nil
}

// restart starts the service anew, whatever it did.
func restart(ctx context.Context, l language.Language) error {
	_, _ = systemctl(ctx, "daemon-reload")      // which devices it may use depends on its button (systemd/keys-generator)
	_, _ = systemctl(ctx, "reset-failed", unit) // it may have failed so often that systemd would refuse
	if text, err := systemctl(ctx, "restart", unit); err != nil {
		return errors.New(l.Phrase("service.failed", "why", text))
	}
	return nil
}

// systemctl asks systemd, and waits no longer than a service may take.
func systemctl(ctx context.Context, args ...string) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, serviceLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput()
	text = strings.TrimSpace(string(out))
	if err != nil && text == "" {
		text = err.Error()
	}
	return text, err
}
