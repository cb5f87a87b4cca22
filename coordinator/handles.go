package coordinator

import (
	"conch/coordinator/turn"
)

// handleLimit bounds what is latched or running at the same time, over all turns. Our choice; a turn latches one stream.
const handleLimit = 64

// handle is what stands behind a turn.Handle: the effect of a tool, latched or running.
type handle struct {
	turn   turn.ID
	result ToolResult
	job    *job // running: a stream or a claim
}

// handles is the table of effects. Owned by runner.
type handles struct {
	last turn.Handle
	of   map[turn.Handle]*handle
}

// keep gives an effect a name; zero when the table is full.
func (t *handles) keep(id turn.ID, res ToolResult) turn.Handle {
	if len(t.of) >= handleLimit {
		return 0
	}
	if t.of == nil {
		t.of = map[turn.Handle]*handle{}
	}
	t.last++
	t.of[t.last] = &handle{turn: id, result: res}
	return t.last
}

// latched is the effect behind h if it waits to be started.
func (t *handles) latched(h turn.Handle, kind turn.EffectKind) *handle {
	if e := t.of[h]; e != nil && e.job == nil && e.result.Effect == kind {
		return e
	}
	return nil
}

// release forgets h and returns what it was, unless it runs: a running one is forgotten when it has ended.
func (t *handles) release(h turn.Handle) *handle {
	e := t.of[h]
	if e == nil || e.job != nil {
		return nil
	}
	delete(t.of, h)
	return e
}
