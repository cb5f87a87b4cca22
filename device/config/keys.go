package config

import (
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"conch/companions/round"
	"conch/gpio"
	"conch/mqtt"
)

// The table of all keys: name, what it is, what is allowed and why, and the field behind it. The loader, the example file,
// the environment's names, conch check and the messages are all made from it.

const (
	maxName = 32   // bytes; fits a topic level, a host label and one line of a small display
	maxText = 8192 // bytes of instructions
	maxLine = 1024 // bytes of any other text (Linux: PATH_MAX is 4096, a URL of more than 1 kB is a mistake)
)

type key struct {
	name    string
	about   string // one line for the example file
	allowed string // "2 to 20", "auto, gpio, …"
	why     string // in parentheses behind allowed when a value is refused; may be empty
	set     func(v any) error
	show    func() string // as it would stand in the file
	guard   *guard        // nil: a key of comfort, whose default does nobody harm
}

// A guard is a key that keeps money, privacy or access. The service starts without what is refused (rescue.go): a key of
// comfort has its default then, a guard its strictest value, or what it guards stays off.
type guard struct {
	then string // what holds then, for people
	shut func() // makes it so
}

// refusedError says "this value is not allowed"; the loader adds key, value, allowed and why.
type refusedError struct{ reason string }

func (e refusedError) Error() string { return e.reason }

// keys lists them with setters into c, in the order of the file. A new key that keeps somebody's money, privacy or access belongs into
// guards as well, and every new key has a row in the test of their effects (config_effect_test.go).
func keys(c *Config) []key {
	all := []key{
		label("device.name", &c.Device.Name, true, "who this device is in the room and in logs; empty: the host's name"),
		board("device.board", &c.Device.Board, "board whose button, light and sound are set with this one word (conch gpio list --boards names them); what is set below is stronger; empty: none"),
		nameList("device.companion", &c.Device.Companion, "companions that live here, with commas between them: of cards in room.cards, of those that come with conch (Ada, Ben, Cleo), or a name of your own"),

		choice("button.source", &c.Button.Source, "where presses come from; auto: a pin where there is a GPIO chip, and the keyboard or lines on standard input; evdev: a key of a USB device",
			"auto", "gpio", "evdev", "keyboard", "lines", "none"),
		text("button.chip", &c.Button.Chip, "label of the GPIO chip, as in pinctrl-rp1 (numbers change with the kernel); empty: the one with the header"),
		pin("button.pin", &c.Button.Pin, "BCM number of the button's pin"),
		choice("button.active", &c.Button.Active, "level of the pin while pressed", "low", "high"),
		choice("button.bias", &c.Button.Bias, "resistor inside the chip; auto: the one against active; off: the board has its own", "auto", "up", "down", "off"),
		choice("button.mode", &c.Button.Mode, "hold: talk while it is down; tap: tap to start, tap to stop; hybrid: a press shorter than 400 ms is a tap", "hold", "tap", "hybrid"),
		millis("button.press_ms", &c.Button.Press, 5, 50, "clicks of the mains and static are 5 to 20 ms long, and a finger is not quicker than 50",
			"contact of the pin that is a press; the sound fades at its first edge, and goes on where it was if the contact was shorter"),
		text("button.device", &c.Button.Device, "of evdev: the device, by its name or a pattern of it, as conch gpio list shows it; empty: the first that has one of the keys"),
		keyNames("button.keys", &c.Button.Keys, "of evdev: keys that are the button, as Linux names them, with commas between them"),

		choice("light.driver", &c.Light.Driver, "how the light is driven; auto: as the board has it, none without a board", "auto", "none", "gpio", "rgb", "apa102", "apa102-gpio", "sysfs"),
		pinList("light.pins", &c.Light.Pins, "BCM numbers: of the LED (gpio), of red, green and blue (rgb), of data and clock (apa102-gpio)"),
		text("light.spi", &c.Light.SPI, "SPI bus and chip select of a row of APA102"),
		text("light.sysfs", &c.Light.Sysfs, "pattern of names below /sys/class/leds"),
		integer("light.count", &c.Light.Count, 1, 64, "", "LEDs in a row"),
		boolean("light.invert", &c.Light.Invert, "lit when the pin is low"),
		integer("light.brightness", &c.Light.Brightness, 0, 100, "", "brightness in percent"),
		hours("light.quiet", &c.Light.Quiet, "hours with less light; empty: none"),
		integer("light.quiet_brightness", &c.Light.QuietBrightness, 0, 100, "", "brightness in those hours in percent"),

		choice("audio.backend", &c.Audio.Backend, "sound system; auto: pulse where a server answers, else alsa; null makes no sound", "auto", "alsa", "pulse", "null"),
		text("audio.playback", &c.Audio.Playback, "loudspeaker, as conch audio list names it; empty: choose"),
		text("audio.capture", &c.Audio.Capture, "microphone, as conch audio list names it; empty: choose"),
		millis("audio.period_ms", &c.Audio.Period, 2, 20, "a longer period cannot keep the 30 ms promise", "length of one callback"),
		orZero(&c.Audio.Periods, integer("audio.periods", &c.Audio.Periods, 2, 16, "one cannot be filled while it plays, more than 16 only delay", "periods the card holds; 0: 8 where it gives back what it has not played, so that they cost no silence, else 3: silence after at most (periods + 1) x period + fade")),
		millis("audio.fade_ms", &c.Audio.Fade, 1, 5, "shorter clicks, longer is late", "fade of a sound that is dropped"),
		millis("audio.preroll_ms", &c.Audio.Preroll, 0, 1000, "", "sound sent from before the press; with 0 a question begins at its edge"),
		millis("audio.postroll_ms", &c.Audio.Postroll, 0, 500, "", "sound taken after the release"),
		integer("audio.volume", &c.Audio.Volume, 0, 100, "", "volume in percent"),
		boolean("audio.cues", &c.Audio.Cues, "short sounds for what happens; the ready cue sounds in any case"),
		integer("audio.cue_volume", &c.Audio.CueVolume, 0, 100, "", "volume of the cues in percent"),

		choice("voice.kind", &c.Voice.Kind, "auto: realtime when there is a key or voice.url is set, else rehearsal (no key, no network)", "auto", "realtime", "rehearsal"),
		webSocket("voice.url", &c.Voice.URL, "server of the realtime voice, ws:// or wss://; set, it is used, with a key or without"),
		required("voice.model", &c.Voice.Model, "model that answers"),
		text("voice.transcription", &c.Voice.Transcription, "model that writes down what was said; empty: nothing is written down"),
		text("voice.name", &c.Voice.Name, "name of the voice at the provider"),
		long("voice.instructions", &c.Voice.Instructions, "who the companion is and how it speaks"),
		choice("voice.dialect", &c.Voice.Dialect, "what the server understands; auto: by its address, else by the first that it says", "auto", "ga", "azure", "localai", "speaches", "speech-to-speech", "xai", "qwen"),
		text("voice.key_file", &c.Voice.KeyFile, "file that holds the key and nothing else, mode 0600; also: systemd credential openai_api_key, environment OPENAI_API_KEY"),
		text("voice.ca_file", &c.Voice.CAFile, "certificates that the server's must come from, for a server of your own; empty: the system's"),
		boolean("voice.remember", &c.Voice.Remember, "keep the last of the conversation in the state directory, so that a restart does not forget it; false: nothing is kept, and what was is deleted"),
		integer("voice.ceiling_tokens", &c.Voice.Ceiling, 0, 1_000_000_000, "", "no new answers after so many tokens in a day; 0: no ceiling"),
		price("voice.ceiling_cost", &c.Voice.CeilingCost, "no new answers after so much was spent in a day, in the currency of voice.price_in and price_out; 0: no ceiling"),
		price("voice.price_in", &c.Voice.PriceIn, "price of a million tokens sent; 0: unknown"),
		price("voice.price_out", &c.Voice.PriceOut, "price of a million tokens received; 0: unknown"),

		seconds("turn.listen_s", &c.Turn.Listen, 5, 600, "longest speech in one press; then it is sent as if released"),
		seconds("turn.commit_s", &c.Turn.Commit, 1, 120, "longest wait for the beginning of an answer"),
		seconds("turn.response_s", &c.Turn.Response, 1, 120, "longest pause inside an answer"),
		seconds("turn.next_s", &c.Turn.Next, 1, 120, "longest wait for the answer after a tool"),
		seconds("turn.tool_s", &c.Turn.Tool, 1, 120, "longest time for one tool"),
		millis("turn.thinking_ms", &c.Turn.Thinking, 100, 5000, "", "wait after which the thinking cue begins"),
		seconds("turn.reconnect_s", &c.Turn.Reconnect, 0, 60, "how long an utterance is kept while the link is down"),

		broker("room.broker", &c.Room.Broker, "how devices reach each other; empty: this one stays alone; embedded: a broker in this process; else the URL of one"),
		label("room.name", &c.Room.Name, false, "devices of the same room hear each other"),
		required("room.listen", &c.Room.Listen, "address of the embedded broker, HOST:PORT; others reach it only where that is not 127.0.0.1, and unencrypted"),
		memberIDs("room.members", &c.Room.Members, "ids of the devices that belong to the room (conch room id prints a device's own), with commas between them; anybody else is ignored"),
		text("room.user", &c.Room.User, "user at the broker"),
		text("room.password_file", &c.Room.PasswordFile, "file that holds the password and nothing else, mode 0600"),
		text("room.ca_file", &c.Room.CAFile, "certificates that the broker's must come from; empty: the system's"),
		text("room.cert_file", &c.Room.CertFile, "certificate to show to the broker"),
		text("room.key_file", &c.Room.KeyFile, "key of that certificate, mode 0600"),
		integer("room.port", &c.Room.Port, 0, 65535, "", "port for devices that pair, and afterwards for the encrypted room, if this device keeps it; 0: any free one"),
		boolean("room.pairing", &c.Room.Pairing, "the button pairs: held for five seconds without a word; false: only conch room pair and join do"),
		choice("room.discovery", &c.Room.Discovery, "how devices find each other on the network; auto: avahi where it runs, else by own answers; off: by address only", "auto", "avahi", "own", "off"),
		directory("room.cards", &c.Room.Cards, "companions' cards, one file each; empty: companions/ beside this file"),
		choice("room.involvement", &c.Room.Involvement, "how much the companions of this device join in, whatever their cards say; off: only when asked by name", "off", "low", "medium", "high"),
		integer("room.threshold", &c.Room.Threshold, 1, 9, "", "initiative score from which a companion of this device speaks up"),
		millis("room.pause_ms", &c.Room.Pause, 0, 2000, "", "pause between two turns"),
		seconds("room.silence_s", &c.Room.Silence, 2, 600, "silence after an unanswered message in which one companion may step in"),
		integer("room.chain", &c.Room.Chain, 1, 50, "", "companion turns without a person between them"),
		integer("room.handoffs", &c.Room.Handoffs, 0, 50, "", "hand-offs from companion to companion in a row that are followed"),
		integer("room.extras", &c.Room.Extras, 0, 2, "", "additions to an answer by others"),
		integer("room.share_percent", &c.Room.Share, 20, 100, "", "share of the last ten companion turns from which one holds back, unless addressed"),
		integer("room.repetition_percent", &c.Room.Repetition, 30, 100, "", "likeness to something just said at which a turn is a repetition"),
		integer("room.memory", &c.Room.Memory, 5, 50, "", "messages that are remembered"),
		chatServer("room.vote_url", &c.Room.VoteURL, "chat server, compatible with OpenAI's, that refines votes; empty: rules alone"),
		text("room.vote_model", &c.Room.VoteModel, "its model"),
		millis("room.vote_budget_ms", &c.Room.VoteBudget, 50, 900, "a round is decided within a second", "time a refined vote may take"),
		text("room.vote_key_file", &c.Room.VoteKeyFile, "file that holds its key and nothing else, mode 0600; empty: the voice's key if it is the same host, else none"),

		directory("state.dir", &c.State.Dir, "what survives a restart; empty: STATE_DIRECTORY (systemd), else XDG_STATE_HOME/conch"),
		directory("state.runtime", &c.State.Runtime, "control socket; empty: RUNTIME_DIRECTORY (systemd), else XDG_RUNTIME_DIR/conch"),

		choice("log.level", &c.Log.Level, "least level written to standard error", "debug", "info", "warn", "error"),
		choice("log.format", &c.Log.Format, "json for machines", "text", "json"),
	}
	shut := guards(c)
	for i := range all {
		all[i].guard = shut[all[i].name]
	}
	return all
}

// guards are the keys that keep somebody's money, privacy or access.
func guards(c *Config) map[string]*guard {
	offline := &guard{"a rehearsal voice answers, and nothing is sent to any server", func() {
		c.Voice.Kind = "rehearsal"
		c.setOrigin("voice.kind", RefusedValue)
	}}
	thrifty := &guard{"one answer a day", func() { c.Voice.Ceiling = 1 }}
	priced := &guard{"one answer a day where voice.ceiling_cost is set", func() { // nobody knows what is spent
		if c.Voice.CeilingCost > 0 {
			c.Voice.Ceiling = 1
		}
	}}
	alone := &guard{"no broker is used", func() { c.Room.Broker = "" }}
	ruled := &guard{"the rules alone vote", func() { c.Room.VoteURL = "" }}
	return map[string]*guard{
		"audio.preroll_ms":     {"nothing is sent from before the press", func() { c.Audio.Preroll = 0 }},
		"voice.kind":           offline,
		"voice.url":            offline,
		"voice.transcription":  {"nothing is written down", func() { c.Voice.Transcription = "" }},
		"voice.key_file":       offline,
		"voice.ca_file":        offline,
		"voice.ceiling_cost":   thrifty,
		"voice.price_in":       priced,
		"voice.price_out":      priced,
		"voice.remember":       {"the conversation is neither kept nor recalled", func() { c.Voice.Remember, c.TalkStays = false, true }},
		"voice.ceiling_tokens": thrifty,
		"room.broker":          alone,
		"room.name":            alone,
		"room.listen":          {"others cannot reach the embedded broker", func() { c.Room.Listen = Default().Room.Listen }},
		"room.members":         alone,
		"room.user":            alone,
		"room.password_file":   alone,
		"room.ca_file":         alone,
		"room.cert_file":       alone,
		"room.key_file":        alone,
		"room.pairing":         {"the button does not pair", func() { c.Room.Pairing = false }},
		"room.discovery":       {"the device is not announced on the network", func() { c.Room.Discovery = "off" }},
		"room.memory":          {"as little as can be is remembered", func() { c.Room.Memory = 5 }},
		"room.vote_url":        ruled,
		"room.vote_key_file":   ruled,
		"state.dir":            {"the microphone is off where it is not known that it is to be on (conch mute off, or hold the button for five seconds)", func() { c.State.Dir, c.StateUnsure = "", true }},
	}
}

func choice(name string, field *string, about string, allowed ...string) key {
	return key{name: name, about: about, allowed: orList(allowed), set: func(v any) error {
		s, ok := v.(string)
		if !ok || !slices.Contains(allowed, s) {
			return refusedError{}
		}
		*field = s
		return nil
	}, show: func() string { return strconv.Quote(*field) }}
}

func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n)
	case string: // environment and flags
		f, err := strconv.ParseFloat(n, 64)
		return f, err == nil && !math.IsNaN(f)
	}
	return 0, false
}

func integer(name string, field *int, low, high int, why, about string) key {
	return key{name: name, about: about, allowed: fmt.Sprintf("a whole number, %d to %d", low, high), why: why, set: func(v any) error {
		f, ok := number(v)
		if !ok || f != math.Trunc(f) || f < float64(low) || f > float64(high) {
			return refusedError{}
		}
		*field = int(f)
		return nil
	}, show: func() string { return strconv.Itoa(*field) }}
}

// orZero is a number that may be 0 as well.
func orZero(field *int, k key) key {
	set := k.set
	k.allowed = "0, or " + k.allowed
	k.set = func(v any) error {
		if f, ok := number(v); ok && f == 0 {
			*field = 0
			return nil
		}
		return set(v)
	}
	return k
}

// pin is a pin of the header. Whether it is free is for Misfits to say, which knows the board.
func pin(name string, field *int, about string) key {
	return integer(name, field, 0, 27, "the BCM number, not the position on the header", about)
}

// board is a name in the table of boards.
func board(name string, field *string, about string) key {
	k := checkedText(name, field, maxLine, "empty, or a board that conch gpio list --boards names", about, oneLine)
	check := k.set
	k.set = func(v any) error {
		if list, ok := v.([]any); ok { // two of them, as a person may write it: Misfits tells
			v = strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
		}
		if err := check(v); err != nil {
			return err
		}
		return checkBoard(*field)
	}
	return k
}

// keyNames are names of keys of an input device.
func keyNames(name string, field *string, about string) key {
	k := checkedText(name, field, maxLine, "names of keys with commas between them", about, oneLine)
	check := k.set
	k.set = func(v any) error {
		if err := check(v); err != nil {
			return err
		}
		if _, err := gpio.ParseKeys(*field); err != nil {
			return refusedError{strings.TrimPrefix(err.Error(), "gpio: ")}
		}
		return nil
	}
	return k
}

func duration(name string, field *time.Duration, unit time.Duration, low, high float64, why, about string) key {
	return key{name: name, about: about, allowed: fmt.Sprintf("%g to %g", low, high), why: why, set: func(v any) error {
		f, ok := number(v)
		if !ok || f < low || f > high {
			return refusedError{}
		}
		*field = time.Duration(math.Round(f * float64(unit)))
		return nil
	}, show: func() string { return strconv.FormatFloat(float64(*field)/float64(unit), 'g', -1, 64) }}
}

func millis(name string, field *time.Duration, low, high float64, why, about string) key {
	return duration(name, field, time.Millisecond, low, high, why, about+", in milliseconds")
}

func seconds(name string, field *time.Duration, low, high float64, about string) key {
	return duration(name, field, time.Second, low, high, "", about+", in seconds")
}

func price(name string, field *float64, about string) key {
	return key{name: name, about: about, allowed: "0 to 100000", set: func(v any) error {
		f, ok := number(v)
		if !ok || f < 0 || f > 100000 {
			return refusedError{}
		}
		*field = f
		return nil
	}, show: func() string { return strconv.FormatFloat(*field, 'f', -1, 64) }}
}

func boolean(name string, field *bool, about string) key {
	return key{name: name, about: about, allowed: "true or false", set: func(v any) error {
		switch v {
		case true, "true":
			*field = true
		case false, "false":
			*field = false
		default:
			return refusedError{}
		}
		return nil
	}, show: func() string { return strconv.FormatBool(*field) }}
}

// checkedText is text of at most limit bytes that check, if there is one, accepts.
func checkedText(name string, field *string, limit int, allowed, about string, check func(string) bool) key {
	return key{name: name, about: about, allowed: allowed, set: func(v any) error {
		s, ok := v.(string)
		if !ok || len(s) > limit || !utf8.ValidString(s) || strings.ContainsRune(s, 0) || (check != nil && !check(s)) {
			return refusedError{}
		}
		*field = s
		return nil
	}, show: func() string { return Quote(*field) }}
}

func oneLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func text(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, fmt.Sprintf("one line of text, at most %d bytes", maxLine), about, oneLine)
}

func required(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, fmt.Sprintf("one line of text, 1 to %d bytes", maxLine), about,
		func(s string) bool { return strings.TrimSpace(s) != "" && oneLine(s) })
}

func long(name string, field *string, about string) key {
	return checkedText(name, field, maxText, fmt.Sprintf("text of at most %d bytes", maxText), about, nil)
}

func nameChar(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_'
}

func label(name string, field *string, empty bool, about string) key {
	least := 1
	if empty {
		least = 0
	}
	allowed := fmt.Sprintf("%d to %d letters, digits, - and _ (it becomes part of a topic)", least, maxName)
	return checkedText(name, field, maxName, allowed, about, func(s string) bool {
		for i := range len(s) {
			if !nameChar(s[i]) {
				return false
			}
		}
		return s != "" || empty
	})
}

// nameList is a list of names as people write them: any letters, commas between.
func nameList(name string, field *string, about string) key {
	allowed := fmt.Sprintf("names with commas between them, at most %d bytes each", maxName)
	return checkedText(name, field, maxLine, allowed, about, func(s string) bool {
		for _, n := range strings.Split(s, ",") {
			if n = strings.TrimSpace(n); n == "" || len(n) > maxName || !oneLine(n) {
				return false
			}
		}
		return true
	})
}

// pinList is BCM numbers with commas between them.
func pinList(name string, field *string, about string) key {
	return checkedText(name, field, maxName, "empty, or up to 3 numbers from 0 to 27 with commas between them", about, func(s string) bool {
		pins, err := ParsePins(s)
		return err == nil && len(pins) <= 3
	})
}

// ParsePins reads BCM numbers with commas between them.
func ParsePins(s string) ([]int, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var pins []int
	for _, field := range strings.Split(s, ",") {
		n, err := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(field)), "GPIO"))
		if err != nil || n < 0 || n > 27 {
			return nil, fmt.Errorf("%q is no pin of the header", strings.TrimSpace(field))
		}
		pins = append(pins, n)
	}
	return pins, nil
}

// hours is a span of the day, which may go past midnight.
func hours(name string, field *string, about string) key {
	return checkedText(name, field, maxName, "empty, or two times of the day, as in 22:00-07:00", about, func(s string) bool {
		_, _, err := ParseHours(s)
		return s == "" || err == nil
	})
}

// ParseHours reads "22:00-07:00" as times since midnight.
func ParseHours(s string) (from, to time.Duration, err error) {
	a, b, _ := strings.Cut(s, "-")
	for text, into := range map[string]*time.Duration{a: &from, b: &to} {
		at, err := time.Parse("15:04", strings.TrimSpace(text))
		if err != nil {
			return 0, 0, fmt.Errorf("%q is no time of the day", text)
		}
		*into = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	return from, to, nil
}

// memberIDs is a list of devices' ids: a name that slipped in would be nobody's, and its device ignored without a word.
func memberIDs(name string, field *string, about string) key {
	allowed := fmt.Sprintf("ids of devices with commas between them, as conch room id prints them (20 letters a-z and digits 2-7), at most %d", maxMembers)
	k := checkedText(name, field, maxMembers*(len("01234567890123456789")+2), allowed, about, func(s string) bool {
		ids := Room{Members: s}.IDs()
		return oneLine(s) && len(ids) <= maxMembers && !slices.ContainsFunc(ids, func(d round.DeviceID) bool { return mqtt.CheckDevice(d) != nil })
	})
	check := k.set
	k.set = func(v any) error {
		err := check(v)
		if s, ok := v.(string); ok && err != nil {
			for _, d := range (Room{Members: s}).IDs() {
				if mqtt.CheckDevice(d) != nil {
					return refusedError{fmt.Sprintf("%s is no device's id; must be %s", Quote(shortID(string(d))), allowed)}
				}
			}
		}
		return err
	}
	return k
}

// maxMembers is as many devices as a room may have (companions/round).
const maxMembers = 64

func shortID(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "…"
	}
	return s
}

func broker(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, "empty, embedded, mqtt://HOST:PORT, mqtts://…, ws://… or wss://…", about, func(s string) bool {
		u, err := url.Parse(s)
		return s == "" || s == "embedded" || err == nil && u.Host != "" && u.User == nil &&
			slices.Contains([]string{"mqtt", "tcp", "mqtts", "ssl", "ws", "wss"}, u.Scheme)
	})
}

func chatServer(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, "empty, http://HOST… or https://HOST…", about, func(s string) bool {
		u, err := url.Parse(s)
		return s == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
	})
}

func webSocket(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, "ws://HOST… or wss://HOST…", about, func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && (u.Scheme == "ws" || u.Scheme == "wss") && u.Host != "" && u.User == nil
	})
}

func directory(name string, field *string, about string) key {
	return checkedText(name, field, maxLine, "an absolute path, or empty", about,
		func(s string) bool { return oneLine(s) && (s == "" || filepath.IsAbs(s)) })
}

// Quote writes s as a basic string of TOML 1.0.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// environmentName is the variable that sets a key: audio.period_ms is CONCH_AUDIO_PERIOD_MS.
func environmentName(key string) string {
	return "CONCH_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
