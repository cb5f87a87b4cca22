package realtime

import (
	"time"

	"conch/companions/voice"
)

// The conversation outlives the process: what was said is handed to Config.Keep when the conversation rests, and while it
// goes on at most every keepEvery, so that a power cut costs the last words and no more. Bound: that of the history.
//
//	history changes ──> keep ──> snapshot, of one: the latest wins ──> keeper (a goroutine: disks are slow) ──> Config.Keep
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

// keep hands the conversation over, if it has changed and its time has come.
func (r *conversation) keep() {
	if r.cfg.Keep == nil || r.history.changes == r.kept {
		return
	}
	if wait := time.Until(r.keptAt.Add(keepEvery)); wait > 0 && !(r.idle() && r.history.settled()) {
		r.at(time.Now().Add(wait))
		return
	}
	r.kept, r.keptAt = r.history.changes, time.Now()
	r.keepNow()
}

func (r *conversation) keepNow() {
	lines := r.history.lines()
	select {
	case r.toKeep <- lines:
	default: // the one before has not been taken: the latest wins
		select {
		case <-r.toKeep:
		default:
		}
		r.toKeep <- lines // of one, and nobody else sends
	}
}

// settled says that every utterance has its words.
func (h *history) settled() bool {
	for _, e := range h.entries {
		if e.text == "" {
			return false
		}
	}
	return true
}

// keeper is the goroutine that keeps; it ends when Run closes toKeep, after the last.
func (r *conversation) keeper() {
	for lines := range r.toKeep {
		if err := r.cfg.Keep(lines); err != nil {
			r.log.Warn(logSave, "err", err)
		}
	}
}
