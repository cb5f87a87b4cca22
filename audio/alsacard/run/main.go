// Command run runs a command on a machine whose sound card is the simulated one of package alsacard, and ends as that does:
//
//	go run ./audio/alsacard/run bin/conch bench footprint
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"conch/audio/alsacard"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		var ended *exec.ExitError
		if errors.As(err, &ended) && ended.ExitCode() > 0 {
			os.Exit(ended.ExitCode()) //nolint:forbidigo // a program of its own
		}
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1) //nolint:forbidigo // likewise
	}
}

func run(command []string) error {
	if len(command) == 0 {
		return errors.New("a command is missing")
	}
	dir, err := os.MkdirTemp("", "conch-card-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := alsacard.Build(dir); err != nil {
		return err
	}
	card, err := alsacard.New(dir, alsacard.Options{})
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "ALSA_CONFIG_PATH="+card.ConfigPath(), "CONCH_AUDIO_PLAYBACK="+card.Device(), "CONCH_AUDIO_CAPTURE="+card.Device())
	return cmd.Run()
}
