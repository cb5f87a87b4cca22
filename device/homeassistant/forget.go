package homeassistant

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
)

// maxLeft bounds what is looked for of one device at a broker; a device has some dozens of topics.
const maxLeft = 1000

// forget takes away what this device has left at a place, and tries until it has. stays: the device is still shown there, under another
// prefix, so that its own topics are in use.
func (b *Bridge) forget(ctx context.Context, p place, stays bool) {
	wait, takes := b.o.Retry, unlimited
	for ctx.Err() == nil {
		err := forgetOnce(ctx, p, takes, stays)
		if err == nil {
			break
		}
		if hungUp(err) {
			if takes = limitsOf(ctx, p.config(), "conch-ha-"+p.Device+"-limits"); !takes.keeps {
				break // nothing was left there
			}
		}
		if ctx.Err() != nil {
			return
		}
		b.o.Log.Info(logLeft, "broker", p.Broker, "err", err, "again", wait)
		pause(ctx, time.Duration((0.5+b.o.Random()/2)*float64(wait)))
		wait = min(2*wait, max(b.o.Retry, 5*retryMost))
	}
	if ctx.Err() != nil {
		return
	}
	b.mu.Lock()
	b.n = b.n.without(p)
	n := b.n
	b.mu.Unlock()
	if err := n.save(b.o.Note); err != nil {
		b.o.Log.Warn(logNote, "err", err)
	}
	b.o.Log.Info(logForgotten, "broker", p.Broker)
}

// forgetOnce empties the discovery, so that Home Assistant takes the device away, and then every topic of the device's.
func forgetOnce(ctx context.Context, p place, takes limits, stays bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := about{id: p.Device, prefix: p.Prefix}
	var mu sync.Mutex
	left := map[string]bool{}
	end, ended := a.base()+"/left", make(chan struct{})
	var once sync.Once
	l, err := dial(ctx, p.config(), takes, "conch-ha-"+p.Device+"-left", message{}, func(m paho.Message) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case m.Topic() == end:
			once.Do(func() { close(ended) })
		case m.Retained() && len(left) < maxLeft:
			left[m.Topic()] = true
		}
	})
	if err != nil {
		return err
	}
	defer l.close()
	for n := range min(max(1, p.Parts), maxEntities) {
		if err := l.publish(ctx, message{a.part(n), "", true}, ackTimeout); err != nil {
			return errors.Join(err, lostOf(l))
		}
	}
	if stays {
		return nil
	}
	if err := l.subscribe(ctx, a.base()+"/#"); err != nil { // this user may not read
		mu.Lock()
		left[a.availability()] = true
		for key := range p.Entities {
			left[a.of(key, "state")], left[a.of(key, "attributes")] = true, true
		}
		mu.Unlock()
	} else {
		// What a broker keeps comes before what is said after it has subscribed us.
		if err := l.publish(ctx, message{end, "", false}, ackTimeout); err != nil {
			return err
		}
		limit := time.NewTimer(ackTimeout)
		defer limit.Stop()
		select {
		case <-ended:
		case <-limit.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	mu.Lock()
	topics := slices.Sorted(maps.Keys(left))
	mu.Unlock()
	for _, topic := range topics {
		if err := l.publish(ctx, message{topic, "", true}, ackTimeout); err != nil {
			return err
		}
	}
	return nil
}
