package web

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"conch/device/control"
)

// Bounds of what is open at once. Our choices: a household has some ten pages, and a Pi Zero feeds them.
const (
	maxStreams       = 32 // of events, overall
	maxStreamsOfOne  = 8
	maxSockets       = 8 // to talk by, overall
	maxSocketsOfOne  = 2 // one that is there, and one whose end is not known yet
	maxGreetings     = 8 // sockets that have not said who they are, overall
	maxBuckets       = 1024
	sharedBucket     = "" // of all those for whom there is no room
	pageRate         = 30 // requests a second, of a session; a page has some ten files
	pageBurst        = 300
	addressRate      = 50 // of an address, let in or not
	addressBurst     = 400
	guessRate        = 10.0 / 60 // links that were none, of an address
	guessBurst       = 10
	maxLocal         = 256 // connections from this machine
	maxNetwork       = 128 // and over a network
	maxOfOneAddress  = 32
	connectionsRate  = 20 // new ones a second, of an address of the network
	connectionsBurst = 100
)

// Errors of what is open at once.
var (
	ErrStreams = errors.New("this page is open too often: close some of its windows")
	ErrSockets = errors.New("too many pages talk already: close one of them")
)

// bucket fills at a rate; each request takes one.
type bucket struct {
	left float64
	at   time.Time
}

// buckets are one a key, so many at most.
type buckets struct {
	rate, burst float64

	mu sync.Mutex
	of map[string]*bucket
}

func newBuckets(rate, burst float64) *buckets {
	return &buckets{rate: rate, burst: burst, of: map[string]*bucket{}}
}

// take says after how long there would be another one; zero: here it is.
func (b *buckets) take(key string, now time.Time) time.Duration { return b.ask(key, now, 1) }

// empty says how long it is until there is one, and takes none.
func (b *buckets) empty(key string, now time.Time) time.Duration { return b.ask(key, now, 0) }

func (b *buckets) ask(key string, now time.Time, take float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.of[key]
	if one == nil {
		if len(b.of) >= maxBuckets {
			b.forget(now)
		}
		if len(b.of) >= maxBuckets {
			key = sharedBucket
		}
		if one = b.of[key]; one == nil {
			one = &bucket{left: b.burst, at: now}
			b.of[key] = one
		}
	}
	if passed := now.Sub(one.at).Seconds(); passed > 0 { // a clock that was set back fills nothing
		one.left = min(b.burst, one.left+passed*b.rate)
	}
	one.at = now
	if one.left < 1 {
		return time.Duration(math.Ceil((1-one.left)/b.rate*1000)) * time.Millisecond
	}
	one.left -= take
	return 0
}

// forget drops what is full again: nobody misses it. It needs mu.
func (b *buckets) forget(now time.Time) {
	for key, one := range b.of {
		if one.left+now.Sub(one.at).Seconds()*b.rate >= b.burst {
			delete(b.of, key)
		}
	}
}

// counts is how many there are of each key and overall.
type counts struct {
	mu  sync.Mutex
	all int
	of  map[string]int
	end map[string]chan struct{} // closed when there is none of a key any more
}

// add counts one more, or says that it is one too many; release counts it off, once.
func (c *counts) add(key string, most, mostOfOne int) (release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= most || c.of[key] >= mostOfOne {
		return func() {}, false
	}
	if c.of == nil {
		c.of, c.end = map[string]int{}, map[string]chan struct{}{}
	}
	if c.of[key] == 0 {
		c.end[key] = make(chan struct{})
	}
	c.all++
	c.of[key]++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[key]--; c.of[key] == 0 {
			close(c.end[key])
			delete(c.of, key)
			delete(c.end, key)
		}
	}), true
}

// none is closed when there is none of a key any more; nil: there is none.
func (c *counts) none(key string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end[key]
}

// Stream counts a stream of events that a visitor opens; release when it ends. ErrStreams: it is one too many.
func (d *Door) Stream(v Visit) (release func(), err error) {
	release, ok := d.streams.add(v.Session, maxStreams, maxStreamsOfOne)
	if !ok {
		return release, ErrStreams
	}
	return release, nil
}

// Socket counts one that a visitor talks by; release when it ends. ErrSockets: it is one too many.
func (d *Door) Socket(v Visit) (release func(), err error) {
	release, ok := d.sockets.add(v.Session, maxSockets, cmp.Or(d.o.Sockets, maxSocketsOfOne))
	if !ok {
		return release, ErrSockets
	}
	return release, nil
}

// greeting counts a socket that has not said yet who it is.
func (d *Door) greeting(v Visit) (release func(), err error) {
	release, ok := d.greetings.add(v.Session, maxGreetings, cmp.Or(d.o.Sockets, maxSocketsOfOne))
	if !ok {
		return release, ErrSockets
	}
	return release, nil
}

// client is who presses by a request: a session, for as long as a page of it is there; without one, for as long as the connection is.
func (d *Door) client(ctx context.Context) control.Client {
	by := control.Client{ID: "session " + VisitFrom(ctx).Session, Gone: d.streams.none(VisitFrom(ctx).Session)}
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok && by.Gone == nil {
		by.Gone = c.gone
	}
	return by
}
