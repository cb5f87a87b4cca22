package mqtt

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/mqtt/mqtttest"
)

// What is said besides the room's talk arrives once the broker has said so, and what the broker keeps is read.
func TestAHouseIsSpokenTo(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	a, _ := pair(t, m.URL())
	heard := make(chan string, 10)
	raw, err := OpenRaw(t.Context(), Config{URL: m.URL()}, "lamp", "house/#", func(topic string, payload []byte) { heard <- topic + "=" + string(payload) })
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	ctx, over := context.WithTimeout(t.Context(), 10*time.Second)
	defer over()
	if err := a.Publish(ctx, "house/lamp/set", []byte("ON")); err != nil {
		t.Fatal(err)
	}
	if got := mqtttest.Await(t, heard, "what was published"); got != "house/lamp/set=ON" {
		t.Errorf("the lamp heard %s", got)
	}
	if _, err := a.Retained(ctx, "house/lamp"); !errors.Is(err, ErrNotHeld) {
		t.Errorf("a topic that keeps nothing: %v", err)
	}
	m.Publish("house/lamp", []byte("OFF"), "-r", "-q", "1")
	for range 3 {
		if got, err := a.Retained(ctx, "house/lamp"); err != nil || string(got) != "OFF" {
			t.Errorf("%q, %v", got, err)
		}
	}
	for _, topic := range []string{"", "house/+", "house/#", "conch/v1/home/presence/x", RoomOnly, "conch", "$SYS/broker/uptime"} {
		if err := a.Publish(ctx, topic, nil); err == nil {
			t.Errorf("Publish speaks under %q", topic)
		}
		if _, err := a.Retained(ctx, topic); err == nil {
			t.Errorf("Retained reads %q", topic)
		}
	}
}

func TestAHouseWhoseBrokerIsAway(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	a, _ := pair(t, m.URL())
	ctx, over := context.WithTimeout(t.Context(), 10*time.Second)
	defer over()
	m.Freeze()
	short, cut := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cut()
	if err := a.Publish(short, "house/lamp", []byte("ON")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a broker that does not answer: %v; want it said that nobody knows", err)
	}
	m.Thaw()
	m.Stop()
	a.link(false)
	if err := a.Publish(ctx, "house/lamp", []byte("ON")); !errors.Is(err, ErrAway) {
		t.Errorf("%v; want the broker away", err)
	}
	if _, err := a.Retained(ctx, "house/lamp"); !errors.Is(err, ErrAway) {
		t.Errorf("%v; want the broker away", err)
	}
}

// answered is what became of something that was said.
type answered struct {
	paho.DummyToken
	err error
}

func (a answered) Done() <-chan struct{} { done := make(chan struct{}); close(done); return done }
func (a answered) Error() error          { return a.err }

// Whether something was sent at all is known: only then nobody knows what became of it.
func TestWhatWasNotSentIsToldFromWhatWasNotAnswered(t *testing.T) {
	for from, want := range map[error]error{nil: nil, paho.ErrNotConnected: ErrAway, io.EOF: ErrBroken} {
		if err := told(t.Context(), func() paho.Token { return &answered{err: from} }); !errors.Is(err, want) {
			t.Errorf("%v is told as %v; want %v", from, err, want)
		}
	}
}
