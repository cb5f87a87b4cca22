package coordinator

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"conch/coordinator/turn"
)

// Recorder keeps the last facts, orders and transitions of a device, for `conch why` and SIGQUIT. Texts are cut, so that it stays
// small whatever a model or tool says; a run of deltas of one response is one line with a count.
type Recorder struct {
	mu   sync.Mutex
	ring []recorded
	next int
	full bool
}

type recorded struct {
	at    time.Duration
	order bool
	what  any
	times int
}

// Transition is a change of the machine's state, and the fact that made it.
type Transition struct {
	turn.Transition
	By string
}

// String is as the log has it.
func (t Transition) String() string {
	return fmt.Sprintf("turn=%s from=%v to=%v by=%s", t.Turn, t.From, t.To, t.By)
}

// Line is one fact, order or transition.
type Line struct {
	At    time.Duration `json:"at"`
	Order bool          `json:"order"` // an order went out; otherwise a fact came in, or the state changed (Name is Transition)
	Name  string        `json:"name"`
	Text  string        `json:"text"`            // its fields
	Times int           `json:"times,omitempty"` // how many alike in a row, the last one shown
}

func (l Line) String() string {
	arrow := "<-"
	switch {
	case l.Order:
		arrow = "->"
	case l.Name == transitionName:
		arrow = "=="
	}
	s := fmt.Sprintf("%10.3f %s %s %s", l.At.Seconds(), arrow, l.Name, l.Text)
	if l.Times > 1 {
		s += fmt.Sprintf(" (x%d)", l.Times)
	}
	return s
}

// NewRecorder keeps the last n lines; 0 or less keeps none.
func NewRecorder(n int) *Recorder { return &Recorder{ring: make([]recorded, max(n, 0))} }

// keepText is how much of a text the recorder keeps.
const keepText = 200

func (r *Recorder) add(at time.Duration, order bool, what any) {
	if len(r.ring) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := what.(turn.DeltaArrived); ok && (r.full || r.next > 0) {
		last := &r.ring[(r.next+len(r.ring)-1)%len(r.ring)]
		if l, ok := last.what.(turn.DeltaArrived); ok && l.Response == d.Response {
			last.at, last.what = at, what
			last.times++
			return
		}
	}
	r.ring[r.next] = recorded{at, order, shorten(what), 1}
	if r.next++; r.next == len(r.ring) {
		r.next, r.full = 0, true
	}
}

// shorten cuts the long texts of a fact or an order.
func shorten(what any) any {
	v := reflect.ValueOf(what)
	if v.Kind() != reflect.Struct {
		return what
	}
	var short reflect.Value // none: nothing is long
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.String || f.Len() <= keepText || !v.Type().Field(i).IsExported() {
			continue
		}
		if !short.IsValid() {
			short = reflect.New(v.Type()).Elem()
			short.Set(v)
		}
		cut := strings.Clone(f.String()[:keepText]) // Clone: the rest can be collected
		short.Field(i).SetString(strings.ToValidUTF8(cut, "") + "…")
	}
	if !short.IsValid() {
		return what
	}
	return short.Interface()
}

// Lines are what is kept, oldest first.
func (r *Recorder) Lines() []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.ring[:r.next]
	if r.full {
		kept = append(append([]recorded{}, r.ring[r.next:]...), r.ring[:r.next]...)
	}
	lines := make([]Line, 0, len(kept))
	for _, k := range kept {
		lines = append(lines, Line{
			At: k.at, Order: k.order, Times: k.times,
			Name: nameOf(k.what), Text: fmt.Sprintf("%+v", k.what),
		})
	}
	return lines
}

// nameOf is the name of a fact or order without its package.
func nameOf(v any) string {
	_, name, _ := strings.Cut(fmt.Sprintf("%T", v), ".")
	return name
}

// transitionName is the name of a Line that is one.
var transitionName = nameOf(Transition{})
