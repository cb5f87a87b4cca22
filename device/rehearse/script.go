package rehearse

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"conch/audio/wav"
	"conch/device/control"
)

// A Line is one instruction of a rehearsal script (APPLIANCE.md 4). Blank lines and lines that begin with # are skipped.
//
//	press DEV | release DEV | ask DEV TEXT
//	hear DEV FILE.wav     into its microphone, while the button is held; if it is up, it is held for so long
//	hear DEV OTHER 600ms 5dB
//	                      its microphone hears OTHER's loudspeaker from now on, through walls that reverberate for so long (RT60)
//	                      and in noise so far below; 500ms and 15dB if not said. hear DEV nobody ends it
//	say DEV TEXT          an announcement of that device
//	control room|COMPANION mute|unmute|off|low|medium|high
//	wait 2s | wait idle | wait speaking DEV | wait said DEV
//	                      idle means the whole room: nothing sounds and no round is open; speaking and said mean what came
//	                      of the last press, release or question in the room
//	model slow|fail|drop|ok DEV | sound out|in DEV
//	kill DEV | start DEV  without a goodbye; again, with the state it had
//	freeze DEV 5s         its process stops: it keeps its connections and does nothing
//	cut DEV 5s            its network: packets vanish, and nobody is told
//	broker restart        stopped, and started at the same port
//
// In a room whose devices begin as strangers (PAIRING.md):
//
//	hold DEV 5s           the button, without a word: 5 s pair, 10 s leave the room
//	join DEV CODE|typed|wrong
//	                      typed is the code of the one window that is open, wrong is another
//	remove DEV OTHER      at DEV, somebody ends the membership of OTHER
//	leave DEV
//	wait pairing DEV open|listening|joining|paired|cancelled|left|removed
//	wait pairing DEV failed WHY
//	                      since its button was last pressed there, or somebody typed something
//	wait members DEV N    so many devices are in its room, itself included, and their companions are known
type Line struct {
	Number int    // in the file, from 1
	Source string // as written
	Verb   string
	Device string               // empty where the verb has none
	Other  string               // hear, remove: the other device
	What   string               // idle, speaking, said, pairing, members; slow, fail, drop, ok; out, in; restart; what control sets
	Text   string               // ask, say; whose manners control turns; join: the code, or as written
	File   string               // hear: absolute, or relative to the script
	For    time.Duration        // wait, freeze, cut, hold; hear: RT60
	Noise  float64              // hear: dB below what is heard
	State  control.PairingState // wait pairing
	Why    control.PairingWhy   // wait pairing
	Count  int                  // wait members
}

// Limits of a script: it is typed by people.
const (
	maxScriptLines = 10000
	maxScriptLine  = 4096
)

// verb is how an instruction is written, for errors that say what is allowed, and what takes it apart.
type verb struct {
	name, usage string
	parse       func(l *Line, args string, n *names) error
}

// names are what a script may name.
type names struct {
	dir        string // files are looked up there
	devices    []string
	companions []string // ids
	strangers  bool     // the devices begin unpaired
}

// verbs in the order in which they are listed to who misspells one.
func verbs() []verb {
	return []verb{
		{"press", "press DEV", onDevice},
		{"release", "release DEV", onDevice},
		{"ask", "ask DEV TEXT", withText},
		{"hear", "hear DEV FILE.wav | hear DEV OTHER [500ms [15dB]] | hear DEV nobody", withSound},
		{"say", "say DEV TEXT", withText},
		{"control", "control room|COMPANION mute|unmute|off|low|medium|high", withManners},
		{"wait", "wait 2s | wait idle | wait speaking DEV | wait said DEV | wait pairing DEV STATE [WHY] | wait members DEV N", withWait},
		{"model", "model slow|fail|drop|ok DEV", withFault("slow", "fail", "drop", "ok")},
		{"sound", "sound out|in DEV", withFault("out", "in")},
		{"kill", "kill DEV", onDevice},
		{"start", "start DEV", onDevice},
		{"freeze", "freeze DEV 5s", withTime},
		{"cut", "cut DEV 5s", withTime},
		{"broker", "broker restart", withRestart},
		{"hold", "hold DEV 5s", strangers(withTime)},
		{"join", "join DEV CODE|typed|wrong", strangers(withCode)},
		{"remove", "remove DEV OTHER", strangers(withOther)},
		{"leave", "leave DEV", strangers(onDevice)},
	}
}

// errUsage is replaced by the verb's usage.
var errUsage = errors.New("not as it must be")

// ReadScript parses a rehearsal script for a room. name is used in errors; files are looked up relative to dir and must exist.
func ReadScript(r io.Reader, name, dir string, room Room) ([]Line, error) {
	var lines []Line
	known := room.names(dir)
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, maxScriptLine), maxScriptLine)
	for n := 1; sc.Scan(); n++ {
		text := strings.TrimSpace(sc.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if len(lines) == maxScriptLines {
			return nil, fmt.Errorf("%s:%d: more than %d instructions: split the script", name, n, maxScriptLines)
		}
		l, err := parseLine(text, known)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %q: %w", name, n, text, err)
		}
		l.Number = n
		lines = append(lines, l)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w (a line may have at most %d bytes)", name, err, maxScriptLine)
	}
	return lines, nil
}

func parseLine(text string, n *names) (Line, error) {
	word, args := cutWord(text)
	all := verbs()
	i := slices.IndexFunc(all, func(v verb) bool { return v.name == word })
	if i < 0 {
		return Line{}, fmt.Errorf("unknown verb %q: must be one of %s", word, joined(all, ", ", func(v verb) string { return v.name }))
	}
	l := Line{Source: text, Verb: word}
	if err := all[i].parse(&l, args, n); errors.Is(err, errUsage) {
		return Line{}, fmt.Errorf("must be: %s", all[i].usage)
	} else if err != nil {
		return Line{}, err
	}
	return l, nil
}

// joined is what name makes of each, with sep between them.
func joined[T any](all []T, sep string, name func(T) string) string {
	list := make([]string, len(all))
	for i, x := range all {
		list[i] = name(x)
	}
	return strings.Join(list, sep)
}

// cutWord takes the first word off.
func cutWord(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimSpace(text[i:])
}

func (n *names) device(l *Line, name string) error {
	if name == "" {
		return errUsage
	}
	if !slices.Contains(n.devices, name) {
		return fmt.Errorf("unknown device %q: must be one of %s", name, strings.Join(n.devices, ", "))
	}
	l.Device = name
	return nil
}

func onDevice(l *Line, args string, n *names) error {
	name, rest := cutWord(args)
	if rest != "" {
		return errUsage
	}
	return n.device(l, name)
}

func withText(l *Line, args string, n *names) error {
	name, text := cutWord(args)
	if text == "" {
		return errUsage
	}
	l.Text = text
	return n.device(l, name)
}

func withSound(l *Line, args string, n *names) error {
	name, file := cutWord(args)
	if file == "" {
		return errUsage
	}
	if err := n.device(l, name); err != nil {
		return err
	}
	if who, air := cutWord(file); who == "nobody" || slices.Contains(n.devices, who) {
		return withAir(l, who, air)
	}
	if l.File = file; !filepath.IsAbs(file) {
		l.File = filepath.Join(n.dir, file)
	}
	_, err := wav.Load(l.File) // a broken one is refused before anything starts; it is read again when it is played
	return err
}

func withManners(l *Line, args string, n *names) error {
	who, what := cutWord(args)
	if !slices.Contains([]string{"mute", "unmute", "off", "low", "medium", "high"}, what) {
		return errUsage
	}
	if who != "room" && !slices.Contains(n.companions, who) {
		return fmt.Errorf("unknown companion %q: must be room or one of %s", who, strings.Join(n.companions, ", "))
	}
	if who == "room" && (what == "mute" || what == "unmute") {
		return fmt.Errorf("control room %s: a room is not muted as one; mute its companions, or: control room off", what)
	}
	l.Text, l.What = who, what
	return nil
}

func withFault(kinds ...string) func(*Line, string, *names) error {
	return func(l *Line, args string, n *names) error {
		what, rest := cutWord(args)
		name, more := cutWord(rest)
		if !slices.Contains(kinds, what) || more != "" {
			return errUsage
		}
		l.What = what
		return n.device(l, name)
	}
}

func withTime(l *Line, args string, n *names) error {
	name, rest := cutWord(args)
	if rest == "" {
		return errUsage
	}
	if err := n.device(l, name); err != nil {
		return err
	}
	var err error
	l.For, err = positive(rest)
	return err
}

func withRestart(l *Line, args string, n *names) error {
	if n.strangers {
		return errors.New("these devices begin unpaired: the broker is one of them; kill and start that one")
	}
	if l.What = args; args != "restart" {
		return errUsage
	}
	return nil
}

func withWait(l *Line, args string, n *names) error {
	what, rest := cutWord(args)
	switch l.What = what; {
	case what == "speaking" || what == "said":
		return onDevice(l, rest, n)
	case what == "pairing":
		return strangers(withState)(l, rest, n)
	case what == "members":
		return withCount(l, rest, n)
	case what == "" || rest != "":
		return errUsage
	case what == "idle":
		return nil
	}
	var err error
	l.What = ""
	l.For, err = positive(what)
	return err
}

func positive(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d > time.Hour {
		return 0, fmt.Errorf("duration %q: must be like 500ms or 2s, up to 1h", s)
	}
	return d, nil
}
