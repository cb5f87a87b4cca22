package web

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"conch/device/redact"
)

// Stage is where pages talk.
type Stage interface {
	// Sit makes a page the microphone, the loudspeaker and the button of a device; of any that has none, where no name is given. An error is
	// for people. The page hears devices of which no page has the sound, too.
	Sit(device string, ear Ear) (Seat, error)
}

// Seat is a page at its device. Its methods are called on one goroutine.
type Seat interface {
	Device() string
	Hear(frames []int16) // of the microphone; 48 kHz, mono
	Press(down bool)
	Leave() // the page has gone, whatever it was doing
}

// Ear is what a page hears. Its methods never wait; they may be called on any goroutine.
type Ear interface {
	Sound(device string, frames []int16) // 48 kHz, mono; the slice is the caller's again afterwards
	Drop(device string)                  // what the page still holds of it must not sound
}

// Bounds of a socket. Our choices.
const (
	talkRate     = 48000           // Hz
	maxTalk      = 16 << 10        // bytes of a message: 85 ms of sound
	talkBegin    = 5 * time.Second // until a page has said who it is
	talkWrite    = 5 * time.Second // for one message; who takes longer has gone
	talkBytes    = 4 * talkRate    // a second: twice what a microphone brings
	talkBurst    = 2 * talkBytes
	talkMessages = 400              // frames a second: 100 of sound, presses, pings
	talkPing     = 10 * time.Second // a page that does not answer in that time has gone: out of the house, its button down
	talkWaiting  = 50               // messages of sound that wait for a page: half a second
)

// Languages of a socket (WEB.md 2).
type (
	talkHello struct {
		Token  string `json:"token"`
		Device string `json:"device"`
	}
	talkSeat struct {
		Seat    string   `json:"seat"`
		Devices []string `json:"devices"` // by their numbers in what is heard
		Rate    int      `json:"rate"`
	}
	talkMessage struct {
		Press *bool  `json:"press"`
		Ping  *int64 `json:"ping"`
	}
)

// talk serves the socket of one page.
func (s *Server) talk(w http.ResponseWriter, r *http.Request) {
	v := VisitFrom(r.Context())
	greeting, err := s.o.Door.greeting(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer greeting()
	c, err := websocket.Accept(metered{w}, r, nil) // which looks at the origin, as the door has
	if err != nil {
		return // it has answered
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(maxTalk)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	hello, err := greeted(ctx, c)
	if err == nil {
		switch {
		case !v.TokenIs(hello.Token):
			err = errors.New("this page is too old: load it again")
		case v.Talk != TalkYes || s.o.Stage == nil:
			err = errors.New("no page can talk here: set web.talk = true, and open it on this machine or encrypted")
		}
	}
	if err == nil {
		var release func()
		release, err = s.o.Door.Socket(v)
		defer release()
	}
	ear := newEar(s.o.Boxes)
	var seat Seat
	if err == nil {
		seat, err = s.o.Stage.Sit(hello.Device, ear)
	}
	if err != nil {
		refuse(ctx, c, err)
		return
	}
	defer seat.Leave()
	greeting()
	ear.tell(talkSeat{seat.Device(), ear.names, talkRate})
	written := make(chan struct{})
	go func() { // ends with ctx
		defer close(written)
		defer cancel()
		ear.run(ctx, c)
	}()
	attended := make(chan struct{})
	go func() { // ends with ctx
		defer close(attended)
		defer cancel()
		attend(ctx, c, talkPing)
	}()
	err = listen(ctx, c, seat, ear)
	cancel()
	<-written
	<-attended
	var status websocket.CloseError
	if !errors.As(err, &status) && s.o.Log != nil {
		s.o.Log.Debug("web.talk_ended", "device", seat.Device(), "err", err)
	}
}

// attend stays as long as the page answers.
func attend(ctx context.Context, c *websocket.Conn, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		late, cancel := context.WithTimeout(ctx, every)
		err := c.Ping(late)
		cancel()
		if err != nil {
			return
		}
	}
}

// greeted is the first message.
func greeted(ctx context.Context, c *websocket.Conn) (hello talkHello, err error) {
	ctx, cancel := context.WithTimeout(ctx, talkBegin)
	defer cancel()
	kind, data, err := c.Read(ctx)
	if err == nil && (kind != websocket.MessageText || json.Unmarshal(data, &hello) != nil) {
		err = errors.New("the first message has to say who it is")
	}
	return hello, err
}

func refuse(ctx context.Context, c *websocket.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, talkWrite)
	defer cancel()
	text, _ := json.Marshal(map[string]string{"refused": err.Error()}) // strings
	if c.Write(ctx, websocket.MessageText, redact.Bytes(text)) == nil {
		_ = c.Close(websocket.StatusPolicyViolation, "refused")
	}
}

// errFlood ends a page that sends more than a microphone and a finger do.
var errFlood = errors.New("more than a microphone brings")

// listen takes what the page sends until it ends.
func listen(ctx context.Context, c *websocket.Conn, seat Seat, ear *ear) error {
	frames := make([]int16, maxTalk/2)
	for {
		kind, data, err := c.Read(ctx)
		if err != nil {
			return err
		}
		if kind == websocket.MessageBinary {
			n := len(data) / 2
			for i := range frames[:n] {
				frames[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
			}
			seat.Hear(frames[:n])
			continue
		}
		var m talkMessage
		switch {
		case json.Unmarshal(data, &m) != nil:
		case m.Press != nil:
			seat.Press(*m.Press)
		case m.Ping != nil:
			ear.tell(map[string]int64{"pong": *m.Ping})
		}
	}
}

// ear is what waits to go to a page. It implements Ear.
type ear struct {
	names []string // fixed: the boxes
	wake  chan struct{}

	mu    sync.Mutex // guards what follows
	words [][]byte   // text, which goes first
	sound [][]byte
	drops []int
}

func newEar(boxes []Box) *ear {
	e := &ear{wake: make(chan struct{}, 1)}
	for _, b := range boxes {
		e.names = append(e.names, b.Name)
	}
	return e
}

// Sound implements Ear. For whom the way is too slow, it has gaps.
func (e *ear) Sound(device string, frames []int16) {
	i := slices.Index(e.names, device)
	if i < 0 {
		return
	}
	m := make([]byte, 2, 2+2*len(frames))
	m[0] = byte(i)
	for _, x := range frames {
		m = binary.LittleEndian.AppendUint16(m, uint16(x))
	}
	e.mu.Lock()
	if len(e.sound) < talkWaiting {
		e.sound = append(e.sound, m)
	}
	e.mu.Unlock()
	e.poke()
}

// Drop implements Ear. It overtakes sound, and takes with it what waits.
func (e *ear) Drop(device string) {
	i := slices.Index(e.names, device)
	if i < 0 {
		return
	}
	e.mu.Lock()
	e.sound = slices.DeleteFunc(e.sound, func(m []byte) bool { return m[0] == byte(i) })
	if !slices.Contains(e.drops, i) {
		e.drops = append(e.drops, i)
	}
	e.mu.Unlock()
	e.poke()
}

// maxWords bounds what is said to a page that does not listen. Our choice: it is one word for a ping of it.
const maxWords = 64

// tell sends text.
func (e *ear) tell(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		return
	}
	e.mu.Lock()
	if len(e.words) < maxWords {
		e.words = append(e.words, redact.Bytes(text))
	}
	e.mu.Unlock()
	e.poke()
}

func (e *ear) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// next is the message to send next; nil: none waits.
func (e *ear) next() (kind websocket.MessageType, m []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(e.drops) > 0:
		m, _ = json.Marshal(map[string][]int{"drop": e.drops}) // numbers
		e.drops = nil
		return websocket.MessageText, m
	case len(e.words) > 0:
		m, e.words = e.words[0], e.words[1:]
		return websocket.MessageText, m
	case len(e.sound) > 0:
		m, e.sound = e.sound[0], e.sound[1:]
		return websocket.MessageBinary, m
	}
	return 0, nil
}

// run sends until ctx ends or the page does.
func (e *ear) run(ctx context.Context, c *websocket.Conn) {
	for {
		select {
		case <-e.wake:
		case <-ctx.Done():
			return
		}
		for kind, m := e.next(); m != nil; kind, m = e.next() {
			late, cancel := context.WithTimeout(ctx, talkWrite)
			err := c.Write(late, kind, m)
			cancel()
			if err != nil {
				return
			}
		}
	}
}
