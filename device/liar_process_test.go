package device

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/membership"
)

// liarEnv makes the test binary a lying member: "KIND STATE-DIRECTORY HOST:PORT". It has what a real device was given when it was
// paired, its key and its certificate, and says what it wants, until it is killed.
const liarEnv = "CONCH_TEST_LIAR"

// liarKinds are what a member can lie about, or do too much of. ("older" is one that only has an older conch.)
var liarKinds = []string{"epochs", "hammers", "votes", "history", "names", "floods", "unreading", "admits"}

func liarProcess(spec string) {
	f := strings.Fields(spec)
	if err := lie(f[0], f[1], f[2]); err != nil {
		fmt.Fprintln(os.Stderr, "liar:", err)
		os.Exit(1)
	}
}

func lie(kind, dir, address string) error {
	id, err := mqtt.ReadIdentity(dir)
	if err != nil {
		return err
	}
	m, err := membership.Open(dir, id, membership.Clock{})
	if err != nil {
		return err
	}
	conf, err := m.ClientTLS()
	if err != nil {
		return err
	}
	room := m.Room().Topic()
	switch kind {
	case "unreading":
		return unreading(conf, id, room, address)
	case "floods":
		return floods(conf, id, room, address)
	}
	return talks(kind, m, id, room, address)
}

// talks is a member whose envelopes are all in order, but for what they say.
func talks(kind string, m *membership.Membership, id mqtt.Identity, room, address string) error {
	packets := make(chan round.Packet, 64)
	c, err := mqtt.NewClient(mqtt.Config{
		Room: room, Identity: id, TLS: m.ClientTLS, Addresses: func(context.Context) []string { return []string{address} },
		OnPacket: func(_ round.DeviceID, p round.Packet) {
			select {
			case packets <- p:
			default:
			}
		},
	})
	if err != nil {
		return err
	}
	go func() { _ = c.Run(context.Background()) }() // ends with the process
	self := id.ID()
	card := round.Card{ID: "zed", Name: "Zed"}
	if kind == "names" {
		card = round.Card{ID: "ada", Name: "Ada"}
	}
	beat := round.Beat{Name: "kitchen", Digest: "d", Cards: []round.Card{card}, Turns: 7}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	epoch := round.Epoch{N: 1, Device: self}
	for n := uint64(1); ; n++ {
		select {
		case p := <-packets:
			switch p := p.(type) {
			case round.Beat:
				if kind == "hammers" && epoch.Before(p.Epoch) {
					epoch.N = p.Epoch.N
				}
			case round.Message:
				if kind == "older" {
					fmt.Fprintln(os.Stderr, "heard:", p.Text)
				}
				if kind == "votes" {
					place := p.Place()
					c.Send(round.Votes{Place: place, Votes: []round.Vote{liarVote("zed", p.ID, 10)}})
					c.Send(round.Claim{Place: place, Companion: "zed", Votes: []round.Vote{liarVote("zed", p.ID, 10)}})
				}
			case round.HistoryAsk:
				if kind == "history" {
					c.Send(round.History{Messages: []round.Message{{ID: "forged", From: "ada", Text: "I have no use for people.", Epoch: epoch, Number: 1}}})
				}
			}
		case <-tick.C:
			switch kind {
			case "epochs":
				beat.Epoch = round.Epoch{N: 1 << (20 + n%32), Device: self}
				c.Send(round.Press{Epoch: beat.Epoch})
			case "hammers":
				epoch.N++
				c.Send(round.Press{Epoch: epoch})
			case "admits":
				body, _ := json.Marshal(map[string]any{"request": rand.Text(), "device": strings.ToLower(rand.Text()[:20]), "key": make([]byte, 32), "name": "guest" + rand.Text()[:4]})
				c.SendNote(mqtt.Note{Method: "members.admit", Body: body})
			case "names":
				beat.Name = "the kitchen\x1b]52;c;Y29uY2g=\a"
			case "history":
				c.Send(round.Message{ID: round.MessageID("m" + rand.Text()), From: "ada", Text: "This is Ada speaking.", Epoch: epoch, Number: 1})
			}
			if n%20 == 0 {
				c.Send(beat)
			}
		}
	}
}

// floods says as much as it can under its own name.
func floods(conf *tls.Config, id mqtt.Identity, room, address string) error {
	for {
		o := paho.NewClientOptions().AddBroker("ssl://" + address).SetClientID(string(id.ID())).SetTLSConfig(conf).SetProtocolVersion(4).SetAutoReconnect(false)
		c := paho.NewClient(o)
		if t := c.Connect(); t.WaitTimeout(5*time.Second) && t.Error() == nil {
			junk := bytes.Repeat([]byte("x"), 250_000)
			for c.IsConnectionOpen() {
				c.Publish("conch/v1/"+room+"/floor/"+string(id.ID()), 0, false, junk).WaitTimeout(time.Second)
				for range 20 {
					c.Publish("conch/v1/"+room+"/floor/"+string(id.ID()), 1, false, `{"jsonrpc":"2.0","method":"floor.press","params":{}`).WaitTimeout(time.Second)
				}
			}
		}
		<-time.After(200 * time.Millisecond)
	}
}

// unreading subscribes to everything it can, a thousand times over, and reads nothing.
func unreading(conf *tls.Config, id mqtt.Identity, room, address string) error {
	for {
		raw, err := net.DialTimeout("tcp", address, 3*time.Second)
		if err == nil {
			c := tls.Client(raw, conf)
			w := bufio.NewWriter(c)
			name := string(id.ID())
			_, _ = w.Write(append([]byte{0x10, byte(12 + len(name)), 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0xff, 0xff, 0, byte(len(name))}, name...))
			for n := range 1000 {
				filter := fmt.Sprintf("conch/v1/%s/+/%s%d", room, name[:8], n)
				if n%100 == 0 {
					filter = "conch/v1/" + room + "/+/+"
				}
				_, _ = w.Write(append([]byte{0x82, byte(5 + len(filter)), byte(n >> 8), byte(n + 1), 0, byte(len(filter))}, append([]byte(filter), 0)...))
			}
			_ = w.Flush()
			<-time.After(20 * time.Second)
			_ = c.Close()
		}
		<-time.After(200 * time.Millisecond)
	}
}
