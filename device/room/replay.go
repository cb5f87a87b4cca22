package room

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"conch/companions"
	"conch/companions/recorded"
	"conch/device/config"
	"conch/device/control"
)

// Replayed says how Replay prints.
type Replayed struct {
	JSON  bool // an object a ledger, or an answer
	Score bool // of dialogues, how many answers are right
}

// Replay decides the rounds of ledgers again, puts recorded dialogues to the same rules, and needs no appliance for it. A file that
// cannot be read is refused before anything is printed; a choice that comes out differently is an error, after all has been printed.
func Replay(w io.Writer, files []string, o Replayed) error {
	var all []string
	var dialogues []recorded.Dialogue
	for _, file := range files {
		list := []string{file}
		st, err := os.Stat(file)
		if err == nil && st.IsDir() {
			list, err = filesIn(file)
		}
		if err != nil {
			return fmt.Errorf("%w: room replay: %s", control.ErrRefused, named(file, err))
		}
		all = append(all, list...)
	}
	var ledgers []string
	for _, file := range all {
		ledger, err := isLedger(file)
		if err == nil && !ledger {
			var some []recorded.Dialogue
			some, err = readDialogues(file)
			dialogues = append(dialogues, some...)
		}
		if err != nil {
			return fmt.Errorf("%w: room replay: %w", control.ErrRefused, err)
		}
		if ledger {
			ledgers = append(ledgers, file)
		}
	}
	if o.Score && len(dialogues) == 0 {
		return fmt.Errorf("%w: room replay: --score counts the answers to recorded dialogues, and there is none in %s", control.ErrRefused,
			strings.Join(files, ", "))
	}
	out := bufio.NewWriter(w)
	err := replayLedgers(out, ledgers, o.JSON)
	if len(dialogues) > 0 {
		err = errors.Join(err, replayDialogues(out, dialogues, o))
	}
	return errors.Join(err, out.Flush())
}

// named is what is wrong with a file, which it names once.
func named(file string, err error) string {
	if inner := config.UnwrapPath(err); inner != err { //nolint:errorlint // is it wrapped at all?
		return file + ": " + inner.Error()
	}
	return err.Error()
}

// isLedger tells a ledger from recorded dialogues, by the first line that is one of either. A directory is a ledger's.
func isLedger(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, config.UnwrapPath(err))
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return false, fmt.Errorf("%s: %w", file, config.UnwrapPath(err))
	} else if st.IsDir() {
		return true, nil // its own ledger
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var first struct {
			Kind     string          `json:"kind"`
			Messages json.RawMessage `json:"messages"`
		}
		if json.Unmarshal(lines.Bytes(), &first) == nil && (first.Kind != "" || first.Messages != nil) {
			return first.Kind != "", nil
		}
	}
	return false, fmt.Errorf("%s: it holds no ledger entry and no dialogue", file)
}

// filesIn are the ledgers of a directory: that of a device, or what a rehearsal has kept of each (rehearse --out); or its dialogues. A
// directory without is another one than was meant.
func filesIn(dir string) ([]string, error) {
	for _, own := range []string{companions.LedgerFile, companions.LedgerOldFile} {
		if _, err := os.Lstat(filepath.Join(dir, own)); err == nil {
			return []string{dir}, nil
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl")) // its error is a pattern that cannot be: then there are none
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no ledger and no dialogue (*.jsonl) in this directory; "+
			"a device has a ledger in its state directory (%s), a rehearsal in that of --out", dir, companions.LedgerFile)
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
	rounds := 0
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
		rounds += r.Rounds + r.Redacted
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
	if rounds == 0 && len(files) > 0 {
		failed = errors.Join(failed, fmt.Errorf("room replay: %s: no round is in it: nobody has said anything while it was kept", strings.Join(files, ", ")))
	}
	return failed
}
