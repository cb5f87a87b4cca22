package terminal

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"conch/gpio"
)

// What a terminal sends, made into keys, and the space bar made into a talk key. All pure.

// key is one key as far as conch cares.
type key struct {
	code  keyCode
	char  rune // of keyChar
	state keyState
}

type keyCode uint8

const (
	keyChar   keyCode = iota + 1
	keyPasted         // a character that was not struck
	keyEnter
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyOlder // arrow up: the question before
	keyNewer // arrow down
	keyHome
	keyLast // End
	keyWordLeft
	keyWordRight
	keyWord   // Ctrl-W
	keyClear  // Ctrl-U, Escape
	keyRest   // Ctrl-K
	keyStop   // Ctrl-C
	keyEnd    // Ctrl-D
	keyPause  // Ctrl-Z
	keyRedraw // Ctrl-L
	keyReport // the terminal answers that it knows the kitty protocol
)

type keyState uint8

const (
	keyDown keyState = iota
	keyRepeat
	keyUp // only terminals with the kitty protocol tell
)

// The kitty keyboard protocol (sw.kovidgoyal.net/kitty/keyboard-protocol): ask whether it is there; then have all keys as
// escape codes (8), with the kind of event (2) and the text they make (16), unambiguous (1); and give it back at the end.
// What is pasted comes in brackets (xterm, DECSET 2004).
const (
	kittyAsk   = "\x1b[?u"
	kittyPush  = "\x1b[>27u"
	kittyPop   = "\x1b[<u"
	pasteAsk   = "\x1b[?2004h"
	pasteLeave = "\x1b[?2004l"
)

const maxSequence = 64 // bytes of one escape sequence; a longer one is noise

// keyDecoder turns bytes into keys. It keeps what is not complete, which is never more than maxSequence bytes.
type keyDecoder struct {
	held    []byte
	pasting bool
}

// feed takes bytes as they come; however they are cut, the keys are the same.
func (d *keyDecoder) feed(data []byte, on func(key)) {
	d.held = append(d.held, data...)
	rest := d.held
	for len(rest) > 0 {
		n := d.one(rest, on)
		if n == 0 {
			break
		}
		rest = rest[n:]
	}
	d.held = append(d.held[:0], rest...)
}

// pending says that an escape is held which may be the whole key.
func (d *keyDecoder) pending() bool { return len(d.held) > 0 }

// flush gives up on what is not complete: an escape alone is the key Escape, the rest is nothing.
func (d *keyDecoder) flush(on func(key)) {
	if len(d.held) == 1 && d.held[0] == 0x1b {
		on(key{code: keyClear})
	}
	d.held = d.held[:0]
}

// one takes a key off the front and says how many bytes it had; 0 is "not complete".
func (d *keyDecoder) one(b []byte, on func(key)) int {
	if b[0] == 0x1b {
		return escape(b, d.key(on))
	}
	if d.pasting && breaksLine(b[0]) {
		on(key{code: keyPasted, char: ' '})
		return 1
	}
	if b[0] < ' ' || b[0] == 0x7f {
		if k, ok := control(b[0]); ok && !d.pasting {
			on(k)
		}
		return 1
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	if (r != utf8.RuneError || n > 1) && unicode.IsPrint(r) {
		k := key{code: keyChar, char: r}
		if d.pasting {
			k.code = keyPasted
		}
		on(k)
	}
	return n
}

func breaksLine(b byte) bool { return b == '\r' || b == '\n' || b == '\t' }

// keyPasteBegins and keyPasteEnds never leave the decoder.
const (
	keyPasteBegins keyCode = 100 + iota
	keyPasteEnds
)

// key keeps to itself where a paste begins and ends. Within one, nothing is a key.
func (d *keyDecoder) key(on func(key)) func(key) {
	return func(k key) {
		switch {
		case k.code == keyPasteBegins:
			d.pasting = true
		case k.code == keyPasteEnds:
			d.pasting = false
		case !d.pasting:
			on(k)
		}
	}
}

var controls = map[byte]keyCode{'\r': keyEnter, '\n': keyEnter, 0x7f: keyBackspace, 0x08: keyBackspace,
	'A' - '@': keyHome, 'B' - '@': keyLeft, 'C' - '@': keyStop, 'D' - '@': keyEnd, 'E' - '@': keyLast, 'F' - '@': keyRight, 'K' - '@': keyRest,
	'L' - '@': keyRedraw, 'N' - '@': keyNewer, 'P' - '@': keyOlder, 'U' - '@': keyClear, 'W' - '@': keyWord, 'Z' - '@': keyPause}

func control(b byte) (key, bool) {
	code, ok := controls[b]
	return key{code: code}, ok
}

// escape takes an escape sequence: CSI (ECMA-48 5.4: parameters 0x30-0x3f, intermediates 0x20-0x2f, final 0x40-0x7e), SS3 with
// one byte, or an escape before a character (Alt): b and f go by words, the rest is passed over.
func escape(b []byte, on func(key)) int {
	if len(b) == 1 {
		return 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			switch c := b[i]; {
			case c >= 0x40 && c <= 0x7e:
				csi(string(b[2:i]), c, on)
				return i + 1
			case c < 0x20 || c > 0x7e:
				return i // not a sequence after all; the byte counts by itself
			case i >= maxSequence:
				return i + 1
			}
		}
		return 0
	case 'O':
		if len(b) < 3 {
			return 0
		}
		if code, ok := letters[b[2]]; ok { // of a terminal in application mode
			on(key{code: code})
		}
		return 3
	case 0x1b:
		on(key{code: keyClear})
		return 1
	case 'b', 'f':
		on(key{code: altWords[b[1]]})
		return 2
	}
	if !utf8.FullRune(b[1:]) {
		return 0
	}
	_, n := utf8.DecodeRune(b[1:])
	return 1 + n
}

// Keys by the last byte of their sequence, and by the number before a tilde (xterm, "PC-Style Function Keys").
var (
	letters = map[byte]keyCode{'A': keyOlder, 'B': keyNewer, 'C': keyRight, 'D': keyLeft, 'H': keyHome, 'F': keyLast}
	tildes  = map[int]keyCode{1: keyHome, 3: keyDelete, 4: keyLast, 7: keyHome, 8: keyLast, 200: keyPasteBegins, 201: keyPasteEnds}
	byWord  = map[keyCode]keyCode{keyLeft: keyWordLeft, keyRight: keyWordRight}

	altWords = map[byte]keyCode{'b': keyWordLeft, 'f': keyWordRight}
)

// Modifiers of a key, as bits.
const (
	withShift, withAlt, withCtrl = 1, 2, 4
	withLocks                    = 64 | 128
)

// csi understands arrows and their neighbours, the brackets of a paste, and CSI … u of the kitty protocol.
//
//	CSI [1 ; modifiers[:event]] A        CSI 3 [; modifiers[:event]] ~       event 1 press, 2 repeat, 3 release
//	CSI code[:shifted[:base]] [; modifiers[:event] [; text[:text…]]] u
//	CSI ? flags u                                                            the answer to kittyAsk
func csi(parameters string, final byte, on func(key)) {
	if strings.HasPrefix(parameters, "?") {
		if final == 'u' {
			on(key{code: keyReport})
		}
		return
	}
	fields := strings.Split(parameters, ";")
	code := leading(fields[0])
	modifiers, state := 0, keyDown
	if len(fields) > 1 {
		m, event, _ := strings.Cut(fields[1], ":")
		modifiers = max(leading(m)-1, 0) &^ withLocks // the protocol sends one more than the bits
		switch event {
		case "2":
			state = keyRepeat
		case "3":
			state = keyUp
		}
	}
	k, known := letters[final]
	if final == '~' {
		k, known = tildes[code]
	}
	if known {
		if word, ok := byWord[k]; ok && modifiers&(withAlt|withCtrl) != 0 {
			k = word
		}
		on(key{code: k, state: state})
	}
	if final != 'u' {
		return
	}
	switch {
	case code == 13 || code == 57414: // Enter, and that of the keypad
		on(key{code: keyEnter, state: state})
	case code == 127 || code == 8:
		on(key{code: keyBackspace, state: state})
	case code == 27:
		on(key{code: keyClear, state: state})
	case modifiers == withCtrl:
		if code >= 'a' && code <= 'z' && code != 'h' && code != 'j' && code != 'm' { // those are keys of their own
			if k, ok := control(byte(code) - 'a' + 1); ok {
				k.state = state
				on(k)
			}
		}
	case modifiers == withAlt && (code == 'b' || code == 'f'):
		on(key{code: altWords[byte(code)], state: state})
	case modifiers&^withShift != 0:
		// Alt, Super and the like: not ours
	case len(fields) > 2 && fields[2] != "":
		for _, point := range strings.Split(fields[2], ":") {
			if r := rune(leading(point)); unicode.IsPrint(r) {
				on(key{code: keyChar, char: r, state: state})
			}
		}
	case unicode.IsPrint(rune(code)) && (code < 57344 || code > 63743): // the private use area holds keys without text
		on(key{code: keyChar, char: rune(code), state: state})
	}
}

// leading is the number a parameter begins with, 0 for none.
func leading(s string) int {
	s, _, _ = strings.Cut(s, ":")
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > unicode.MaxRune {
		return 0
	}
	return n
}

// Times of a talk key on a terminal that tells no release.
const (
	// repeatGap is longer than the time between two repeats of a held key (25 to 50 ms) and shorter than between two taps.
	repeatGap = 100 * time.Millisecond
	// repeatEnd without a repeat means that a held key was let go.
	repeatEnd = 200 * time.Millisecond
)

// talkKey makes presses of a key. A terminal that tells releases (real) makes it a contact in mode hybrid. On any other, a key
// struck once starts, struck again stops, and held repeats itself:
//
//	idle ── struck: Touched, Pressed ──> on ── struck ──> ending ── 100 ms without another: Released ──> idle
//	                                                        │
//	                                                        └ another within 100 ms: it is held ──> held
//	held ── 200 ms without a repeat: Released, stamped with the last ──> idle
type talkKey struct {
	real  bool // the terminal tells releases
	state talkState
	last  time.Duration // last strike
	hold  gpio.Gesture  // behind a real key
	down  bool          // of a real key
}

type talkState uint8

const (
	talkIdle talkState = iota
	talkOn
	talkEnding
	talkHeld
)

// busy says whether the key belongs to talking now: a space then is no character.
func (t talkKey) busy() bool { return t.state != talkIdle || t.down || t.hold.Recording() }

// captureEnded says that the recording ended by itself.
func (t talkKey) captureEnded() talkKey {
	t.hold = t.hold.CaptureEnded()
	if t.state == talkOn {
		t.state = talkIdle
	}
	return t
}

func (t talkKey) wake() (time.Duration, bool) {
	switch t.state {
	case talkEnding:
		return t.last + repeatGap, true
	case talkHeld:
		return t.last + repeatEnd, true
	}
	return 0, false
}

// tick carries out what has fallen due.
func (t talkKey) tick(at time.Duration, out []gpio.Event) (talkKey, []gpio.Event) {
	if due, waiting := t.wake(); waiting && due <= at {
		t.state = talkIdle
		out = append(out, gpio.Event{Kind: gpio.Released, At: t.last})
	}
	return t, out
}

// strike takes the key going down, repeating or going up.
func (t talkKey) strike(at time.Duration, state keyState, out []gpio.Event) (talkKey, []gpio.Event) {
	t, out = t.tick(at, out)
	if t.real {
		return t.contact(at, state, out)
	}
	if state == keyUp {
		return t, out
	}
	gap := at - t.last
	t.last = at
	switch t.state {
	case talkIdle:
		t.state = talkOn
		out = append(out, gpio.Event{Kind: gpio.Touched, At: at}, gpio.Event{Kind: gpio.Pressed, At: at})
	case talkOn:
		t.state = talkEnding
		if gap < repeatGap {
			t.state = talkHeld
		}
	case talkEnding:
		t.state = talkHeld
	}
	return t, out
}

func (t talkKey) contact(at time.Duration, state keyState, out []gpio.Event) (talkKey, []gpio.Event) {
	t.hold.Mode = gpio.Hybrid
	switch {
	case state == keyDown && !t.down:
		t.down = true
		out = append(out, gpio.Event{Kind: gpio.Touched, At: at})
		t.hold, out = t.hold.Step(gpio.Event{Kind: gpio.Pressed, At: at}, out)
	case state == keyUp && t.down:
		t.down = false
		t.hold, out = t.hold.Step(gpio.Event{Kind: gpio.Released, At: at}, out)
	}
	return t, out
}
