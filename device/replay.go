package device

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"conch/companions"
	"conch/device/control"
)

// replayMost bounds a file of dialogues, in bytes: all of it is in memory while it is judged.
const replayMost = 256 << 20

// ReplayOptions say how Replay prints.
type ReplayOptions struct {
	JSON  bool
	Score bool
}

// Replay puts recorded dialogues to the rules that choose speakers in a room, and decides the rounds of ledgers again. It
// needs no appliance. A file that cannot be read is refused before anything is printed; a ledger with a choice that comes
// out differently is an error, after all has been printed.
func Replay(w io.Writer, files []string, o ReplayOptions) error {
	var dialogues []companions.Dialogue
	var ledgers []string
	for _, file := range files {
		data, ledger, err := readReplay(file)
		if err != nil {
			return fmt.Errorf("%w: room replay: %w", control.ErrRefused, err)
		}
		if ledger {
			ledgers = append(ledgers, file)
			continue
		}
		some, err := companions.ReadDialogues(data)
		if err != nil {
			return fmt.Errorf("%w: room replay: %s: %w", control.ErrRefused, file, err)
		}
		if len(some) == 0 {
			return fmt.Errorf("%w: room replay: %s: it holds no dialogue and no ledger entry", control.ErrRefused, file)
		}
		dialogues = append(dialogues, some...)
	}
	out := bufio.NewWriter(w)
	err := replayLedgers(out, ledgers, o)
	if len(dialogues) > 0 {
		err = errors.Join(err, replayDialogues(out, dialogues, o))
	}
	return errors.Join(err, out.Flush())
}

// readReplay reads a file, and tells by its first line whether it is a ledger. A directory is a ledger's.
func readReplay(file string) (data []byte, ledger bool, err error) {
	st, err := os.Stat(file)
	if err != nil {
		return nil, false, err
	}
	if st.IsDir() {
		return nil, true, nil
	}
	if st.Size() > replayMost {
		return nil, false, fmt.Errorf("%s: %d bytes: must be at most %d (split it)", file, st.Size(), replayMost)
	}
	if data, err = os.ReadFile(file); err != nil {
		return nil, false, err
	}
	for line := range bytes.Lines(data) {
		var first struct {
			Kind     string          `json:"kind"`
			Messages json.RawMessage `json:"messages"`
		}
		if json.Unmarshal(line, &first) == nil && (first.Kind != "" || first.Messages != nil) {
			return data, first.Kind != "", nil
		}
	}
	return data, false, nil
}

// replayed is what a ledger's replay says in JSON.
type replayed struct {
	Ledger      string   `json:"ledger"`
	Rounds      int      `json:"rounds"`
	Skipped     int      `json:"skipped_lines"`
	Differences []string `json:"differences"`
}

func replayLedgers(w io.Writer, files []string, o ReplayOptions) error {
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
		if o.JSON {
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

func replayDialogues(w io.Writer, dialogues []companions.Dialogue, o ReplayOptions) error {
	out := companions.HeldOut(dialogues)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	var all []companions.Answer
	for _, d := range dialogues {
		answers := d.Answers()
		for i := range answers {
			answers[i].HeldOut = out[d.Dialogue]
		}
		all = append(all, answers...)
		if o.Score {
			continue
		}
		for _, a := range answers {
			if !o.JSON {
				fmt.Fprintln(w, answerText(a))
				continue
			}
			if err := enc.Encode(a); err != nil {
				return err
			}
		}
	}
	if !o.Score {
		return nil
	}
	scores := companions.Scores(all)
	if o.JSON {
		return enc.Encode(map[string]any{"method": companions.Method, "scores": scores})
	}
	for _, s := range scores {
		fmt.Fprintln(w, s)
	}
	_, err := fmt.Fprintf(w, "\nHow this was measured. %s\n", strings.ReplaceAll(companions.Method, "\n", " "))
	return err
}

func answerText(a companions.Answer) string {
	who := "nobody"
	if a.Selected != nil {
		who = *a.Selected
	}
	for _, t := range a.Then {
		who += ", then " + t
	}
	var terms []string
	for _, t := range a.Terms {
		terms = append(terms, fmt.Sprintf("%s %+.1f", t.Name, t.Value))
	}
	called := "nobody"
	if len(a.Addressed) > 0 {
		called = strings.Join(a.Addressed, ", ")
	}
	wrong := ""
	if !a.Right {
		wrong = "  (not as given)"
	}
	return fmt.Sprintf("%s %s %s: calls %s; selected %s: %s [%s]%s", a.Dialogue, a.Message, a.Kind, called, who, a.Reason, strings.Join(terms, ", "), wrong)
}
