// Command hand is a person in front of the guest: it presses the button, talks into the microphone, looks at the light and
// hears the loudspeaker, in the order of a script on standard input, and prints what it saw, one JSON object a line.
//
// It runs inside the guest, because from outside every act takes as long as the agent does. Times are milliseconds since it
// started, of the guest's monotonic clock.
//
//	press | release         the button
//	pin N                   the button is at another pin
//	say FILE.wav            into the microphone; the script goes on
//	said                    wait until that has been said
//	ask TEXT                a typed question; the script goes on
//	run COMMAND             in a terminal of 80 columns
//	type TEXT               into it, and Enter
//	see TEXT 20s            until it shows that, after what was seen before
//	finish 20s              until the command has ended, with status 0; what it had shown is in /run/terminal.txt
//	wait 500ms
//	until WHAT 20s          WHAT is sound, quiet, light or dark; after that long it fails
//	keep FILE.wav           what the loudspeaker has played since the last keep, at most two minutes of it
//	silence N SEED          N presses while it speaks, at times that SEED decides: from the press to the last sample
//	calibrate N             the same with a player that is killed: the error of the measurement
//
// `hand get PATH` prints what conch's control socket says to a GET; `hand serve DIR HOST:PORT` serves a directory by HTTP. `hand door
// HOST:PORT` is the other half of the guest's network, on the machine around it: it joins standard input and output with a
// connection to there.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "door" {
		os.Exit(connect(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "get" {
		os.Exit(get(os.Args[2]))
	}
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		fmt.Fprintln(os.Stderr, "hand:", http.ListenAndServe(os.Args[3], http.FileServer(http.Dir(os.Args[2]))))
		os.Exit(1)
	}
	p := person{start: time.Now(), out: json.NewEncoder(os.Stdout)}
	flag.StringVar(&p.button, "button", "/run/pins/17/pull", "file that pulls the button's pin")
	flag.StringVar(&p.light, "light", "/run/pins/25/value", "file that says the light's level; empty: there is none")
	flag.StringVar(&p.card, "card", "plughw:Speaker,1,0", "the other end of conch's card")
	flag.StringVar(&p.socket, "socket", controlSocket, "conch's control socket")
	flag.Parse()
	if err := p.play(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "hand:", err)
		os.Exit(1)
	}
}

const controlSocket = "/run/conch/control.sock"

// get prints the body of an answer.
func get(path string) int {
	resp, err := client(controlSocket).Get("http://conch" + path)
	if err == nil {
		_, err = io.Copy(os.Stdout, resp.Body)
		_ = resp.Body.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hand:", err)
		return 1
	}
	return 0
}

// connect joins standard input and output with a connection, until either ends.
func connect(address string) int {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return 1
	}
	ended := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(conn, os.Stdin); ended <- struct{}{} }()
	go func() { _, _ = io.Copy(os.Stdout, conn); ended <- struct{}{} }()
	<-ended
	return 0
}

// play carries a script out, line by line.
func (p *person) play(script io.Reader) error {
	if err := p.begin(); err != nil {
		return err
	}
	defer p.end()
	lines := bufio.NewScanner(script)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		do, known := map[string]func(string) error{
			"press": p.press, "release": p.release, "pin": p.moves, "say": p.say, "said": p.said, "ask": p.ask,
			"run": p.run, "type": p.types, "see": p.see, "finish": p.finish,
			"wait": p.wait, "until": p.until, "keep": p.keep, "silence": p.silence, "calibrate": p.calibrate,
		}[verb]
		if !known {
			return fmt.Errorf("%s: no such verb", line)
		}
		if err := do(rest); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return lines.Err()
}
