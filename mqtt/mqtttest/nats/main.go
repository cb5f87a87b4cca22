// Command nats is one node of a NATS cluster that speaks MQTT, for tests of a room at more brokers than one: a program of its own, in
// a module of its own, so that conch depends on nothing of it.
//
//	nats NAME DIRECTORY MQTT-PORT OWN-PORT PORT,PORT,PORT
//
// DIRECTORY is where it keeps what it stores, the last argument the ports of all nodes, this one's among them; all on 127.0.0.1.
// It says "ready" on standard output when MQTT can be spoken, and ends with its standard input.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	host    = "127.0.0.1"
	ready   = time.Minute
	storage = 256 << 20
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nats:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 5 {
		return errors.New("want NAME DIRECTORY MQTT-PORT OWN-PORT PORT,PORT,PORT")
	}
	mqtt, err := strconv.Atoi(args[2])
	if err != nil {
		return fmt.Errorf("MQTT-PORT: %w", err)
	}
	own, err := strconv.Atoi(args[3])
	if err != nil {
		return fmt.Errorf("OWN-PORT: %w", err)
	}
	o := &server.Options{
		ServerName: args[0], Host: host, Port: server.RANDOM_PORT, NoSigs: true,
		JetStream: true, StoreDir: args[1], JetStreamMaxMemory: storage, JetStreamMaxStore: storage,
		MQTT:    server.MQTTOpts{Host: host, Port: mqtt},
		Cluster: server.ClusterOpts{Name: "cluster", Host: host, Port: own},
	}
	for port := range strings.SplitSeq(args[4], ",") {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort(host, port)})
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	go s.Start()
	if !s.ReadyForConnections(ready) {
		return errors.New("it does not come up")
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}
