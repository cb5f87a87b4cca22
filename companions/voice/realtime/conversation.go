package realtime

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// conversation is what Run keeps. Everything in it is owned by the goroutine of Run.
type conversation struct {
	c   *Client
	cfg *Config
	out voice.Outlet
	log *slog.Logger
	ctx context.Context
	wg  sync.WaitGroup // openers, pumps, closers, the saver

	clock     clock
	connector connector
	d         Dialect // of the present session
	plan      plan
	gate      time.Time // since when the next request for an answer has waited
	history   kit.History
	keeper    *kit.Keeper
	lost      map[turn.ItemID]*itemInfo // of sessions that are gone: speech that may still be playing; see broken.go

	// This session's.
	sender
	input     input
	seen      seen
	asked     asked
	items     items
	responses answers
	doubted   doubted
	past      []past            // the last answers that are over
	paid      []turn.ResponseID // the last answers whose usage was counted
	finished  chan *response
	spoken    chan written
	counts    counters
	garbled   [maxGarbage]time.Time // when the latest that cannot be read came; by their count
}

// counters are of what was passed over, since Run began.
type counters struct{ garbage, unknown, duplicate, stale, errors, unbidden int }
