package skills

import (
	"encoding/json"
	"sync"
	"time"
)

// meant is for how long "snooze" without a name is about what was heard last; our choice.
const meant = 2 * time.Minute

// Snoozed is what rang or was told last on a device, whichever skill it is of. Its zero value is: nothing.
type Snoozed struct {
	mu   sync.Mutex
	of   string // skill
	at   time.Time
	tool func(Context, json.RawMessage) (Result, error)
}

// Heard is told that something of a skill rings, is told, or has ended; tool has that come again.
func (s *Snoozed) Heard(of string, tool func(Context, json.RawMessage) (Result, error)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of, s.at, s.tool = of, time.Now(), tool
}

// Tool is a skill's own tool, but where no name is given and something of another skill was heard last.
func (s *Snoozed) Tool(of string, own func(Context, json.RawMessage) (Result, error)) func(Context, json.RawMessage) (Result, error) {
	return func(ctx Context, args json.RawMessage) (Result, error) {
		var a struct{ Name string }
		if other := s.other(of); other != nil && json.Unmarshal(args, &a) == nil && a.Name == "" {
			return other(ctx, args)
		}
		return own(ctx, args)
	}
}

func (s *Snoozed) other(than string) func(Context, json.RawMessage) (Result, error) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == than || time.Since(s.at) > meant {
		return nil
	}
	return s.tool
}
