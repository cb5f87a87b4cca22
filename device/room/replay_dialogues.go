package room

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"conch/companions/recorded"
	"conch/device/config"
)

// dialoguesMost bounds a file of dialogues, in bytes: all of it is in memory while it is judged.
const dialoguesMost = 256 << 20

func readDialogues(file string) ([]recorded.Dialogue, error) {
	st, err := os.Stat(file)
	if err == nil && st.Size() > dialoguesMost {
		return nil, fmt.Errorf("%s: %d bytes: must be at most %d (split it)", file, st.Size(), dialoguesMost)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, config.UnwrapPath(err))
	}
	all, err := recorded.ReadDialogues(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

// replayDialogues prints what the rules answer to each entry of gold, or how many of these answers are right.
func replayDialogues(w io.Writer, dialogues []recorded.Dialogue, o Replayed) error {
	held := recorded.HeldOut(dialogues)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	var all []recorded.Answer
	for _, d := range dialogues {
		for _, a := range d.Answers() {
			a.HeldOut = held[d.Dialogue]
			all = append(all, a)
			switch {
			case o.Score:
			case o.JSON:
				if err := enc.Encode(a); err != nil {
					return err
				}
			default:
				fmt.Fprintln(w, a)
			}
		}
	}
	if !o.Score {
		return nil
	}
	scores, groups := recorded.Scores(all), recorded.Groups(all)
	if o.JSON {
		return enc.Encode(map[string]any{"method": recorded.Method, "scores": scores, "groups": groups})
	}
	for _, s := range append(scores, groups...) {
		fmt.Fprintln(w, s)
	}
	_, err := fmt.Fprintf(w, "\nHow this was measured. %s\n", strings.ReplaceAll(recorded.Method, "\n", " "))
	return err
}
