package mqtt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
)

// What is said at the same broker besides the room's talk: lamps, sensors, a house. It is neither signed nor believed, and no topic
// of conch's is reached by it.

// Errors of what is said to others.
var (
	ErrAway     = errors.New("the broker is not there")                                              // and nothing was sent
	ErrRoomOnly = errors.New("the broker is one of conch's own, which carries nothing but its room") // and nothing was sent
	ErrBroken   = errors.New("the connection broke before the broker had answered")
	ErrNotHeld  = errors.New("the broker keeps nothing under that topic")
)

// RoomOnly is the filter by which a broker that carries nothing but a room is known: it grants QoS 0 where 1 was asked for. What does not
// belong to its room it can only drop in silence or end the connection for, in MQTT 3.1.1; so it is asked before. Other brokers grant 1, or
// refuse; nothing is ever said under it.
const RoomOnly = "conch/broker"

const (
	retainedWait = time.Second // from the acknowledged subscription until what is kept has come; brokers send it at once
	maxForeign   = 4 << 10     // bytes of a payload; our choice
)

// CheckForeign says whether a topic may be spoken to besides the room.
func CheckForeign(topic string) error {
	switch {
	case topic == "" || len(topic) > 1024 || strings.ContainsAny(topic, "+#\x00"):
		return fmt.Errorf("topic %q: must be 1 to 1024 bytes long, without + and #", topic)
	case strings.HasPrefix(topic, "$"), topic == "conch", strings.HasPrefix(topic, "conch/"):
		return fmt.Errorf("topic %q: belongs to the broker or to conch's own rooms", topic)
	}
	return nil
}

// live is the link that is up, to a broker that carries more than a room.
func (c *Client) live(ctx context.Context) (paho.Client, error) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l == nil {
		return nil, ErrAway
	}
	if l.carries.Load() {
		return l.paho, nil
	}
	var asked *paho.SubscribeToken
	err := told(ctx, func() paho.Token {
		asked, _ = l.paho.Subscribe(RoomOnly, 1, func(paho.Client, paho.Message) {}).(*paho.SubscribeToken)
		return asked
	})
	switch {
	case err == nil && asked.Result()[RoomOnly] == 0:
		return nil, ErrRoomOnly
	case err != nil && !errors.Is(err, ErrNotAuthorized):
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	l.carries.Store(true)
	return l.paho, nil
}

// Publish says something with QoS 1, and returns when the broker has acknowledged it, or ctx ends.
func (c *Client) Publish(ctx context.Context, topic string, payload []byte) error {
	if err := CheckForeign(topic); err != nil {
		return err
	}
	p, err := c.live(ctx)
	if err != nil {
		return err
	}
	return told(ctx, func() paho.Token { return p.Publish(topic, 1, false, payload) })
}

// Retained is what the broker keeps under a topic.
func (c *Client) Retained(ctx context.Context, topic string) ([]byte, error) {
	if err := CheckForeign(topic); err != nil {
		return nil, err
	}
	p, err := c.live(ctx)
	if err != nil {
		return nil, err
	}
	select { // two who read one topic would take each other's answer away
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	kept := make(chan []byte, 1)
	defer p.Unsubscribe(topic)
	err = told(ctx, func() paho.Token {
		return p.Subscribe(topic, 1, func(_ paho.Client, m paho.Message) {
			select {
			case kept <- m.Payload():
			default:
			}
		})
	})
	if err != nil {
		return nil, err
	}
	t := time.NewTimer(retainedWait)
	defer t.Stop()
	select {
	case b := <-kept:
		return b[:min(len(b), maxForeign)], nil
	case <-t.C:
		return nil, ErrNotHeld
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// told waits for the broker's answer. The library's own call may wait for a connection that takes nothing.
func told(ctx context.Context, say func() paho.Token) error {
	answered := make(chan error, 1)
	go func() { // ends with the answer, at the latest with the link
		t := say()
		select {
		case <-t.Done():
		case <-ctx.Done():
			answered <- ctx.Err()
			return
		}
		err := t.Error()
		if s, ok := t.(*paho.SubscribeToken); ok && err == nil {
			for topic, code := range s.Result() {
				if code == subackFailed {
					err = fmt.Errorf("%w: it may not read %s", ErrNotAuthorized, topic)
				}
			}
		}
		switch {
		case errors.Is(err, paho.ErrNotConnected):
			err = ErrAway
		case err != nil && !errors.Is(err, ErrNotAuthorized):
			err = ErrBroken
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
