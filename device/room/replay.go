package room

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"conch/companions"
	"conch/device/config"
	"conch/device/control"
)

// Replay decides the rounds of ledgers again, and needs no appliance for it; with JSON each is an object. A file that cannot be read
// is refused before anything is printed; a choice that comes out differently is an error, after all has been printed.
func Replay(w io.Writer, files []string, asJSON bool) error {
	var all []string
	for _, file := range files {
		list := []string{file}
		st, err := os.Stat(file)
		if err == nil && st.IsDir() {
			list, err = ledgersIn(file)
		}
		if err != nil {
			return fmt.Errorf("%w: room replay: %s", control.ErrRefused, named(file, err))
		}
		all = append(all, list...)
	}
	for _, file := range all {
		if err := checkReplay(file); err != nil {
			return fmt.Errorf("%w: room replay: %w", control.ErrRefused, err)
		}
	}
	out := bufio.NewWriter(w)
	return errors.Join(replayLedgers(out, all, asJSON), out.Flush())
}

// named is what is wrong with a file, which it names once.
func named(file string, err error) string {
	if inner := config.UnwrapPath(err); inner != err { //nolint:errorlint // is it wrapped at all?
		return file + ": " + inner.Error()
	}
	return err.Error()
}

// checkReplay says whether a file is a ledger, by its first entry. A directory is one's.
func checkReplay(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, config.UnwrapPath(err))
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return fmt.Errorf("%s: %w", file, config.UnwrapPath(err))
	} else if st.IsDir() {
		return nil // its own ledger
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

// ledgersIn are the ledgers of a directory: that of a device, or what a rehearsal has kept of each (rehearse --out). A directory
// without is another one than was meant.
func ledgersIn(dir string) ([]string, error) {
	for _, own := range []string{companions.LedgerFile, companions.LedgerOldFile} {
		if _, err := os.Lstat(filepath.Join(dir, own)); err == nil {
			return []string{dir}, nil
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl")) // its error is a pattern that cannot be: then there are none
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no ledger in this directory; a device has one in its state directory (%s), a rehearsal in that of --out",
			dir, companions.LedgerFile)
	}
	return files, nil
}

// replayed is what a ledger's replay says in JSON.
type replayed struct {
	Ledger      string   `json:"ledger"`
	Rounds      int      `json:"rounds"`
	Redacted    int      `json:"redacted"` // rounds without their words, which cannot be decided again
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
		r.Rounds, r.Redacted, differences = companions.ReplayLedger(entries)
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
		if r.Redacted > 0 {
			fmt.Fprintf(w, "; %d more cannot be replayed: their words were not kept (voice.remember = false)", r.Redacted)
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
