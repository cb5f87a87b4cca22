package room

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"conch/companions"
	"conch/device/control"
)

// Replay decides the rounds of ledgers again, and needs no appliance for it; with JSON each is an object. A file that cannot be read
// is refused before anything is printed; a choice that comes out differently is an error, after all has been printed.
func Replay(w io.Writer, files []string, asJSON bool) error {
	for _, file := range files {
		if err := checkReplay(file); err != nil {
			return fmt.Errorf("%w: room replay: %w", control.ErrRefused, err)
		}
	}
	out := bufio.NewWriter(w)
	return errors.Join(replayLedgers(out, files, asJSON), out.Flush())
}

// checkReplay says whether a file is a ledger, by its first entry. A directory is one's.
func checkReplay(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.IsDir() {
		return err
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var first struct {
			Kind string `json:"kind"`
		}
		if json.Unmarshal(lines.Bytes(), &first) == nil && first.Kind != "" {
			return nil
		}
	}
	return fmt.Errorf("%s: it holds no ledger entry", file)
}

// replayed is what a ledger's replay says in JSON.
type replayed struct {
	Ledger      string   `json:"ledger"`
	Rounds      int      `json:"rounds"`
	Skipped     int      `json:"skipped_lines"`
	Differences []string `json:"differences"`
}

func replayLedgers(w io.Writer, files []string, asJSON bool) error {
	var failed error
	for _, file := range files {
		entries, skipped, err := companions.ReadLedger(file)
		if err != nil {
			return fmt.Errorf("%w: room replay: %w", control.ErrRefused, err)
		}
		r := replayed{Ledger: file, Skipped: skipped, Differences: []string{}}
		var differences []error
		r.Rounds, differences = companions.ReplayLedger(entries)
		for _, d := range differences {
			r.Differences = append(r.Differences, d.Error())
		}
		if len(differences) > 0 {
			failed = errors.Join(failed, fmt.Errorf("room replay: %s: %d differences in %d rounds", file, len(differences), r.Rounds))
		}
		if asJSON {
			if err := json.NewEncoder(w).Encode(r); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s: %d rounds, ", file, r.Rounds)
		if len(differences) == 0 {
			fmt.Fprint(w, "every choice reproduced")
		} else {
			fmt.Fprintf(w, "%d differences", len(differences))
		}
		if skipped > 0 {
			fmt.Fprintf(w, " (%d lines are no entries)", skipped)
		}
		fmt.Fprintln(w)
		for _, d := range r.Differences {
			fmt.Fprintln(w, " ", d)
		}
	}
	return failed
}
