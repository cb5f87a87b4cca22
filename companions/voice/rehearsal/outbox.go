package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/coder/websocket"
)

// encode never fails: everything sent is made of maps, slices and scalars.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("rehearsal: encode: %v", err)) //nolint:forbidigo // no value comes here that JSON cannot hold
	}
	return b
}

type frame struct {
	kind websocket.MessageType
	data []byte
}

// outbox is what has been said and not been written yet: the loop puts, the writer takes. Its bound is maxOutbox bytes.
type outbox struct {
	mu     sync.Mutex
	frames []frame
	bytes  int
	ended  bool          // nothing is put any more; the writer empties it and stops
	wake   chan struct{} // for the writer: there is something
	room   chan struct{} // for the loop: there is less than before
}

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put reports false when the bound is reached: the client has stopped reading long ago.
func (o *outbox) put(f frame) bool {
	o.mu.Lock()
	ok := o.bytes+len(f.data) <= maxOutbox
	if ok && !o.ended {
		o.frames = append(o.frames, f)
		o.bytes += len(f.data)
	}
	o.mu.Unlock()
	poke(o.wake)
	return ok
}

func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes > fullOutbox
}

// end lets the writer finish.
func (o *outbox) end() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	poke(o.wake)
}

// write is the writer goroutine: until the end, an error, or ctx.
func (o *outbox) write(ctx context.Context, conn *websocket.Conn) error {
	for {
		o.mu.Lock()
		var f frame
		some := len(o.frames) > 0
		if some {
			f = o.frames[0]
			o.frames = o.frames[1:]
		}
		ended := o.ended
		o.mu.Unlock()
		if some {
			// An expired context closes the connection, which is what a client that does not read for so long gets.
			wctx, cancel := context.WithTimeout(ctx, writeTimeout)
			err := conn.Write(wctx, f.kind, f.data)
			cancel()
			if err != nil {
				return err
			}
			o.mu.Lock()
			o.bytes -= len(f.data)
			o.mu.Unlock()
			poke(o.room)
			continue
		}
		if ended {
			return nil
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
