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

// Missed is what this device said or rang for and a person cut or never heard: for a day, over restarts. No method but Asked and those of
// the Desk waits for the disk.
type Missed struct {
	log    *slog.Logger
	now    func() time.Time
	store  skills.Store // nil: nothing is kept
	change func(fresh bool)
	writes sync.Mutex // held for the disk; taken before mu

	mu   sync.Mutex
	over bool // the device ends: what it cuts then, nobody has missed
	kept missed
}

type missed struct {
	Fresh bool  `json:"fresh,omitempty"` // no person has asked since the last
	All   []row `json:"all"`
}

// row is one of the list. Of one key the newest counts.
type row struct {
	skills.Missed
	Key  string `json:"key,omitempty"`
	told string // turn that has told it, while nobody knows whether it was heard
}

// NewMissed makes a list; change is called whenever there is something new in it, or no more.
func NewMissed(log *slog.Logger, now func() time.Time, store skills.Store, change func(fresh bool)) *Missed {
	return &Missed{log: log, now: now, store: store, change: change}
}

// Ended notes the outcome of an announcement. One that was not heard to its end is listed; one that was heard takes its key from the list.
func (m *Missed) Ended(key, text string, how skills.Outcome) {
	switch how {
	case skills.OutcomeReplaced, skills.OutcomeKept:
	case skills.OutcomeDelivered:
		m.edit(func(k *missed) bool { return k.drop(key, m.now().Add(-toldAgain)) })
	default:
		m.edit(func(k *missed) bool {
			k.drop(key, m.now().Add(-toldAgain))
			k.All = append(k.All, row{Missed: skills.Missed{At: m.now().Round(0), Text: text, Why: how}, Key: key})
			k.Fresh = true
			return true
		})
	}
}

// toldAgain is within which one that was missed is said again: a reminder comes back for two hours.
const toldAgain = 2 * time.Hour

// drop takes away what was missed under a key since then.
func (k *missed) drop(key string, since time.Time) bool {
	n := len(k.All)
	k.All = slices.DeleteFunc(k.All, func(r row) bool { return key != "" && r.Key == key && r.At.After(since) })
	return len(k.All) != n
}

// Said is Ended for an outcome of the queue, without a key.
func (m *Missed) Said(text string, how inject.Outcome) {
	m.Ended("", text, skills.Outcome(how.String()))
}

// List is what was missed within a day, the newest first.
func (m *Missed) List() (all []skills.Missed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	for _, r := range slices.Backward(m.kept.All) {
		all = append(all, r.Missed)
	}
	return all
}

// Asked has a turn tell a person the newest, so many at most, and how many more there are.
func (m *Missed) Asked(turn string, most int) (all []skills.Missed, more int) {
	m.edit(func(k *missed) bool {
		m.forget()
		for i := len(k.All) - 1; i >= 0 && len(all) < most; i-- {
			k.All[i].told = turn
			all = append(all, k.All[i].Missed)
		}
		more = len(k.All) - len(all)
		was := k.Fresh
		k.Fresh = false
		return was
	})
	return all, more
}

// Heard is the end of a turn. What a person has heard of the list to its end was not missed; what was cut stays.
func (m *Missed) Heard(turn string, whole bool) {
	m.edit(func(k *missed) bool {
		n := len(k.All)
		k.All = slices.DeleteFunc(k.All, func(r row) bool { return whole && turn != "" && r.told == turn })
		return len(k.All) != n
	})
}

// Fresh reports whether there is something of which no person has asked.
func (m *Missed) Fresh() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	return m.kept.Fresh && len(m.kept.All) > 0
}

// edit changes the list, and writes it where that changed something.
func (m *Missed) edit(f func(*missed) bool) {
	m.mu.Lock()
	if m.over {
		m.mu.Unlock()
		return
	}
	changed := f(&m.kept)
	m.forget()
	m.mu.Unlock()
	if !changed {
		return
	}
	m.show()
	m.writes.Lock()
	defer m.writes.Unlock()
	m.mu.Lock()
	b, err := json.Marshal(m.kept)
	m.mu.Unlock()
	if err == nil && m.store != nil {
		err = m.store.Put("", map[string][]byte{missedKey: b})
	}
	if err != nil {
		m.log.Error(logNotKept, "record", missedKey, "err", err)
	}
}

// end has nothing noted any more.
func (m *Missed) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
}

// show has the light show whether there is something new.
func (m *Missed) show() { m.change(m.Fresh()) }

// read takes what an earlier life of the device has kept, before what this one has noted already.
func (m *Missed) read() {
	if m.store == nil {
		return
	}
	m.writes.Lock()
	defer m.writes.Unlock()
	var was missed
	value, err := m.store.Get("", missedKey)
	if err == nil && value != nil {
		err = json.Unmarshal(value, &was)
	}
	if err != nil {
		m.log.Error(logNotKept, "record", missedKey, "err", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = missed{was.Fresh || m.kept.Fresh, append(was.All, m.kept.All...)}
}

// forget drops what is older than a day, or of a clock that was ahead, and what is too much. Needs mu.
func (m *Missed) forget() {
	now := m.now()
	m.kept.All = slices.DeleteFunc(m.kept.All, func(r row) bool { return now.Sub(r.At).Abs() > missedFor })
	if over := len(m.kept.All) - missedMost; over > 0 {
		m.kept.All = slices.Delete(m.kept.All, 0, over)
	}
}
