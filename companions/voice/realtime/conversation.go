package realtime

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"conch/companions/voice"
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

	// The connection.
	link      *link   // nil while there is none
	d         Dialect // of the present session
	spare     *link   // a renewed session, until the conversation rests
	opened    chan openResult
	opening   bool
	giveUp    context.CancelFunc // of the attempt under way
	again     bool               // it was given up for the sake of a new one
	retryAt   time.Time
	tried     time.Time // the last attempt began
	notBefore time.Time // the server wants none earlier
	hurried   turn.ID   // the turn for which one was made at once
	attempt   int
	without   parts      // what the next attempt leaves out
	slow      bool       // the last attempt was refused
	usedKey   string     // at the last attempt
	failing   turn.Words // why attempts fail, and how many of them in a row did for that
	failed    int
	ready     bool // SessionReady was the last thing told
	lastLost  *turn.SessionLost
	toldAt    time.Time
	owed      *turn.SessionLost // told when what came of the answer has been handed over, unless mended before
	active    time.Time         // something of a conversation happened
	alarm     time.Time         // when step must run again without a cause

	plan        plan
	gate        time.Time
	voice       turn.ID // whose utterance is being sent
	spoken      int     // samples of it already sent
	downsampler *downsampler
	history     history
	lost        map[turn.ItemID]*itemInfo // of sessions that are gone: speech that may still be playing; see broken.go
	kept        uint64                    // changes of the history that were handed over
	keptAt      time.Time                 // when
	toKeep      chan []voice.Line
	keepers     sync.WaitGroup

	// This session's wire.
	pending   [][]byte // encoded, in order, for the writer
	seen      seen
	sent      sentEvents
	asked     asked
	silence   silence
	calls     map[turn.CallID]callInfo
	items     map[turn.ItemID]*itemInfo
	born      uint64 // how many of these three there have been
	responses answers
	finished  chan *response
	counts    Counters
	garbled   [maxGarbage]time.Time // when the latest that cannot be read came; by their count

	scratch []int16
	raw     []byte
	eventNo uint64
}

// Counters are of what was passed over, since Run began.
type Counters struct{ Garbage, Unknown, Duplicate, Stale, Errors, Unbidden int }

// openResult is what an opener brings back.
type openResult struct {
	link *link
	err  error
}

// silence is what a server hears after a release that ends an utterance at a silence and at nothing else.
type silence struct {
	turn turn.ID // "": none is being sent
	from time.Time
	sent time.Duration
}
