package kit

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"conch/companions/voice"
)

// The conversation outlives the process: what was said is handed to save when the conversation rests, and while it
// goes on at most every KeepEvery, so that a power cut costs the last words and no more. Bound: that of the history.
//
//	history changes ──> offer ──> snapshot, of one: the latest wins ──> keeper (a goroutine: disks are slow) ──> save
//	Recall <── what was kept

// KeepEvery bounds how often a conversation that goes on is written. Our choice, for the sake of SD cards.
const KeepEvery = 2 * time.Second

// Recall begins with what was said before.
func (h *History) Recall(lines []voice.Line) {
	for _, l := range lines {
		if (l.Role == "user" || l.Role == "assistant") && l.Text != "" && len(l.Text) <= MaxHistoryText {
			h.Entries = append(h.Entries, Entry{Role: l.Role, Text: l.Text})
		}
	}
	h.Trim()
}

// Lines are what is worth keeping.
func (h *History) Lines() []voice.Line {
	out := make([]voice.Line, 0, len(h.Entries))
	for _, e := range h.Entries {
		if e.Text != "" && (e.Role == "user" || e.Role == "assistant") {
			out = append(out, voice.Line{Role: e.Role, Text: e.Text})
		}
	}
	return out
}

// Settled says that every utterance has its words.
func (h *History) Settled() bool {
	return !slices.ContainsFunc(h.Entries, func(e Entry) bool { return e.Text == "" })
}

// A Keeper hands a conversation to whoever keeps it.
type Keeper struct {
	save  func([]voice.Line) error // nil: nothing is kept
	log   *slog.Logger
	kept  uint64 // changes of the history that were handed over
	at    time.Time
	lines chan []voice.Line
	wg    sync.WaitGroup
}

// NewKeeper keeps with save; nil: nothing is kept.
func NewKeeper(save func([]voice.Line) error, log *slog.Logger) *Keeper {
	return &Keeper{save: save, log: log, lines: make(chan []voice.Line, 1)}
}

// Start begins the goroutine that keeps; it ends after the last.
func (k *Keeper) Start() {
	if k.save == nil {
		return
	}
	k.wg.Go(func() {
		for lines := range k.lines {
			if err := k.save(lines); err != nil {
				k.log.Warn(LogSave, "err", err)
			}
		}
	})
}

// Offer hands the conversation over, if it has changed and its time has come; later is when to offer it again, zero: at the next change.
func (k *Keeper) Offer(h *History, idle func() bool) (later time.Time) {
	if k.save == nil || h.Changes == k.kept {
		return time.Time{}
	}
	if next := k.at.Add(KeepEvery); time.Until(next) > 0 && !(idle() && h.Settled()) {
		return next
	}
	k.kept, k.at = h.Changes, time.Now()
	k.hand(h)
	return time.Time{}
}

func (k *Keeper) hand(h *History) {
	lines := h.Lines()
	select {
	case k.lines <- lines:
	default: // the one before has not been taken: the latest wins
		select {
		case <-k.lines:
		default:
		}
		k.lines <- lines // of one, and nobody else sends
	}
}

// Last hands over what has not been, and ends the goroutine when that is kept, for which it waits.
func (k *Keeper) Last(h *History) {
	if k.save != nil && h.Changes != k.kept {
		k.hand(h)
	}
	close(k.lines)
	k.wg.Wait()
}
