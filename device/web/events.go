package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"conch/device/control"
)

// What happens, as server-sent events (https://html.spec.whatwg.org, server-sent events): each a control.Event under its kind. A page that
// falls behind is told so ("behind"), and gets new pictures.

const (
	aliveEvery  = 5 * time.Second  // "alive", so that no proxy takes the stream for dead, and a page knows when it is (page.js: SILENCE)
	eventWrite  = 10 * time.Second // for one event; who takes longer has gone
	behindAfter = time.Second      // until there are new pictures
)

// events streams to one page.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	release, err := s.o.Door.Stream(VisitFrom(r.Context()))
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer release()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := stream{w, http.NewResponseController(w)}
	for ctx := r.Context(); ; {
		if s.follow(ctx, out) != nil || ctx.Err() != nil {
			return
		}
		if out.write("event: behind\ndata: {}\n\n") != nil {
			return
		}
		select {
		case <-time.After(behindAfter):
		case <-ctx.Done():
			return
		}
	}
}

// follow sends pictures, and then what happens, until the page falls behind.
func (s *Server) follow(ctx context.Context, out stream) error {
	ctx, cancel := context.WithCancel(ctx)
	all := make(chan control.Event)
	var feeds sync.WaitGroup
	defer feeds.Wait()
	defer cancel()
	for _, b := range s.o.Boxes {
		recent, events := b.Feed.Watch(ctx)
		p := b.Picture(ctx)
		p.Recent = recent
		if err := out.event(b.Feed.Picture(p)); err != nil {
			return err
		}
		feeds.Go(func() {
			defer cancel() // behind
			for e := range events {
				select {
				case all <- e:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		select {
		case e := <-all:
			if err := out.event(e); err != nil {
				return err
			}
		case <-alive.C:
			if err := out.write("event: alive\ndata: {}\n\n"); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// stream is the way to one page.
type stream struct {
	w   http.ResponseWriter
	out *http.ResponseController
}

func (s stream) event(e control.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return s.write(fmt.Sprintf("event: %s\nid: %d\ndata: %s\n\n", e.Kind, e.Seq, data))
}

func (s stream) write(text string) error {
	if err := s.out.SetWriteDeadline(time.Now().Add(eventWrite)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.out.Flush()
}
