package mqtttest

import (
	"io"
	"net"
	"testing"
	"time"
)

// The last words of a device that closes at once arrive, though the broker is still talking to it.
func TestLastWordsArrive(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p, err := NewProxy(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.Delay(20*time.Millisecond, 0)

	device, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	broker, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	stop, talked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(talked)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				_, _ = broker.Write([]byte("and another thing. "))
			}
		}
	}()
	if _, err := io.ReadFull(device, make([]byte, 100)); err != nil { // it talks
		t.Fatal(err)
	}
	if _, err := device.Write([]byte("goodbye")); err != nil {
		t.Fatal(err)
	}
	if err := device.Close(); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(broker) // what ends it is no matter
	close(stop)
	<-talked
	_ = broker.Close()
	if string(got) != "goodbye" {
		t.Errorf("the broker has heard %q of the last words", got)
	}
}
