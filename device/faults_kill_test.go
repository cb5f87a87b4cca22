package device

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"

	"conch/coordinator/turn"
	"conch/device/config"
)

// The server is a process of its own, as shipped, and dies of kill -9: in the middle of an answer, and with nobody talking.
// It is started again on the same port, and the device finds it by itself.
func TestServerKilledWithNine(t *testing.T) {
	t.Parallel()
	s := &mortal{t: t, binary: shipped(t), address: "127.0.0.1:0"}
	t.Cleanup(s.kill)
	url := s.start()
	b := newBox(t, boxOptions{address: url, config: func(c *config.Config) { c.Turn.Reconnect = 3 * time.Second }})
	const short = "what is one plus one"
	b.answered(b.ask(short))

	b.failed(b.nextTurn(func() {
		b.question("tell me a story")
		b.until("speaking", b.Speaking)
		s.kill()
	}), turn.Failed, turn.WordsLostMidway)
	b.failed(b.ask(short), turn.Expired, turn.WordsNotRunning)

	s.start()
	b.answered(b.ask(short)) // which need not wait for the next attempt of a back-off that has grown

	// Nobody talks when it dies, and it is back while the next question waits: nobody notices.
	s.kill()
	b.until("offline", func() bool { return !b.coordinator.Online() })
	b.answered(b.nextTurn(func() {
		b.question(short)
		s.start()
	}))
}

// mortal is `conch rehearse --serve` in a process of its own.
type mortal struct {
	t       *testing.T
	binary  string
	address string // of the first start, so that the next one has the same
	cmd     *exec.Cmd
}

// start returns the address to dial when the server says that it listens there.
func (m *mortal) start() (url string) {
	m.t.Helper()
	m.cmd = exec.Command(m.binary, "rehearse", "--serve", m.address)
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	for word := range strings.FieldsSeq(line) {
		if strings.HasPrefix(word, "ws://") {
			m.address = strings.TrimSuffix(strings.TrimPrefix(word, "ws://"), "/v1/realtime")
			return word
		}
	}
	m.t.Fatalf("the server said %q, %v; want its address", line, err)
	return ""
}

// kill is kill -9 of that process alone.
func (m *mortal) kill() {
	if m.cmd != nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait() // it was killed: that is what it says
		m.cmd = nil
	}
}
