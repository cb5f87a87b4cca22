package realtime

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"conch/companions/voice"
)

// The conversation outlives the process: what was said is handed to Config.Keep when the conversation rests, and while it
// goes on at most every keepEvery, so that a power cut costs the last words and no more. Bound: that of the history.
//
//	history changes ──> offer ──> snapshot, of one: the latest wins ──> keeper (a goroutine: disks are slow) ──> Config.Keep
//	New <── Config.Recall

// keepEvery bounds how often a conversation that goes on is written. Our choice, for the sake of SD cards.
const keepEvery = 2 * time.Second

// recall begins with what was said before.
func (h *history) recall(lines []voice.Line) {
	for _, l := range lines {
		if (l.Role == "user" || l.Role == "assistant") && l.Text != "" && len(l.Text) <= maxHistoryText {
			h.entries = append(h.entries, entry{role: l.Role, text: l.Text})
		}
	}
	h.trim()
}

// lines are what is worth keeping.
func (h *history) lines() []voice.Line {
	out := make([]voice.Line, 0, len(h.entries))
	for _, e := range h.entries {
		if e.text != "" && (e.role == "user" || e.role == "assistant") {
			out = append(out, voice.Line{Role: e.role, Text: e.text})
		}
	}
	return out
}

// settled says that every utterance has its words.
func (h *history) settled() bool {
	return !slices.ContainsFunc(h.entries, func(e entry) bool { return e.text == "" })
}

type keeper struct {
	save  func([]voice.Line) error // nil: nothing is kept
	log   *slog.Logger
	kept  uint64 // changes of the history that were handed over
	at    time.Time
	lines chan []voice.Line
	wg    sync.WaitGroup
}

// start begins the goroutine that keeps; it ends after the last.
func (k *keeper) start() {
	if k.save == nil {
		return
	}
	k.wg.Go(func() {
		for lines := range k.lines {
			if err := k.save(lines); err != nil {
				k.log.Warn(logSave, "err", err)
			}
		}
	})
}

// offer hands the conversation over, if it has changed and its time has come.
func (k *keeper) offer(h *history, idle func() bool, clock *clock) {
	if k.save == nil || h.changes == k.kept {
		return
	}
	if wait := time.Until(k.at.Add(keepEvery)); wait > 0 && !(idle() && h.settled()) {
		clock.wakeAt(time.Now().Add(wait))
		return
	}
	k.kept, k.at = h.changes, time.Now()
	k.hand(h)
}

func (k *keeper) hand(h *history) {
	lines := h.lines()
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

// last hands over what has not been, and ends the goroutine.
func (k *keeper) last(h *history) {
	if k.save != nil && h.changes != k.kept {
		k.hand(h)
	}
	close(k.lines)
}
