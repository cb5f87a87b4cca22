// Command screens sits at conch as a person does, in a tmux of its own, and draws what stands on the screen: ten situations as one SVG
// each (make screens), or the way through a room as one that moves (-play room).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	binary := flag.String("conch", "bin/conch", "the program")
	out := flag.String("out", "build/screens", "directory for the pictures")
	only := flag.String("only", "", "one situation instead of all")
	play := flag.String("play", "", "file for the recording of a room, instead of the situations")
	flag.Parse()
	if err := run(*binary, *out, *only, *play); err != nil {
		fmt.Fprintln(os.Stderr, "screens:", err)
		os.Exit(1)
	}
}

func run(binary, out, only, play string) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	if play != "" {
		return record(ctx, binary, play)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	known := false
	for _, s := range situations {
		if only != "" && s.name != only {
			continue
		}
		known = true
		shot, err := sit(ctx, binary, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		file := filepath.Join(out, s.name+".svg")
		picture := still(shot, s.title)
		if err := os.WriteFile(file, []byte(picture), 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, s.name+".txt"), []byte(shot.text()), 0o644); err != nil {
			return err
		}
		fmt.Printf("%-12s %3d x %2d  %5d bytes  %s\n", s.name, shot.width, len(shot.rows), len(picture), s.title)
	}
	if !known {
		return errors.New("no situation is called " + only)
	}
	return nil
}

// sit plays one situation.
func sit(ctx context.Context, binary string, s situation) (screen, error) {
	t, err := open(ctx, binary, s)
	if err != nil {
		return screen{}, err
	}
	defer t.close()
	for _, step := range s.steps {
		if err := step(t); err != nil {
			shot, _ := t.look()
			return screen{}, fmt.Errorf("%w; on the screen:\n%s", err, shot.text())
		}
	}
	return t.look()
}

// record plays the room and keeps each screen that differs from the one before it.
func record(ctx context.Context, binary, file string) error {
	t, err := open(ctx, binary, tour)
	if err != nil {
		return err
	}
	defer t.close()
	var (
		frames []frame
		start  time.Time
		done   = make(chan error, 1)
	)
	if err := tour.steps[0](t); err != nil { // what it takes to begin is not worth seeing
		return err
	}
	go func() {
		for _, step := range tour.steps[1:] {
			if err := step(t); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	start = time.Now()
	for tick := time.NewTicker(300 * time.Millisecond); ; <-tick.C {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			picture := moving(frames, time.Since(start)+3*time.Second, tour.title)
			fmt.Printf("%s: %d screens, %.0f s, %d bytes\n", file, len(frames), time.Since(start).Seconds(), len(picture))
			return os.WriteFile(file, []byte(picture), 0o644)
		default:
		}
		shot, err := t.look()
		if err != nil {
			return err
		}
		if n := len(frames); n == 0 || !slices.EqualFunc(frames[n-1].rows, shot.rows, row.equal) || frames[n-1].at != shot.at {
			frames = append(frames, frame{shot, time.Since(start)})
		}
	}
}
