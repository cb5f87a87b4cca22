package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"conch/device/control"
	"conch/device/printable"
)

// roomJoinCmd lets this device into a room whose window is open, as holding the button for 5 s does.
type roomJoinCmd struct {
	Code []string `arg:"" optional:"" name:"code" help:"Six digits, which the device with the open window shows and says; or what its picture says. Without it this device listens for the code."`
	Host string   `help:"Where the device with the open window is, if it is not found by itself." placeholder:"NAME[:PORT]"`
	JSON bool     `help:"Print one JSON object a line, for each change." name:"json"`
}

// Help is what conch room join --help says on top.
func (roomJoinCmd) Help() string {
	return "The exit status is 0 only when this device is in the room. Ctrl-C ends the try; nothing has changed then."
}

func (c roomJoinCmd) Run(e *env) error {
	req, err := joinRequest(strings.Join(c.Code, " "), c.Host)
	if err != nil {
		return fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	r, err := e.dial()
	if err != nil {
		return err
	}
	v := &pairingView{out: e.out, json: c.JSON, terminal: e.terminal()}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	done := make(chan struct{})
	var last control.PairingLine
	go func() { // ended by done, and awaited through watched
		defer close(done)
		err = r.Do(ctx, "POST", "/room/join", req, &last)
	}()
	_, _ = v.follow(ctx, r, done) // what became of it is the answer's to say
	if e.ctx.Err() != nil {
		cancelled := cancelPairing(r)
		cancel()
		<-done
		return cancelled
	}
	<-done
	if err != nil {
		return fmt.Errorf("room join: %w", err)
	}
	v.line(last)
	if last.State != control.PairingPaired {
		return fmt.Errorf("room join: %s", printable.Text(last.Text))
	}
	return nil
}

// joinRequest is what the person means, refused here where it cannot be: nothing has been sent then.
func joinRequest(code, host string) (control.JoinRequest, error) {
	req := control.JoinRequest{Host: host}
	if strings.HasPrefix(code, joinScheme) {
		link, err := url.Parse(code)
		if err != nil || link.Query().Get("code") == "" {
			return req, fmt.Errorf("%q is not what a code's picture says: that is like %s?code=482915&host=192.0.2.7:7483", code, joinScheme)
		}
		code = link.Query().Get("code")
		if req.Host == "" {
			req.Host = link.Query().Get("host")
		}
	}
	req.Code = strings.NewReplacer(" ", "", "-", "").Replace(code)
	switch n := len(req.Code); {
	case n == 0:
		req.Listen = true
	case strings.Trim(req.Code, "0123456789") != "":
		return req, fmt.Errorf("%q is no code: a code has digits only, six of them, such as 482915; the other device shows and says it (conch room pair)", code)
	case n != 6:
		return req, fmt.Errorf("%q is no code: it has %d digits instead of six; the other device shows and says the code (conch room pair)", code, n)
	}
	return req, checkHost("--host", req.Host)
}

// checkHost refuses what cannot be the place of another device; empty: it is looked for.
func checkHost(flag, host string) error {
	if host == "" {
		return nil
	}
	if name, port, err := net.SplitHostPort(host); err == nil {
		if n, err := strconv.Atoi(port); name == "" || err != nil || n < 1 || n > 65535 || strings.Contains(port, "/") {
			return fmt.Errorf("%s %s: must be NAME or NAME:PORT with a port from 1 to 65535", flag, host)
		}
	} else if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil && strings.ContainsAny(host, ":/@ ") {
		return fmt.Errorf("%s %s: must be the name or address of the other device, with :PORT behind it or without", flag, host)
	}
	return nil
}
