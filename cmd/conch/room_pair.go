package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mdp/qrterminal/v3"
	"golang.org/x/term"

	"conch/device/control"
	"conch/device/printable"
)

// roomPairCmd opens a window, as holding the button for 5 s does (PAIRING.md, "What a person does").
//
//	POST /room/pair ─> code, large, and as a picture ─> GET /room/pairing, a line a change ─> paired, or how it ended
//	                                                      └── Ctrl-C ─> POST /room/cancel
type roomPairCmd struct {
	NoQR bool `help:"Print no picture of the code for a phone's camera." name:"no-qr"`
	JSON bool `help:"Print one JSON object a line: the window, then each change." name:"json"`
}

// Help is what conch room pair --help says on top.
func (roomPairCmd) Help() string {
	return "The same as holding this device's button for five seconds without a word. At the other device hold the button for five seconds, " +
		"and it hears the code, or type it: conch room join CODE. Ctrl-C closes the window. The exit status is 0 only when another device has been paired."
}

func (c roomPairCmd) Run(e *env) error {
	r, err := e.dial()
	if err != nil {
		return err
	}
	var open control.PairOpened
	if err := r.Do(e.ctx, "POST", "/room/pair", struct{}{}, &open); err != nil {
		return err
	}
	v := &pairingView{out: e.out, json: c.JSON, terminal: e.terminal()}
	if c.JSON {
		v.object(open)
	} else {
		width, height := v.size()
		e.out.Steer(windowText(open, width, height, v.terminal && !c.NoQR)) // the picture has colours
	}
	last, err := v.follow(e.ctx, r, nil)
	switch {
	case e.ctx.Err() != nil:
		return cancelPairing(r)
	case err != nil:
		return fmt.Errorf("room pair: %w", err)
	case last.State != control.PairingPaired:
		return fmt.Errorf("room pair: %s", printable.Text(last.Text))
	}
	return nil
}

// terminal says that standard output is one.
func (e *env) terminal() bool {
	f, ok := printable.Behind(e.out).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// cancelLimit is for an appliance on the same machine.
const cancelLimit = 3 * time.Second

// cancelPairing ends what this command began; the context of the command has ended already.
func cancelPairing(r *control.Remote) error {
	ctx, cancel := context.WithTimeout(context.Background(), cancelLimit)
	defer cancel()
	var line control.PairingLine
	if err := r.Do(ctx, "POST", "/room/cancel", struct{}{}, &line); err != nil {
		return fmt.Errorf("interrupted, and it could not be cancelled: %w (a short press on the button does it)", err)
	}
	if line.State == control.PairingPaired { // it came to its end in the same moment
		return fmt.Errorf("interrupted, too late: %s", line.Text)
	}
	return errors.New("cancelled")
}

// pairingView shows a person how pairing goes on.
type pairingView struct {
	out      *printable.Writer
	json     bool
	terminal bool
	shown    string // the last sentence
	ticking  bool   // a line of seconds is on the screen
}

// follow shows each change until nothing is under way any more, or, where there is a done, until that is closed, or ctx ends. A window's seconds run on a
// terminal. An appliance that begins anew after pairing ends the stream: what it said last counts.
func (v *pairingView) follow(ctx context.Context, r *control.Remote, done <-chan struct{}) (last control.PairingLine, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, ended := make(chan control.PairingLine, 16), make(chan struct{})
	var broken error // read once ended is closed
	go func() {      // ends with the stream or ctx; awaited below
		defer close(ended)
		broken = r.Lines(ctx, "/room/pairing", func(data []byte) {
			var l control.PairingLine
			if json.Unmarshal(data, &l) != nil {
				return // a newer appliance's
			}
			select {
			case lines <- l:
			case <-ctx.Done():
			}
		})
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	until := time.Time{}
	for {
		select {
		case l := <-lines:
			if l.Over() && done != nil {
				continue // of what was before, or the end, which the answer tells
			}
			last = l
			if v.line(l); l.Over() {
				cancel()
				<-ended
				return last, nil
			}
			until = time.Time{}
			if l.State == control.PairingOpen {
				until = time.Now().Add(time.Duration(l.Seconds * float64(time.Second)))
			}
		case <-tick.C:
			if left := time.Until(until); left > 0 {
				v.seconds(left)
			}
		case <-done:
			cancel()
			<-ended
			v.untick()
			return last, nil
		case <-ended:
			v.untick()
			for len(lines) > 0 {
				last = <-lines
				v.line(last)
			}
			if last.Over() && last.State != "" {
				return last, nil
			}
			return last, broken
		}
	}
}

// line shows one change. The same sentence is not said twice in a row: a wrong code and a new second are changes as well.
func (v *pairingView) line(l control.PairingLine) {
	if v.json {
		v.object(l)
		return
	}
	text := l.Text
	if l.State == control.PairingOpen {
		text = "" // the window stands there already
		if l.Tries > 0 {
			text = fmt.Sprintf("wrong code (%d of 3)", l.Tries)
		}
	}
	if text == "" || text == v.shown {
		return
	}
	v.untick()
	v.shown = text
	fmt.Fprintln(v.out, printable.Text(text))
}

func (v *pairingView) object(x any) {
	if data, err := asJSON(x); err == nil {
		fmt.Fprintf(v.out, "%s\n", data)
	}
}

// seconds shows how much is left of a window.
func (v *pairingView) seconds(left time.Duration) {
	if v.terminal && !v.json {
		v.ticking = true
		v.out.Steer(fmt.Sprintf("\r\x1b[K%.0f s left (Ctrl-C closes it)", math.Ceil(left.Seconds())))
	}
}

// untick takes the line of seconds away.
func (v *pairingView) untick() {
	if v.ticking {
		v.ticking = false
		v.out.Steer("\r\x1b[K")
	}
}

// size is the terminal's, or that of the smallest one that is usual.
func (v *pairingView) size() (width, height int) {
	if f, ok := printable.Behind(v.out).(*os.File); ok && v.terminal {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}

// windowText is the open window for people: the code, large, and for a camera where both are on the screen at once; how to join.
func windowText(o control.PairOpened, width, height int, picture bool) string {
	const below = 4 // lines, with that of the seconds: a code that has scrolled away is none
	code := large(o.Code)
	var qr []string
	if picture {
		qr = qrLines(joinLink(o))
	}
	var b strings.Builder
	switch {
	case len(qr) > 0 && qrWidth(qr[0])+2+largeWidth <= width && len(qr)+below <= height:
		for i, line := range qr {
			if row := i - (len(qr)-len(code))/2; row >= 0 && row < len(code) {
				line += "  " + code[row]
			}
			b.WriteString(line + "\n")
		}
	case len(qr) > 0 && qrWidth(qr[0]) <= width && len(qr)+len(code)+below <= height:
		b.WriteString(strings.Join(slices.Concat(qr, code), "\n") + "\n")
	case largeWidth <= width:
		b.WriteString(strings.Join(code, "\n") + "\n")
	}
	fmt.Fprintf(&b, "code %s for room %s, %.0f s\n", o.Code, printable.Name(o.Room), o.Seconds)
	b.WriteString("at the other device: hold the button for 5 s, and it hears the code; or conch room join " + o.Code)
	if len(o.Addresses) > 0 {
		fmt.Fprintf(&b, "\nwhere it finds nobody: conch room join %s --host %s", o.Code, printable.Text(o.Addresses[0]))
	}
	return b.String() + "\n"
}

// The scheme that a code's picture has: what conch room join takes as well.
const joinScheme = "conch:join"

// joinLink is what the picture says: the code, where the window is, and whose it is. Short, so that the picture is small: a colon
// may stand in a query as it is (RFC 3986, 3.4).
func joinLink(o control.PairOpened) string {
	link := joinScheme + "?code=" + o.Code
	if len(o.Addresses) > 0 {
		link += "&host=" + strings.ReplaceAll(url.QueryEscape(o.Addresses[0]), "%3A", ":")
	}
	return link + "&room=" + url.QueryEscape(o.Room)
}

// White on black whatever the terminal's own colours are (ECMA-48, SGR): most readers do not take an inverted picture.
const (
	qrBegin = "\x1b[97;40m"
	qrEnd   = "\x1b[0m"
)

// qrLines are a QR code in half blocks.
func qrLines(text string) (lines []string) {
	var b strings.Builder
	qrterminal.GenerateWithConfig(text, qrterminal.Config{
		Level: qrterminal.L, Writer: &b, HalfBlocks: true, QuietZone: 2,
		BlackChar: qrterminal.BLACK_BLACK, WhiteBlackChar: qrterminal.WHITE_BLACK,
		WhiteChar: qrterminal.WHITE_WHITE, BlackWhiteChar: qrterminal.BLACK_WHITE,
	})
	for line := range strings.Lines(b.String()) {
		lines = append(lines, qrBegin+strings.TrimSuffix(line, "\n")+qrEnd)
	}
	return lines
}

// qrWidth is the width of a line of it, without the colours.
func qrWidth(line string) int {
	return len([]rune(strings.TrimSuffix(strings.TrimPrefix(line, qrBegin), qrEnd)))
}

// digits are five rows of five, # is ink.
var digits = [10][5]string{
	{" ### ", "#   #", "#   #", "#   #", " ### "},
	{"  #  ", " ##  ", "  #  ", "  #  ", " ### "},
	{"#### ", "    #", " ### ", "#    ", "#####"},
	{"#### ", "    #", " ### ", "    #", "#### "},
	{"#   #", "#   #", "#####", "    #", "    #"},
	{"#####", "#    ", "#### ", "    #", "#### "},
	{" ### ", "#    ", "#### ", "#   #", " ### "},
	{"#####", "    #", "   # ", "  #  ", "  #  "},
	{" ### ", "#   #", " ### ", "#   #", " ### "},
	{" ### ", "#   #", " ####", "    #", " ### "},
}

// largeWidth is how wide six of them are, with the gaps.
const largeWidth = 6*6 + 2

// large is a code that can be read from the other side of a room.
func large(code string) []string {
	lines := make([]string, len(digits[0]))
	for i, c := range code {
		if c < '0' || c > '9' {
			continue
		}
		for row := range lines {
			if i == 3 {
				lines[row] += "  "
			}
			lines[row] += strings.ReplaceAll(digits[c-'0'][row], "#", "█") + " "
		}
	}
	for row := range lines {
		lines[row] = strings.TrimRight(lines[row], " ")
	}
	return lines
}
