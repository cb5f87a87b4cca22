package realtime

import (
	"sync"

	"conch/companions/voice"
)

// Pool adds up what several clients use, whose ceiling is one: the companions of a device, each with a session of its own.
// It calls nobody, so that a client may ask it under its own lock.
type Pool struct {
	mu sync.Mutex
	of map[*meter]savedUsage
}

// put notes what a client has used today.
func (p *Pool) put(m *meter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[*meter]savedUsage{}
	}
	p.of[m] = savedUsage{Day: m.day, Today: m.today}
}

// sum is what all have used on a day.
func (p *Pool) sum(day string) (c voice.Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.of {
		if s.Day == day {
			c.Add(s.Today)
		}
	}
	return c
}
