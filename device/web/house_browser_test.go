package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"conch/companions/round"
	"conch/coordinator"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
	"conch/device/web"
)

// A house whose page is the shipped one, served as it ships, and whose devices do what a test says.

// house is three devices, each with a companion.
type house struct {
	t     testing.TB
	url   string
	stage *hall
	feeds map[string]*control.Feed
	end   func() // of the server

	mu       sync.Mutex
	pictures map[string]control.Picture
	asked    []string // of the devices: "kitchen volume {…}"
	refusal  string   // of whatever is asked
}

// places are the devices, with who lives there.
var places = []struct{ device, id, name, role string }{
	{"kitchen", "ada", "Ada", "the cook of the house"},
	{"bedroom", "ben", "Ben", "the reader of the house"},
	{"hall", "cleo", "Cleo", "the one by the door"},
}

func idOf(device string) round.DeviceID { return round.DeviceID("id-of-" + device) }

// members are who is in the room.
func members() (all []round.Member) {
	for _, p := range places {
		all = append(all, round.Member{Device: idOf(p.device), Name: p.device, Cards: []round.Card{{ID: round.CompanionID(p.id), Name: p.name, Role: p.role, Involvement: "medium"}}})
	}
	return all
}

// houseOptions are what a test wants different.
type houseOptions struct {
	quiet  bool   // nothing may be talked
	listen string // HOST:PORT; empty: any port
}

// build serves the page of a house to a browser.
func build(t testing.TB, o houseOptions) *house {
	t.Helper()
	chromium(t)
	return inhabited(t, o)
}

// inhabited is the same, whoever opens it.
func inhabited(t testing.TB, o houseOptions) *house {
	t.Helper()
	h := &house{t: t, feeds: map[string]*control.Feed{}, pictures: map[string]control.Picture{}}
	for _, p := range places {
		h.feeds[p.device] = control.NewFeed(p.device)
		h.pictures[p.device] = control.Picture{
			Alive: true, Doing: control.Doing{State: "IDLE"},
			Status: control.Status{Device: idOf(p.device), State: "IDLE", Quiet: true, Ready: true, Volume: 70, Conditions: []condition.Condition{}},
			Room:   &control.RoomStatus{Room: "home", Device: idOf(p.device), Broker: "b", Connected: true, Members: members()},
		}
	}
	h.open(o)
	t.Cleanup(func() { h.end() })
	return h
}

// open begins to serve.
func (h *house) open(o houseOptions) {
	h.t.Helper()
	if o.listen == "" {
		o.listen = "127.0.0.1:0"
	}
	ctx, cancel := context.WithCancel(context.Background())
	opened, ended := make(chan struct{}), make(chan error, 1)
	door, err := web.NewDoor(web.DoorOptions{Web: config.Web{Listen: o.listen, Talk: !o.quiet}, Device: "kitchen", Self: os.Getuid(), Group: -1})
	if err != nil {
		h.t.Fatal(err)
	}
	h.stage = &hall{seats: map[*chair]bool{}}
	options := web.Options{
		Door: door, Stage: h.stage, Language: "en", Log: slog.New(slog.DiscardHandler), Opened: func() { close(opened) },
		Trouble: func(err error) {
			if err != nil {
				h.t.Errorf("the page cannot be opened: %v", err)
			}
		},
	}
	for _, p := range places {
		options.Boxes = append(options.Boxes, web.Box{
			Name: p.device, Feed: h.feeds[p.device],
			Picture: func(context.Context) control.Picture { return h.picture(p.device) },
			Control: func() http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.control(w, r, p.device) })
			},
		})
	}
	server := web.New(options)
	go func() { ended <- server.Run(ctx) }() // awaited by end
	var once sync.Once
	h.end = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				h.t.Errorf("the page ended with: %v", err)
			}
		})
	}
	select {
	case <-opened:
		h.url = door.Pages()[0]
	case err := <-ended:
		ended <- err
		h.t.Fatal("the page was not opened: ", err)
	}
}

func (h *house) picture(device string) control.Picture {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pictures[device]
}

// control is the control socket of a device: it notes what it is asked.
func (h *house) control(w http.ResponseWriter, r *http.Request, device string) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	h.asked = append(h.asked, device+" "+strings.TrimPrefix(r.URL.Path, "/")+" "+string(body))
	refusal := h.refusal
	h.mu.Unlock()
	if refusal != "" {
		http.Error(w, refusal, http.StatusConflict)
		return
	}
	control.Reply(w, map[string]bool{}, nil)
}

// wasAsked waits until a device was asked for something.
func (h *house) wasAsked(what string) {
	h.t.Helper()
	h.soon(func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return slices.Contains(h.asked, what)
	}, func() string {
		h.mu.Lock()
		defer h.mu.Unlock()
		return fmt.Sprintf("nobody asked %q; asked was %q", what, h.asked)
	})
}

// soon waits for something to be so.
func (h *house) soon(so func() bool, otherwise func() string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	if wait.Until(ctx, so) != nil {
		h.t.Fatal(otherwise())
	}
}

// happens tells of something at a device.
func (h *house) happens(device string, kind control.EventKind, data any) {
	h.feeds[device].Post(kind, data)
}

// is changes what a device is, and tells so.
func (h *house) is(device string, change func(*control.Picture)) {
	h.mu.Lock()
	p := h.pictures[device]
	change(&p)
	h.pictures[device] = p
	h.mu.Unlock()
	h.happens(device, control.EventPicture, p)
}

// does says what a device does.
func (h *house) does(device string, d control.Doing) { h.happens(device, control.EventDoing, d) }

// question has a person ask at a device and a round decided: every device tells of it, as in a rehearsal.
func (h *house) question(device, message, text, winner string) {
	votes := []round.Vote{}
	silent := []round.Silent{}
	for _, p := range places {
		v := round.Vote{From: round.CompanionID(p.id), MessageID: round.MessageID(message), State: "listen", Importance: 1, Layer: round.LayerWorth,
			Reason: "it likes to join in; importance 1.0 is below 5", Terms: []round.Term{{Name: "talkativeness", Value: 1, Why: "it likes to join in"}}}
		if p.id == winner {
			v.State, v.Importance, v.Reason = "speak", 8, `it knows about "egg"`
			v.Terms = []round.Term{{Name: "expertise", Value: 5, Why: `it knows about "egg"`}, {Name: "relevance", Value: 4}, {Name: "spoke", Value: -1}}
		} else {
			silent = append(silent, round.Silent{Companion: round.CompanionID(p.id), Layer: round.LayerForbidden, Reason: "it has had its share of the last turns"})
		}
		votes = append(votes, v)
	}
	place := round.Place{Epoch: round.Epoch{N: 1, Device: idOf(device)}, Number: 1, Message: round.MessageID(message)}
	entry := round.Entry{
		Kind: round.EntryRound, Place: &place,
		Message:  &round.Message{ID: place.Message, From: round.Human(idOf(device)), Text: text, Turn: "t-" + message, Epoch: place.Epoch, Number: 1},
		Decision: &round.Decision{Roster: []round.CompanionID{"ada", "ben", "cleo"}, Votes: votes, Winner: round.CompanionID(winner), Layer: round.LayerWorth, Reason: `it knows about "egg"`, Silent: silent, Waited: 3.4},
	}
	if winner != "" {
		entry.Decision.Order = []round.CompanionID{round.CompanionID(winner)}
	} else {
		entry.Decision.Reason = "nobody has enough to say"
	}
	claim := round.Entry{Kind: round.EntryClaim, Place: &place, Companion: round.CompanionID(winner), By: idOf(h.of(winner))}
	if winner == "" {
		claim = round.Entry{Kind: round.EntrySilent, Place: &place, Why: "nobody has enough to say"}
	}
	for _, p := range places {
		h.happens(p.device, control.EventEntry, entry)
		h.happens(p.device, control.EventEntry, claim)
	}
}

// of is where a companion lives.
func (h *house) of(companion string) string {
	for _, p := range places {
		if p.id == companion {
			return p.device
		}
	}
	return places[0].device
}

// turn ends one of a companion.
func (h *house) turn(companion, turn, said, heard string, silence float64) {
	t := control.Turn{Event: "turn.end", Device: h.of(companion), Who: strings.ToUpper(companion[:1]) + companion[1:]}
	t.Record = coordinator.Record{Turn: "", Reason: "done", Said: said, HeardText: heard, HeardMS: 2035, CommitToFirstAudio: 222, Audible: true}
	data, err := json.Marshal(t)
	if err != nil {
		h.t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		h.t.Fatal(err)
	}
	fields["turn"] = turn
	if silence > 0 {
		fields["press_to_silence_ms"] = silence
	}
	if heard != said {
		fields["reason"] = "interrupted"
	}
	h.happens(h.of(companion), control.EventTurn, fields)
}

// hall is where pages sit. It implements web.Stage. Whoever sits there hears a tone until the button is down.
type hall struct {
	mu      sync.Mutex
	refused error
	seats   map[*chair]bool
	sat     atomic.Int64 // pages, ever
}

// chair is one page.
type chair struct {
	of     *hall
	device string
	ear    web.Ear
	stop   chan struct{}
	silent chan struct{} // closed when nothing plays any more

	down    atomic.Bool
	presses atomic.Int64
	heard   atomic.Int64 // samples of the microphone
	loudest atomic.Int64
	mute    atomic.Bool // no tone
	jerky   atomic.Bool // the tone comes and goes, and its beginning is late
}

// Sit implements web.Stage.
func (h *hall) Sit(device string, ear web.Ear) (web.Seat, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused != nil {
		return nil, h.refused
	}
	free := ""
	for _, p := range places {
		taken := false
		for c := range h.seats {
			taken = taken || c.device == p.device
		}
		if !taken && free == "" && (device == "" || device == p.device) {
			free = p.device
		}
	}
	if free == "" {
		return nil, errors.New("somebody talks there already, from another page")
	}
	c := &chair{of: h, device: free, ear: ear, stop: make(chan struct{}), silent: make(chan struct{})}
	h.seats[c] = true
	h.sat.Add(1)
	go c.play() // until it leaves
	return c, nil
}

// taken waits for a page at a device.
func (h *house) taken(device string) (c *chair) {
	h.t.Helper()
	h.soon(func() bool {
		h.stage.mu.Lock()
		defer h.stage.mu.Unlock()
		for one := range h.stage.seats {
			if one.device == device {
				c = one
			}
		}
		return c != nil
	}, func() string { return "no page sits in " + device })
	return c
}

// play is a tone, ten milliseconds at a time, as a card plays it.
func (c *chair) play() {
	defer close(c.silent)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	begun, sent := time.Now(), 0
	var kept [][]int16
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
		}
		for due := int(time.Since(begun) / (10 * time.Millisecond)); sent < due; sent++ { // a busy machine ticks late
			frames := make([]int16, 480)
			for i := range frames {
				frames[i] = int16(9000 * math.Sin(2*math.Pi*440*float64(480*sent+i)/48000))
			}
			if c.down.Load() || c.mute.Load() {
				kept = nil
				continue
			}
			kept = append(kept, frames)
			if c.jerky.Load() {
				switch at := sent % 120; { // 0.6 s of sound and as much of silence; of the sound 150 ms are late at first
				case at >= 60:
					kept = nil
					continue
				case at >= 6 && at < 21:
					continue
				}
			}
			for _, frames := range kept {
				c.ear.Sound(c.device, frames)
			}
			kept = nil
		}
	}
}

// Device implements web.Seat.
func (c *chair) Device() string { return c.device }

// Hear implements web.Seat.
func (c *chair) Hear(frames []int16) {
	c.heard.Add(int64(len(frames)))
	for _, x := range frames {
		if a := int64(max(x, -x)); a > c.loudest.Load() {
			c.loudest.Store(a)
		}
	}
}

// Press implements web.Seat.
func (c *chair) Press(down bool) {
	c.down.Store(down)
	if down {
		c.presses.Add(1)
		c.ear.Drop(c.device)
	}
}

// Leave implements web.Seat.
func (c *chair) Leave() {
	close(c.stop)
	<-c.silent
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.seats, c)
}
