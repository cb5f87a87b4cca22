package mqtttest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// ClusterVar names the program of one node (mqtt/mqtttest/nats); make test-cluster builds it.
const ClusterVar = "CONCH_TEST_NATS"

// Node is one of a NATS cluster: a process of its own, with an MQTT listener on loopback. It ends with the test.
type Node struct {
	t    TB
	args []string
	addr string

	mu   sync.Mutex
	cmd  *exec.Cmd
	in   io.Closer
	done chan struct{}
	out  *tail
}

// StartCluster starts so many nodes, or skips the test where their program is not named.
func StartCluster(t TB, nodes int) []*Node {
	t.Helper()
	if os.Getenv(ClusterVar) == "" {
		t.Skipf("no cluster: make test-cluster builds a node of one (%s)", ClusterVar)
	}
	port := func() string {
		p, err := FreePort("127.0.0.1")
		if err != nil {
			t.Fatalf("mqtttest: %v", err)
		}
		return p
	}
	var own []string
	for range nodes {
		own = append(own, port())
	}
	dir := t.TempDir()
	var all []*Node
	for i := range nodes {
		mqtt, name := port(), "node-"+strconv.Itoa(i)
		n := &Node{t: t, addr: net.JoinHostPort("127.0.0.1", mqtt), args: []string{name, filepath.Join(dir, name), mqtt, own[i], strings.Join(own, ",")}}
		t.Cleanup(n.Kill)
		if err := n.Start(); err != nil {
			t.Fatalf("%v", err)
		}
		all = append(all, n)
	}
	return all
}

// URL is the address for a client.
func (n *Node) URL() string { return "mqtt://" + n.addr }

// Addr is host:port.
func (n *Node) Addr() string { return n.addr }

// Start starts a node that does not run, with what it has stored, and waits until it listens. It takes clients in when the cluster
// has a majority.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.out, n.cmd = &tail{}, exec.Command(os.Getenv(ClusterVar), n.args...)
	n.cmd.Stdout, n.cmd.Stderr = n.out, n.out
	in, err := n.cmd.StdinPipe()
	if err != nil {
		return err
	}
	n.in = in
	if n.done, err = begin(n.cmd); err != nil {
		return fmt.Errorf("mqtttest: start a node: %w", err)
	}
	return listens(n.addr, n.done, n.out)
}

// Kill ends the node at once and waits until it has ended.
func (n *Node) Kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil && n.cmd.Process != nil {
		_ = n.cmd.Process.Signal(syscall.SIGKILL)
		<-n.done
	}
}
