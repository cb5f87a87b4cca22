package companions

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"conch/companions/round"
)

// What stays of a room where nothing of what was said is to be kept (voice.remember = false): who voted how, who spoke, ids and
// times. Reasons go too, since they quote: a field of a card says what was talked about, a model may say anything.

// hashKey is drawn anew for each run and written nowhere: a hash that others could make would tell "yes" from "no".
var hashKey = sync.OnceValue(func() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	return key
})

// redacted is an entry without a word of the conversation.
func redacted(e round.Entry) round.Entry {
	if e.Redacted {
		return e
	}
	e.Redacted, e.Why, e.Because = true, "", ""
	if m := e.Message; m != nil {
		if m.Text != "" {
			mac := hmac.New(sha256.New, hashKey())
			mac.Write([]byte(m.Text))
			e.TextHash = hex.EncodeToString(mac.Sum(nil)[:8])
		}
		left := round.Message{ID: m.ID, From: m.From, To: m.To, Turn: m.Turn, Epoch: m.Epoch, Number: m.Number}
		left.Metadata = round.Metadata{Chain: m.Metadata.Chain, Queue: m.Metadata.Queue, Joins: m.Metadata.Joins, Silence: m.Metadata.Silence}
		e.Message = &left
	}
	if e.Decision != nil {
		d := *e.Decision
		d.Reason, d.Because = "", ""
		d.Votes, d.Silent, d.Barred = slices.Clone(d.Votes), slices.Clone(d.Silent), slices.Clone(d.Barred)
		for i, v := range d.Votes {
			v.Reason, v.Because, v.Terms = "", "", slices.Clone(v.Terms)
			for j := range v.Terms {
				v.Terms[j].Why = ""
			}
			d.Votes[i] = v
		}
		for i := range d.Silent {
			d.Silent[i].Reason, d.Silent[i].Because = "", ""
		}
		for i := range d.Barred {
			d.Barred[i].Reason, d.Barred[i].Because = "", ""
		}
		e.Decision = &d
	}
	return e
}

// Forget deletes what rooms have left in a state directory: what was said in each, and a ledger that quotes it. Only while no Room
// has that directory.
func Forget(dir string) error {
	left, _ := filepath.Glob(filepath.Join(dir, "room-*-*.jsonl")) // the pattern is good
	failed := forgetLedger(dir)
	for _, path := range left {
		failed = errors.Join(failed, forgetFile(path))
	}
	return failed
}

// forgetLedger deletes the files of the ledger that have more in them than redacted lines.
func forgetLedger(dir string) (failed error) {
	for _, name := range []string{LedgerFile, LedgerOldFile} {
		path := filepath.Join(dir, name)
		f, err := os.Open(path)
		if err == nil {
			words := false
			_, _, err = eachLine(f, func(line []byte) bool {
				words = words || !bytes.Contains(line, []byte(`"redacted":true`))
				return true
			})
			f.Close()
			if err == nil && !words {
				continue
			}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, forgetFile(path))
		}
	}
	return failed
}

func forgetFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget what was said in the room: %w", err)
	}
	return nil
}

// Forget has nothing that is said on the disk from now on, and deletes what is there. What the room knows it goes on knowing until
// it ends.
func (r *Room) Forget() {
	r.wordless.Store(true)
	r.memory.forgetFile()
	if l := r.ledger; l != nil {
		l.mu.Lock()
		l.wordless, l.forget = true, true
		l.mu.Unlock()
		poke(l.disk.wake)
	}
}

// wordlessly takes the words out of attributes of a line for the log, which ends on a disk too.
func (r *Room) wordlessly(args []any) []any {
	if !r.wordless.Load() {
		return args
	}
	for i := len(args) - 2; i >= 0; i -= 2 {
		if args[i] == "why" || args[i] == "reason" {
			args = slices.Delete(args, i, i+2)
		}
	}
	return args
}
