package device

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/device/control"
)

// The power is cut, on either side, in the moment in which a piece of pairing is on its way: at each TLS record between the two,
// one after the other. Started again, each is in the room or out of it; the two agree; and who is out comes in by pairing again.
//
//	hall ── cutter, which counts records ── kitchen
func TestPowerCutAtEachRecordOfPairing(t *testing.T) {
	takesItsTime(t)
	h := newPairHouse(t)
	kitchen, hall := h.box("kitchen", "Ada", 11), h.box("hall", "Cleo", 13)
	for _, b := range h.boxes {
		b.set["room.discovery"] = "off"
	}
	c := h.cutter("10.98.0.11:7483")

	records := h.cutTrial(c, kitchen, hall, 0, nil)
	if records < 10 || records > 40 {
		t.Fatalf("a pairing has %d records: the cutter does not see it as it is", records)
	}
	in, tried := map[string]int{}, 0
	for k := 1; k <= records; k++ {
		for i, victim := range []*pairBox{hall, kitchen} {
			if k < records-handed && (k+i)%2 == 0 {
				continue // who is cut off in the handshake has done nothing yet: one side at each record is enough
			}
			tried++
			h.cutTrial(c, kitchen, hall, k, victim)
			how := "out"
			if hall.wasIn {
				how = "in"
			}
			in[how]++
			h.tell("power cut in the %s at record %d of %d: the hall came back %s", victim.name, k, records, how)
		}
	}
	h.tell("%d power cuts: %v", tried, in)
	if in["in"] == 0 || in["out"] == 0 {
		t.Errorf("all of one kind (%v): the cuts came too early or too late", in)
	}
}

// handed is how many records, at least, pairing itself has: seven frames and a goodbye of each side.
const handed = 9

// cutTrial pairs two devices that have never met, cuts the power of the victim at record k, and sees what has become of them. It
// returns how many records there were.
func (h *pairHouse) cutTrial(c *cutter, kitchen, hall *pairBox, k int, victim *pairBox) int {
	h.t.Helper()
	for _, b := range h.boxes {
		b.kill()
		if err := os.RemoveAll(b.dir); err != nil {
			h.t.Fatal(err)
		}
		if err := b.launch(); err != nil {
			h.t.Fatal(err)
		}
	}
	kitchen.ready()
	hall.ready()
	var open control.PairOpened
	kitchen.must("POST", "/room/pair", struct{}{}, &open)
	c.arm(k, victim)
	joined := make(chan error, 1)
	go func() { // awaited below: a device that is killed answers no more
		joined <- hall.do("POST", "/room/join", control.JoinRequest{Code: open.Code, Host: c.address}, nil)
	}()
	if victim == nil {
		if err := <-joined; err != nil {
			h.t.Fatalf("without a power cut: %v", err)
		}
		h.together(2, 40*time.Second)
		return c.count()
	}
	select {
	case <-c.cut:
	case <-time.After(40 * time.Second):
		h.t.Fatalf("record %d never came", k)
	}
	heard := <-joined // may be anything: what counts is on disk
	hall.wasIn = hall.onDisk()
	if !kitchen.onDisk() && hall.wasIn {
		h.t.Errorf("record %d, %s cut: the hall is in a room that the kitchen knows nothing of (%v)", k, victim.name, heard)
	}
	if err := victim.launch(); err != nil {
		h.t.Fatal(err)
	}
	victim.ready()
	victim.whole()
	if !hall.wasIn { // the window may be open still, or the kitchen be about to begin anew
		hall.until("a second try", 60*time.Second, func() bool {
			return kitchen.do("POST", "/room/pair", struct{}{}, &open) == nil &&
				hall.do("POST", "/room/join", control.JoinRequest{Code: open.Code, Host: "10.98.0.11:7483"}, nil) == nil
		})
	}
	h.together(2, 60*time.Second)
	for _, b := range h.boxes {
		b.until("both, and neither expected", 20*time.Second, func() bool {
			p := b.room().Paired
			return p != nil && len(p.Members) == 2 && !p.Members[0].Pending && !p.Members[1].Pending
		})
	}
	for _, b := range h.boxes {
		b.whole()
	}
	return c.count()
}

// whole says that what is on disk is a room or none, and that the device has nothing to complain about.
func (b *pairBox) whole() {
	b.h.t.Helper()
	b.until("whole room on disk, or none", 10*time.Second, func() bool { // it may be writing right now
		files, _ := os.ReadDir(filepath.Join(b.dir, "room"))
		names := ""
		for _, f := range files {
			names += f.Name() + " "
		}
		return (b.onDisk() || names == "") && !strings.Contains(names, ".new")
	})
	var s control.Status
	b.until("its status", 30*time.Second, func() bool { return b.do("GET", "/status", nil, &s) == nil }) // it may be about to begin anew
	for _, c := range s.Conditions {
		if c.Code == "room.damaged" || c.Code == "room.identity" {
			b.h.t.Errorf("%s: %s: %s", b.name, c.Code, c.Text)
		}
	}
}

// cutter is a way to an address that counts TLS records, both directions together, and cuts somebody's power at one of them.
type cutter struct {
	h       *pairHouse
	address string
	target  string

	mu     sync.Mutex
	at     int // 0: never
	n      int // records of the first connection since it was armed
	first  net.Conn
	victim *pairBox
	cut    chan struct{}
}

// cutter listens on the bridge until the test ends.
func (h *pairHouse) cutter(target string) *cutter {
	h.t.Helper()
	c := &cutter{h: h, target: target}
	var l net.Listener
	if err := h.within("m", func() (err error) { l, err = net.Listen("tcp", "10.98.0.1:0"); return err }); err != nil {
		h.t.Fatal(err)
	}
	c.address = l.Addr().String()
	var links sync.WaitGroup
	links.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			links.Go(func() { c.link(near) })
		}
	})
	h.t.Cleanup(func() {
		for _, b := range h.boxes {
			b.kill() // their connections end with them
		}
		_ = l.Close()
		links.Wait()
	})
	return c
}

func (c *cutter) arm(at int, victim *pairBox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.n, c.first, c.victim, c.cut = at, 0, nil, victim, make(chan struct{})
}

func (c *cutter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// link carries one connection.
func (c *cutter) link(near net.Conn) {
	defer near.Close()
	far, err := c.h.dial("m", c.target)
	if err != nil {
		return
	}
	defer far.Close()
	c.mu.Lock()
	if c.first == nil {
		c.first = near
	}
	mine := c.first == near
	c.mu.Unlock()
	back := make(chan struct{})
	go func() { // awaited below
		defer close(back)
		c.carry(near, far, mine)
		_ = near.Close()
	}()
	c.carry(far, near, mine)
	_ = far.Close()
	<-back
}

// carry copies one direction, record by record (RFC 8446, 5.1: a type, a version, a length).
func (c *cutter) carry(to, from net.Conn, counted bool) {
	for {
		record := make([]byte, 5, 5+1<<14+256)
		if _, err := io.ReadFull(from, record); err != nil {
			return
		}
		record = record[:5+binary.BigEndian.Uint16(record[3:])]
		if _, err := io.ReadFull(from, record[5:]); err != nil {
			return
		}
		if counted && c.strikes() {
			return
		}
		if _, err := to.Write(record); err != nil {
			return
		}
	}
}

// strikes counts a record, and cuts the power if it is the one.
func (c *cutter) strikes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.at == 0 || c.n != c.at {
		return c.at != 0 && c.n > c.at // nothing comes from a device that is off
	}
	c.victim.kill()
	close(c.cut)
	return true
}
