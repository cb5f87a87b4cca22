package pairing

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// Meeting is a place on a foreign broker where devices pair: the topics conch/v1/<room>/pairing/<client id>, over an MQTT session
// of its own. The client id is "p" and the device's id, so that the room's own session is not put out, and an access list that
// lets a client write what ends in its client id holds here, too. Everybody at the broker can read along: the code protects.
type Meeting interface {
	// Open tells everybody who browses that this device has a window open for a room (empty: it is in none yet); Shut ends that.
	Open(roomID, roomName string)
	Shut()
	// Browse asks who has a window open, and gathers answers until ctx ends.
	Browse(ctx context.Context) ([]Opening, error)
	// Dial is a channel to a device's window; ErrNoWindow if it does not answer.
	Dial(ctx context.Context, to round.DeviceID) (Channel, error)
	// Accept waits for a joiner while this device's window is open.
	Accept(ctx context.Context) (Channel, error)
	Close() error
}

// Opening is a window that a device says is open.
type Opening struct {
	Device   round.DeviceID
	RoomID   string // empty: in no room yet
	RoomName string
}

// noRoom stands for an empty room's id on the wire, where older devices want one.
const noRoom = "none"

// Bounds of a meeting.
const (
	maxOpenings  = 32
	maxKnocks    = 8 // that nobody has accepted yet; further ones are not answered
	maxChannels  = 16
	maxWaiting   = 8 // frames that a channel has not read yet; at one more it is over
	knockLimit   = 3 * time.Second
	lookInterval = 500 * time.Millisecond
	openInterval = 50 * time.Millisecond // between two answers to lookers
	clientPrefix = "p"
)

// Meet connects to the foreign broker of cfg (its URL, user, password, certificates). ctx is for that alone.
func Meet(ctx context.Context, cfg mqtt.Config, room string, self mqtt.Identity) (Meeting, error) {
	if err := mqtt.CheckRoom(room); err != nil {
		return nil, err
	}
	m := &meeting{
		room: room, self: self, root: "conch/v1/" + room + "/pairing/",
		knocks: make(chan *mqttChannel, maxKnocks), channels: map[runKey]*mqttChannel{}, openings: map[round.DeviceID]Opening{},
	}
	raw, err := mqtt.OpenRaw(ctx, cfg, clientPrefix+string(self.ID()), m.root+"+", m.arrived)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.raw = raw
	m.mu.Unlock()
	return m, nil
}

// meeting has no goroutine but the library's, which calls arrived, and those that write answers, each bounded by the broker's.
type meeting struct {
	room, root string // fixed after Meet
	self       mqtt.Identity
	knocks     chan *mqttChannel
	writers    sync.WaitGroup

	mu       sync.Mutex
	raw      *mqtt.Raw // nil until the session is there
	closed   bool
	open     *Opening // this device's window
	said     time.Time
	look     []byte // the nonce of this device's latest look
	openings map[round.DeviceID]Opening
	channels map[runKey]*mqttChannel
}

// runKey names a run: who else is in it, and the number that the joiner drew.
type runKey struct {
	peer round.DeviceID
	run  string
}

func (m *meeting) topic() string { return m.root + clientPrefix + string(m.self.ID()) }

// send signs a note and publishes it.
func (m *meeting) send(n note) error {
	m.mu.Lock()
	raw := m.raw
	m.mu.Unlock()
	if raw == nil {
		return fmt.Errorf("%w: no session at the broker", ErrLost)
	}
	n.Key = m.self.PublicKey()
	n.Sig = m.sign(n)
	return raw.Publish(m.topic(), encode(&n))
}

func (m *meeting) sign(n note) []byte { return ed25519.Sign(m.self.PrivateKey(), n.signed(m.room)) }

// later sends from a goroutine of its own: arrived must not wait.
func (m *meeting) later(n note) {
	m.writers.Go(func() { _ = m.send(n) })
}

func (m *meeting) Open(roomID, roomName string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if roomName != "" {
		roomName = mqtt.FitName(roomName, MaxName, roomID)
	}
	m.open = &Opening{Device: m.self.ID(), RoomID: cmp.Or(roomID, noRoom), RoomName: roomName}
}

func (m *meeting) Shut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = nil
}

func (m *meeting) Close() error {
	m.mu.Lock()
	raw := m.raw
	m.closed, m.open = true, nil
	var channels []*mqttChannel
	for _, c := range m.channels {
		channels = append(channels, c)
	}
	m.mu.Unlock()
	for _, c := range channels {
		_ = c.Close()
	}
	m.writers.Wait()
	raw.Close()
	return nil
}

func (m *meeting) Browse(ctx context.Context) ([]Opening, error) {
	nonce := make([]byte, runSize)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.look = nonce
	clear(m.openings)
	m.mu.Unlock()
	again := time.NewTicker(lookInterval)
	defer again.Stop()
	for {
		if err := m.send(note{Type: noteLook, Run: nonce}); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLost, err)
		}
		select {
		case <-again.C:
			continue
		case <-m.raw.Lost():
			return nil, fmt.Errorf("%w: the session at the broker", ErrLost)
		case <-ctx.Done():
		}
		break
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Opening
	for _, o := range m.openings {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Opening) int { return strings.Compare(string(a.Device), string(b.Device)) })
	return out, nil
}

func (m *meeting) Dial(ctx context.Context, to round.DeviceID) (Channel, error) {
	c := m.newChannel(to, true)
	if _, err := rand.Read(c.run); err != nil {
		return nil, err
	}
	m.mu.Lock()
	if m.closed || len(m.channels) >= maxChannels {
		m.mu.Unlock()
		return nil, fmt.Errorf("%w: too many channels, or closed", ErrLost)
	}
	m.channels[c.key()] = c
	m.mu.Unlock()
	if err := m.send(note{Type: noteKnock, To: to, Run: c.run}); err != nil {
		c.forget()
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	ctx, cancel := context.WithTimeout(ctx, knockLimit)
	defer cancel()
	select {
	case <-c.answered:
		return c, nil
	case <-m.raw.Lost():
	case <-ctx.Done():
	}
	c.forget()
	return nil, fmt.Errorf("%w: %s at the broker", ErrNoWindow, to)
}

func (m *meeting) Accept(ctx context.Context) (Channel, error) {
	select {
	case c := <-m.knocks:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-m.raw.Lost():
		return nil, fmt.Errorf("%w: the session at the broker", ErrLost)
	}
}

// arrived looks at whatever comes under the meeting's topics. What is not good is nothing: it may be anybody's.
func (m *meeting) arrived(topic string, payload []byte) {
	n, from, ok := readNote(m.room, payload)
	if !ok || topic != m.root+clientPrefix+string(from) || from == m.self.ID() || n.To != "" && n.To != m.self.ID() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	switch n.Type {
	case noteLook:
		if now := time.Now(); m.open != nil && now.Sub(m.said) >= openInterval {
			m.said = now
			m.later(note{Type: noteOpen, To: from, Run: n.Run, RoomID: m.open.RoomID, RoomName: m.open.RoomName})
		}
	case noteOpen:
		_, known := m.openings[from]
		if string(n.Run) == string(m.look) && (known || len(m.openings) < maxOpenings) {
			if n.RoomID == noRoom {
				n.RoomID = ""
			}
			m.openings[from] = Opening{Device: from, RoomID: n.RoomID, RoomName: n.RoomName}
		}
	case noteKnock:
		m.knock(from, n)
	default:
		if c := m.channels[runKey{from, string(n.Run)}]; c != nil {
			c.arrived(n)
		}
	}
}

// knock makes a channel for a joiner, if a window is open and there is room for one.
func (m *meeting) knock(from round.DeviceID, n *note) {
	if m.open == nil || len(m.channels) >= maxChannels || len(m.knocks) >= maxKnocks || m.channels[runKey{from, string(n.Run)}] != nil {
		return
	}
	c := m.newChannel(from, false)
	c.run, c.peerKey = n.Run, n.Key
	if _, err := rand.Read(c.answer); err != nil {
		return
	}
	m.channels[c.key()] = c
	m.later(note{Type: noteAnswer, To: from, Run: c.run, Answer: c.answer})
	m.knocks <- c // there is room: only this goroutine sends
}
