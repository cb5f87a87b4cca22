package homeassistant

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// packet is a message as a broker sends it.
func packet(t testing.TB, topic string, payload []byte) []byte {
	t.Helper()
	p := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
	p.TopicName, p.Payload = topic, payload
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read gives everything that comes through.
func read(t testing.TB, from []byte) ([]byte, error) {
	t.Helper()
	a, b := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = b.Write(from)
		_ = b.Close()
	}()
	p := newPatient(a)
	got, err := io.ReadAll(p)
	_ = p.Close()
	<-done
	return got, err
}

// A message that is too large is never in memory, and those around it come through.
func TestTooLargeMessagesAreSkipped(t *testing.T) {
	small, edge := packet(t, "a/set", []byte("PRESS")), packet(t, "b/set", make([]byte, maxPacket-7))
	huge := packet(t, "c/set", make([]byte, 8<<20))
	got, err := read(t, bytes.Join([][]byte{small, huge, edge, huge, small}, nil))
	if want := bytes.Join([][]byte{small, edge, small}, nil); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes come through, %v; want %d", len(got), err, len(want))
	}
}

// What is no packet ends the connection.
func TestFraming(t *testing.T) {
	for name, b := range map[string][]byte{
		"a length without an end":    {packets.Publish << 4, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"an acknowledgement of 1 MB": {packets.Puback << 4, 0x80, 0x80, 0x40},
	} {
		if got, err := read(t, b); err != errFraming || len(got) > 0 { //nolint:errorlint // it is ours, and bare
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func FuzzPackets(f *testing.F) {
	f.Add(packet(f, "a/set", []byte("PRESS")))
	f.Add(append(packet(f, "c/set", make([]byte, maxPacket)), 0x40, 2, 0, 1))
	f.Add([]byte{0x30, 0xff, 0xff, 0xff, 0x7f, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _ := read(t, b)
		if len(got) > len(b) || !subsequence(got, b) {
			t.Fatalf("%d bytes in, %d out", len(b), len(got))
		}
	})
}

// subsequence says whether all of a is in b, in order.
func subsequence(a, b []byte) bool {
	for _, c := range a {
		i := bytes.IndexByte(b, c)
		if i < 0 {
			return false
		}
		b = b[i+1:]
	}
	return true
}
