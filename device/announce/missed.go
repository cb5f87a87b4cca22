package announce

import (
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"conch/companions/skills"
	"conch/coordinator/inject"
)

// Bounds of what was missed; our choices.
const (
	missedFor  = 24 * time.Hour
	missedMost = 32        // the oldest is dropped
	missedLook = time.Hour // how often what is too old is forgotten
)

const missedKey = "missed" // in the store, beside the records

// Missed is what this device said or rang for and a person cut or never heard: for a day, over restarts.
type Missed struct {
	log    *slog.Logger
	now    func() time.Time
	store  skills.Store // nil: nothing is kept
	change func(fresh bool)

	mu   sync.Mutex
	read bool
	kept missed
}

type missed struct {
	Fresh bool            `json:"fresh,omitempty"` // no person has asked since the last
	All   []skills.Missed `json:"all"`
}

// NewMissed makes a list; change is called whenever there is something new in it, or no more.
func NewMissed(log *slog.Logger, now func() time.Time, store skills.Store, change func(fresh bool)) *Missed {
	return &Missed{log: log, now: now, store: store, change: change}
}

// Ended notes an announcement whose outcome is that it was not heard to its end.
func (m *Missed) Ended(text string, how skills.Outcome) {
	switch how {
	case skills.OutcomeDelivered, skills.OutcomeReplaced, skills.OutcomeKept:
	default:
		m.Add(text, how)
	}
}

// Said is Ended for an outcome of the queue.
func (m *Missed) Said(text string, how inject.Outcome) { m.Ended(text, skills.Outcome(how.String())) }

// Add notes something that was not heard, and why.
func (m *Missed) Add(text string, why skills.Outcome) {
	if text == "" {
		return
	}
	m.mu.Lock()
	m.recall()
	m.kept.All = append(m.kept.All, skills.Missed{At: m.now().Round(0), Text: text, Why: why})
	m.kept.Fresh = true
	m.write()
	m.mu.Unlock()
	m.change(true)
}

// List is what was missed within a day, the newest first.
func (m *Missed) List() []skills.Missed {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recall()
	all := slices.Clone(m.kept.All)
	slices.Reverse(all)
	return all
}

// Asked is List for a person, who knows of it then.
func (m *Missed) Asked() []skills.Missed {
	all := m.List()
	m.mu.Lock()
	was := m.kept.Fresh
	if m.kept.Fresh = false; was {
		m.write()
	}
	m.mu.Unlock()
	m.change(false)
	return all
}

// Fresh reports whether there is something of which no person has asked.
func (m *Missed) Fresh() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recall()
	return m.kept.Fresh && len(m.kept.All) > 0
}

// show has the light show what an earlier life has left, and no more what is too old.
func (m *Missed) show() { m.change(m.Fresh()) }

// recall reads what an earlier life of the device has kept, and forgets what is older than a day or of a clock that was ahead.
func (m *Missed) recall() {
	if !m.read {
		m.read = true
		if m.store != nil {
			value, err := m.store.Get("", missedKey)
			if err == nil && value != nil {
				err = json.Unmarshal(value, &m.kept)
			}
			if err != nil {
				m.log.Error(logNotKept, "record", missedKey, "err", err)
			}
		}
	}
	now := m.now()
	m.kept.All = slices.DeleteFunc(m.kept.All, func(e skills.Missed) bool { return now.Sub(e.At).Abs() > missedFor })
	if over := len(m.kept.All) - missedMost; over > 0 {
		m.kept.All = m.kept.All[over:]
	}
}

// write keeps the list. Where it cannot be written it is there until the device ends.
func (m *Missed) write() {
	if m.store == nil {
		return
	}
	b, err := json.Marshal(m.kept)
	if err == nil {
		err = m.store.Put("", map[string][]byte{missedKey: b})
	}
	if err != nil {
		m.log.Error(logNotKept, "record", missedKey, "err", err)
	}
}
