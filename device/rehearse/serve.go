package rehearse

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"conch/companions/voice/rehearsal"
	"conch/device/config"
	"conch/device/control"
	"conch/device/printable"
)

// Serve offers the rehearsal voice to other clients until ctx ends.
// keyFile holds the only key that is let in; empty: any is.
func Serve(ctx context.Context, addr, faults, keyFile string, log *slog.Logger, out io.Writer) error {
	f, err := rehearsal.ParseFaults(faults)
	if err != nil {
		return fmt.Errorf("%w: --faults: %w", control.ErrRefused, err)
	}
	o, who := rehearsal.Options{Log: log, Faults: f}, "a key has to be sent, and any will do"
	if keyFile != "" {
		if o.Key, err = readKey(keyFile); err != nil {
			return fmt.Errorf("%w: --key-file: %w", control.ErrRefused, err)
		}
		who = "with the key in " + keyFile
	}
	server := rehearsal.New(o)
	address, err := server.Listen(addr)
	if err != nil {
		return fmt.Errorf("%w: --serve: %w", control.ErrRefused, err)
	}
	fmt.Fprintf(out, "rehearsal voice at %s (%s); %s; Ctrl-C ends it\n", address, server.About(), who)
	return server.Run(ctx)
}

// readKey reads a file with a key and nothing else, which is for its owner's eyes only.
func readKey(path string) (string, error) {
	data, info, err := config.ReadBounded(path, config.MaxKey)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	key := config.BareKey(string(data))
	switch wide := info.Mode().Perm() &^ 0o600; {
	case wide != 0:
		return "", fmt.Errorf("%s: mode %04o lets others read the key: %s", path, info.Mode().Perm(), printable.Chmod("600", path))
	case key == "" || !config.Sendable(key):
		return "", fmt.Errorf("%s: must hold one line of visible ASCII characters and nothing else", path)
	}
	return key, nil
}
