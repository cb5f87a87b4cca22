package homeassistant

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/mqtt"
)

// childVar has a test's binary be a bridge to the broker that it names, until it is killed.
const childVar = "CONCH_TEST_BRIDGE"

func TestMain(m *testing.M) {
	if broker := os.Getenv(childVar); broker != "" {
		d := newFake()
		d.o.Config.Broker = broker
		fmt.Println("running")
		_ = New(d.o).Run(context.Background())
		return
	}
	goleak.VerifyTestMain(m)
}

const kitchen, hall = round.DeviceID("aaaaaaaaaaaaaaaaaaaa"), round.DeviceID("bbbbbbbbbbbbbbbbbbbb")

// someRoom is a room of two devices, seen from the kitchen.
func someRoom() *control.RoomStatus {
	return &control.RoomStatus{
		Room: "home", Device: kitchen, Broker: "mqtt://house:1883", Connected: true, Wire: &mqtt.Stats{Up: true, Connects: 3},
		Members: []round.Member{
			{Device: kitchen, Name: "kitchen", Cards: []round.Card{
				{ID: "ada", Name: "Ada", Involvement: round.InvolvementHigh}, {ID: "ben", Name: "Ben"},
			}},
			{Device: hall, Name: "hall", Cards: []round.Card{{ID: "cleo", Name: "Cleo"}}},
		},
		Setting: round.Setting{Involvement: round.InvolvementLow},
	}
}

func somePicture() control.Picture {
	return control.Picture{
		Alive: true, Room: someRoom(), Doing: control.Doing{State: "IDLE"},
		Status: control.Status{
			Version: "1.2.3", Device: kitchen, State: "IDLE", Quiet: true, Volume: 40,
			Today: &control.UsageReport{Day: "2026-03-01", Tokens: 1234, Cost: 0.25, Until: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)},
		},
	}
}

// fake is a device of which only the control socket and the feed are there.
type fake struct {
	o Options
	b *Bridge // that runs; of the test's goroutine

	mu    sync.Mutex
	p     control.Picture
	asked []string      // method, path and body
	hold  chan struct{} // what is asked for is done when it is closed, but for silence; nil: at once
}

func newFake() *fake {
	d := &fake{p: somePicture()}
	feed := control.NewFeed("kitchen")
	d.o = Options{
		Config: config.HomeAssistant{Discovery: true, Prefix: "homeassistant"},
		ID:     string(kitchen), Name: "Kitchen", Version: "1.2.3", Model: "a board",
		Ask: d.ask, Feed: feed, Picture: func(context.Context) control.Picture {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.p
		},
		Conditions: condition.NewBook(slog.New(slog.DiscardHandler)), Random: func() float64 { return 0 }, Retry: 10 * time.Millisecond,
	}
	return d
}

func (d *fake) ask(ctx context.Context, method, path string, in, _ any) error {
	body := ""
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = " " + string(text)
	}
	d.mu.Lock()
	d.asked = append(d.asked, method+" "+path+body)
	hold := d.hold
	d.mu.Unlock()
	if path != "/hush" && hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// done are the requests so far.
func (d *fake) done() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}

// change makes another picture, and tells of it.
func (d *fake) change(f func(p *control.Picture)) {
	d.mu.Lock()
	p := d.p
	if p.Room != nil { // others read the one that was
		room := *p.Room
		room.Members = slices.Clone(room.Members)
		p.Room = &room
	}
	f(&p)
	d.p = p
	d.mu.Unlock()
	d.o.Feed.Post(control.EventStatus, p.Status)
	d.o.Feed.Post(control.EventDoing, p.Doing)
	if p.Room != nil {
		d.o.Feed.Post(control.EventRoom, p.Room)
	}
}

// event is one as the feed gives it.
func event(t testing.TB, kind control.EventKind, data any) control.Event {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return control.Event{Kind: kind, At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Device: "kitchen", Data: text}
}
