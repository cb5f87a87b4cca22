package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Who comes later sees what has happened, and of that what counts: entries and turns, so many of them.
func TestAFeedKeepsWhatHappened(t *testing.T) {
	f := NewFeed("kitchen")
	f.Post(EventDoing, Doing{State: "IDLE"}) // nobody looks
	for range feedRecent + 5 {
		f.Post(EventTurn, Turn{Device: "kitchen"})
	}
	ctx, cancel := context.WithCancel(t.Context())
	recent, events := f.Watch(ctx)
	if len(recent) != feedRecent || recent[0].Seq != 6 || recent[0].Device != "kitchen" {
		t.Fatalf("%d kept, the first is %d of %q", len(recent), recent[0].Seq, recent[0].Device)
	}
	f.Post(EventDoing, Doing{State: "LISTENING"})
	if e := <-events; e.Kind != EventDoing || e.Seq != uint64(feedRecent+6) || !strings.Contains(string(e.Data), "LISTENING") {
		t.Errorf("got %+v", e)
	}
	cancel()
	if _, open := <-events; open {
		t.Error("the channel is open behind the end")
	}
}

// Nobody is waited for: who does not fetch is dropped, the others are not, and what is told costs the teller nothing.
func TestWhoFallsBehindBeginsAnew(t *testing.T) {
	f := NewFeed("kitchen")
	_, slow := f.Watch(t.Context())
	_, quick := f.Watch(t.Context())
	for range feedWaiting + 1 {
		f.Post(EventPress, nil)
		if _, open := <-quick; !open {
			t.Fatal("who keeps up is dropped")
		}
	}
	n := 0
	for range slow {
		n++
	}
	if n != feedWaiting || f.Watching() != 1 {
		t.Errorf("%d events waited, %d watch", n, f.Watching())
	}
	for range feedWatchers {
		f.Watch(t.Context())
	}
	if _, one := f.Watch(t.Context()); f.Watching() != feedWatchers {
		t.Errorf("%d watch", f.Watching())
	} else if _, open := <-one; open {
		t.Error("one too many gets events")
	}
	var none *Feed
	none.Post(EventPress, nil)
}

// Whoever would look finds out when somebody looks on, again and again.
func TestAFeedSaysWhenSomebodyWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFeed("kitchen")
		over, end := context.WithCancel(t.Context())
		end()
		if f.Watched(over) {
			t.Error("nobody watched")
		}
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			f.Watch(ctx)
			if !f.Watched(t.Context()) {
				t.Error("not seen")
			}
			cancel()
			synctest.Wait()
			if f.Watching() != 0 {
				t.Error("still seen")
			}
		}
	})
}

// Looks are taken as often as the one needs that needs most: few for few, at once where something has changed or somebody comes.
func TestLooksAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const least = 100 * time.Millisecond
		f := NewFeed("kitchen")
		looks := make(chan bool)
		ctx, end := context.WithCancel(t.Context())
		go func() {
			defer close(looks)
			for f.Due(ctx, least) {
				looks <- true
			}
		}()
		in := func(d time.Duration) (n int) {
			for over := time.After(d); ; {
				select {
				case _, open := <-looks:
					if !open {
						return -1
					}
					n++
				case <-over:
					return n
				}
			}
		}
		home, away := context.WithCancel(t.Context())
		f.WatchEvery(home, time.Second)
		if n := in(least + time.Millisecond); n != 1 {
			t.Errorf("%d looks when somebody comes", n)
		}
		if n := in(10 * time.Second); n != 10 {
			t.Errorf("%d looks in ten seconds for one a second", n)
		}
		time.Sleep(least)
		f.Nudge()
		if n := in(time.Millisecond); n != 1 {
			t.Errorf("%d looks when something has changed", n)
		}
		for range 100 {
			f.Nudge()
		}
		if n := in(least + time.Millisecond); n != 1 {
			t.Errorf("%d looks when much has changed", n)
		}
		page, leave := context.WithCancel(t.Context())
		f.Watch(page)
		if n := in(time.Second); n < 9 || n > 10 {
			t.Errorf("%d looks in a second for a page", n)
		}
		leave()
		in(time.Second)
		if n := in(10 * time.Second); n != 10 {
			t.Errorf("%d looks in ten seconds when the page has gone", n)
		}
		away()
		if n := in(2 * least); n != -1 {
			t.Errorf("%d looks when nobody looks on", n)
		}
		end()
		if f.Due(ctx, least) {
			t.Error("a look after the end")
		}
		var none *Feed
		none.Nudge()
	})
}

// What is served can be asked in the same process, as by the socket.
func TestLocal(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /volume", func(w http.ResponseWriter, r *http.Request) {
		var q VolumeRequest
		if Decode(w, r, &q) {
			p, err := q.Percentage(50)
			Reply(w, VolumeAnswer{Volume: p}, err)
		}
	})
	r := Local(mux)
	var got VolumeAnswer
	if err := r.Do(t.Context(), "POST", "/volume", VolumeRequest{By: 10}, &got); err != nil || got.Volume != 60 {
		t.Errorf("%+v, %v", got, err)
	}
	loud := 400
	if err := r.Do(t.Context(), "POST", "/volume", VolumeRequest{Percent: &loud}, &got); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
	for body, want := range map[string]string{`{"volume":90}`: `unknown field "volume"`, `{"percent":"90"}`: "percent is a string: want int", `{}`: "say which", `[1]`: "want an object"} {
		if err := r.Do(t.Context(), "POST", "/volume", json.RawMessage(body), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", body, err, want)
		}
	}
	if err := r.Do(t.Context(), "GET", "/nothing", nil, nil); err == nil {
		t.Error("what is not served is answered")
	}
	var p Picture
	if err := json.Unmarshal(NewFeed("a").Picture(Picture{Alive: true}).Data, &p); err != nil || !p.Alive {
		t.Errorf("%+v, %v", p, err)
	}
}
