// Package config is everything that a person can set: the table of keys, and where their values come from.
//
// Load reads default < file < environment < flag and reports all that is wrong, not only the first; a service starts all the
// same, with what can be read (rescue.go). Apply changes a person's file line by line. It knows nobody but the table of boards.
package config

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"conch/companions/round"
	"conch/companions/voice"
	"conch/companions/voice/kinds"
	"conch/device/language"
	"conch/gpio"
)

// Config is everything a person can set. Default gives values that work; Load reads file, environment and flags over them.
//
// Every field has one line in keys (keys.go), which knows its name in the file, what is allowed and why. Durations
// are in the file as numbers whose unit is the end of the name (_ms, _s).
type Config struct {
	Device  Device
	Button  Button
	Light   Light
	Audio   Audio
	Voice   Voice
	Turn    Turn
	Room    Room
	Library Library
	Knob    Knob
	MCP     []MCP
	Radio   Radio
	Tools   Tools
	Home    []Thing

	Intercom      Intercom
	Web           Web
	HomeAssistant HomeAssistant
	State         State
	Log           Log

	// File is the file that was read; empty when there was none.
	File string
	// Warnings are things to tell a person that do not keep conch from starting.
	Warnings []string

	origin     map[string]string   // key to where its value came from; absent is "default"
	KeyFrom    string              // the file voice.key was read from; empty: it was not
	stageKeys  map[string]stageKey // of hear and speak, those that have one
	keyTrouble string              // why it cannot be used (LoadOptions.Keyless)
	NoPin      bool                // the button's pin does not fit (Fitting)
	service    bool                // systemd gives it its directories

	Problems     []string // what is wrong with it; nil unless LoadOptions.Anyway
	shut         []string // keys that guard something and whose values are refused, with what holds instead
	refusedFlags bool     // of LoadOptions.Flags, at least one is
	TalkStays    bool     // voice.remember is refused: who wanted it deleted can still say so, what is deleted does not come back
	StateUnsure  bool     // state.dir is refused: the directory that is used instead may know nothing of a person's wishes
}

// Device is who this device is.
type Device struct {
	Name      string            // in the room and in logs; empty in the file: the host's name
	Languages []string          // that people speak with it, ISO 639-1, its own first; empty: the transcription detects them
	Language  language.Language // of what it says itself and prints
	Mouth     string            // ISO 639-1, of an answer that does not show its language
	Board     string            // preset of a board (gpio.Boards) for button, light and sound; empty: none
	Quiet     string            // hours with less light and sound, "22:00-07:00"; empty: none
	Companion string            // names of the companions that live here, with commas between them
}

// Button is where presses come from. Source auto takes a GPIO pin where there is a chip, and the keyboard or lines on
// standard input beside it.
type Button struct {
	Source string        // auto, gpio, evdev, keyboard, lines, none
	Chip   string        // label of the chip; empty: the one with the header
	Pin    int           // BCM number
	Press  time.Duration // contact that is a press
	Active string        // low, high: the level when pressed
	Bias   string        // auto, up, down, off
	Mode   string        // hold, tap, hybrid
	Device string        // of evdev: name or pattern; empty: the first that has one of Keys
	Keys   string        // of evdev: names with commas between them
	Again  bool          // in mode hold: a double press has the last answer said again
}

// Light is what the state is shown with. Driver auto is the board's light, none without a board.
type Light struct {
	Driver          string // auto, or a gpio.LightDriver
	Pins            string // BCM numbers with commas between them: LED; red, green, blue; data, clock
	SPI             string // bus and chip select, "0.0"
	Sysfs           string // pattern of names below /sys/class/leds
	Count           int    // LEDs in a row
	Invert          bool   // lit when low
	Brightness      int    // percent
	QuietBrightness int    // percent, in Device.Quiet
}

// Audio is microphone, loudspeaker and what is mixed into it.
type Audio struct {
	Backend     string // auto, alsa, pulse, null
	Playback    string // stable identity; empty: choose
	Capture     string
	Period      time.Duration // of one callback
	Periods     int
	Fade        time.Duration // of a dropped sound
	Preroll     time.Duration // kept from before the press; 0 keeps nothing
	Postroll    time.Duration // taken after the release
	Volume      int           // percent
	NightVolume int           // percent, at most, in Device.Quiet
	Cues        bool          // the ready cue sounds even when false (APPLIANCE.md 3)
	CueVolume   int           // percent
}

// Bound is the longest time from the edge to the last sample that is not silent, on a card that keeps what it was given: the
// callback may just have run, the card holds Periods more, and then comes the fade (audio/FACTS.md 5).
func (a Audio) Bound() time.Duration {
	return time.Duration(a.kept()+1)*a.Period + a.Fade
}

// kept is how many periods such a card is asked to hold.
func (a Audio) kept() int {
	if a.Periods == 0 {
		return 3
	}
	return a.Periods
}

// Voice is where answers come from.
type Voice struct {
	Kind          string // auto, realtime, rehearsal; auto is realtime when there is a key or a server was named
	URL           string
	Model         string
	Transcription string            // model that writes down what was said
	Name          string            // of the voice at the provider
	Instructions  string            // who the companion is, in words
	Own           map[string]string // the keys of the kinds of voices (voice.Kind.Keys), by name
	KeyFile       string
	HearKeyFile   string // of who hears, where that is another host's
	SpeakKeyFile  string
	Remember      bool // the conversation, across restarts
	CAFile        string
	Ceiling       int     // tokens a day; 0 is none
	CeilingCost   float64 // money a day; 0 is none
	PriceIn       float64 // for a million tokens of every kind for which Prices has none; 0 is not set
	PriceOut      float64
	Prices        voice.Prices // that are set; 0 is not set: the list has it, or it is unknown
	Key           Secret       // from a credential, KeyFile or OPENAI_API_KEY; never in the file itself
}

// Priced says that something of what is used has a price: one that is set, or, with a key, one of the list.
func (v Voice) Priced() bool {
	return v.PriceSet() || v.Kind != "rehearsal" && v.Key.Set() && v.listed()
}

// PriceSet says that the configuration has a price.
func (v Voice) PriceSet() bool { return v.PriceIn > 0 || v.PriceOut > 0 || v.Prices != voice.Prices{} }

// listed says that the list has a price of the model that answers.
func (v Voice) listed() bool {
	_, known := voice.Listed(v.URL, v.Model)
	return known
}

// Turn is how long a turn may wait, state by state (TURNS.md 1).
type Turn struct {
	Listen    time.Duration // of speech, then it commits by itself
	Commit    time.Duration // for the first word of an answer
	Response  time.Duration // without an event in the middle of one
	Next      time.Duration // for the round after a tool
	Tool      time.Duration // for one tool
	Thinking  time.Duration // of waiting, then the thinking cue
	Reconnect time.Duration // an utterance is kept while the link is down
}

// Room is the room this device is in: who else lives there, how to reach them, and how companions behave (ROOM.md).
type Room struct {
	Broker       string // empty: no network; embedded: a broker in this process; else the URL of one, or of the nodes of a cluster with commas between
	Name         string // devices hear each other only in the same room
	Listen       string // address of the embedded broker
	Members      string // ids of the devices that belong to the room, with commas between them; this one need not be named
	User         string
	PasswordFile string
	CAFile       string
	CertFile     string
	KeyFile      string
	Port         int    // of pairing, and of the paired room's broker; 0: any
	Pairing      bool   // the button pairs: held for 5 s without a word
	Discovery    string // auto, avahi, own, off
	Cards        string // directory of companions' cards; empty: companions/ beside the configuration file
	Words        string // directory of own words, by which the rules understand; empty: words/ beside the configuration file

	People      string // names of people at home, with commas between them, behind a colon the device that one usually presses
	PeopleLearn string // ask, off: whether somebody who says a name is asked if it may be kept

	Involvement string        // of the whole room: off, low, medium, high
	Threshold   int           // of the initiative score
	Pause       time.Duration // between two turns
	Silence     time.Duration // after which somebody may step in
	Chain       int           // companion turns without a person
	Handoffs    int           // hand-offs in a row that are followed
	Extras      int           // additions to an answer
	Share       int           // percent of the last ten companion turns that one companion may have
	Repetition  int           // percent of likeness at which a turn counts as said before
	Memory      int           // messages that are kept

	Votes       string // rules, auto, model: who votes
	Calls       int    // of a model a device, between two messages of people
	VoteURL     string // chat server that refines votes; empty: the voice's own vendor
	VoteModel   string
	VoteBudget  time.Duration
	VoteKeyFile string
}

// Brokers are the addresses in Broker one by one; one empty one where it is empty.
func (r Room) Brokers() []string {
	if all := listed(r.Broker); len(all) > 0 {
		return all
	}
	return []string{""}
}

// IDs are Members one by one.
func (r Room) IDs() []round.DeviceID {
	var ids []round.DeviceID
	for _, id := range listed(r.Members) {
		ids = append(ids, round.DeviceID(id))
	}
	return ids
}

func listed(s string) []string {
	return strings.FieldsFunc(s, func(c rune) bool { return c == ',' || c == ' ' })
}

// State is where files go.
type State struct {
	Dir     string // survives a restart; empty in the file: systemd's or XDG's
	Runtime string // holds the control socket
}

// Socket is the control socket's path.
func (s State) Socket() string { return filepath.Join(s.Runtime, "control.sock") }

// Log is what is written to standard error.
type Log struct {
	Level  string // debug, info, warn, error
	Format string // text, json
}

// Slog is Level as slog has it.
func (l Log) Slog() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // the table allows slog's own words only
	return level
}

// Default is what an empty file means. conch.example.toml says the same, by test.
func Default() Config {
	return Config{
		Device: Device{Companion: "Ada"},
		Button: Button{Source: "auto", Pin: 17, Press: gpio.PressAfter, Active: "low", Bias: "auto", Mode: "hold", Keys: gpio.DefaultKeys, Again: true},
		Light:  Light{Driver: "auto", SPI: "0.0", Count: 1, Brightness: 40, QuietBrightness: 5},
		Audio: Audio{
			Backend: "auto",
			// At most 8.5 ms where the card gives back what it has not played, else, at 5 ms x 3, 22 ms (audio/FACTS.md 5).
			Period: 5 * time.Millisecond, Fade: 2 * time.Millisecond,
			Preroll: 250 * time.Millisecond, Postroll: 120 * time.Millisecond, // TURNS.md 6
			Volume: 70, NightVolume: 40, Cues: true, CueVolume: 60,
		},
		Voice: Voice{
			Kind:          "auto",
			Remember:      true,
			URL:           "wss://api.openai.com/v1/realtime",
			Model:         "gpt-realtime-2.1",
			Transcription: "gpt-transcribe", // the older names end in February 2027 (realtime/FACTS.md 0)
			Name:          "marin",
			Instructions: "You live in a small box with a button and a loudspeaker. Answer in one to three short spoken sentences, in the " +
				"language you are spoken to.",
			Own: voiceDefaults(),
		},
		Turn: Turn{ // TURNS.md 1, 3, 6
			Listen: time.Minute, Commit: 10 * time.Second, Response: 15 * time.Second, Next: 15 * time.Second,
			Tool: 10 * time.Second, Thinking: 400 * time.Millisecond, Reconnect: 5 * time.Second,
		},
		Room: Room{ // ROOM.md 3, 5, 6
			Name: "home", Listen: "127.0.0.1:1883", Port: 7483, Pairing: true, Discovery: "auto", PeopleLearn: "ask", Involvement: "medium", Threshold: 5,
			Pause:   200 * time.Millisecond,
			Silence: 10 * time.Second, Chain: 6, Handoffs: 3, Extras: 2, Share: 60, Repetition: 70, Memory: 50,
			Votes: "rules", Calls: 2, VoteBudget: 700 * time.Millisecond,
		},
		Intercom:      Intercom{Enabled: true, Port: 7484},
		Knob:          Knob{Keys: "auto", Step: 5},
		Web:           Web{Listen: DefaultWebListen},
		HomeAssistant: HomeAssistant{Prefix: "homeassistant"},
		Log:           Log{Level: "info", Format: "text"},
	}
}

func voiceDefaults() map[string]string {
	own := map[string]string{}
	for _, v := range kinds.All {
		for _, k := range v.Keys {
			own[k.Name] = k.Default
		}
	}
	return own
}

// NoKey says that there is none, in what the reader would set.
func (c *Config) NoKey() string {
	if c.service {
		return "no key is stored"
	}
	return "no OPENAI_API_KEY and no voice.key_file"
}

// GiveKey is what the reader does so that there is one: a service has no environment of a person's.
func (c *Config) GiveKey() string {
	if c.service {
		return "sudo conch setup voice (the key alone: sudo conch key)"
	}
	return "set OPENAI_API_KEY or voice.key_file, and start again"
}

// Row is one line of conch check: a key, its value in force, and where that came from: "default", "file PATH:LINE",
// "environment NAME", "flag", "credential NAME".
type Row struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Describe lists every key in the order of the file. Secrets say only whether they are set.
func (c *Config) Describe() []Row {
	rows := make([]Row, 0, 64)
	for _, k := range keys(c) {
		rows = append(rows, Row{k.name, k.show(), c.Origin(k.name)})
		if k.name == "voice.key_file" {
			rows = append(rows, Row{"voice.key", c.Voice.Key.String(), c.Origin("voice.key")})
		}
	}
	return append(rows, Row{"mcp", c.servers(), c.Origin("mcp")}, Row{"home", c.things(), c.Origin("home")})
}

// Origin is where the value of a key came from, as Row has it.
func (c *Config) Origin(key string) string {
	if o, ok := c.origin[key]; ok {
		return o
	}
	return "default"
}

// Unset says that nobody has set the key.
func (c *Config) Unset(key string) bool { return strings.HasPrefix(c.Origin(key), "default") }

func (c *Config) setOrigin(key, from string) {
	if c.origin == nil {
		c.origin = make(map[string]string)
	}
	c.origin[key] = from
}

// resolve fills what the file may leave empty from the machine: the host's name, systemd's or XDG's directories.
func (c *Config) resolve(env environment) {
	c.service = env.Get("STATE_DIRECTORY") != ""
	if c.Device.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = ""
		}
		c.Device.Name = hostLabel(host)
		c.setOrigin("device.name", "default (host name)")
	}
	c.resolveLanguage(env)
	if c.State.Dir == "" {
		c.State.Dir = firstDir(env.Get("STATE_DIRECTORY"), under(env.Get("XDG_STATE_HOME"), "conch"),
			under(env.Get("HOME"), ".local/state/conch"), under(homeOfUser(), ".local/state/conch"), ServiceState)
	}
	if c.State.Runtime == "" {
		c.State.Runtime = firstDir(env.Get("RUNTIME_DIRECTORY"), under(env.Get("XDG_RUNTIME_DIR"), "conch"), c.State.Dir)
	}
	// Linux has 108 bytes for the path of a unix socket, the final zero included (unix(7)).
	if path := c.State.Socket(); len(path) > 107 {
		c.warn("state.runtime = %q: the control socket's path is %d bytes long, Linux takes 107; the other commands will not reach conch",
			c.State.Runtime, len(path))
	}
	if bound := c.Audio.Bound(); bound > 30*time.Millisecond {
		c.warn("audio: on a card that does not give back what it has not played, %d x %s and a fade of %s take up to %s from a press to "+
			"silence, more than the 30 ms promised",
			c.Audio.kept(), c.Audio.Period, c.Audio.Fade, bound)
	}
	c.warnPorts()
	if len(c.Home) > 0 && (c.Room.Broker == "" || c.Room.Broker == "embedded") {
		c.warn("[home.%s]: cannot be switched or read: room.broker = %q is no broker of the house; name it, as in room.broker = \"mqtt://HOST:1883\"",
			c.Home[0].Name, c.Room.Broker)
	}
	if c.HomeAssistant.Discovery && c.HomeAssistant.Broker == "" && (c.Room.Broker == "" || c.Room.Broker == "embedded") {
		c.warn("homeassistant.discovery = true: Home Assistant does not see this device without a broker of the house; " +
			"set homeassistant.broker, as in \"mqtt://homeassistant.local:1883\"")
	}
	// The turn's deadline for the round after a tool runs while the tool does (TURNS.md 1).
	if c.Turn.Tool > c.Turn.Next {
		c.warn("turn.tool_s = %g is longer than turn.next_s = %g: a turn is given up after %s, whatever its tool still does; raise turn.next_s",
			c.Turn.Tool.Seconds(), c.Turn.Next.Seconds(), c.Turn.Next)
	}
}

// resolveLanguage takes the language of words and mouth from device.language, else from the user who types.
func (c *Config) resolveLanguage(env environment) {
	d := &c.Device
	switch all := d.Languages; {
	case len(all) > 0:
		d.Language, d.Mouth = language.English, all[0]
		if i := slices.IndexFunc(all, func(l string) bool { return language.Language(l).Known() }); i >= 0 {
			d.Language = language.Language(all[i])
		}
		if string(d.Language) != all[0] {
			c.warn("device.language = %q: conch has no words of its own in %s: what it says itself is %s; companions, transcription and voice use %[2]s",
				strings.Join(all, ","), language.InEnglish(all[0]), language.InEnglish(string(d.Language)))
		}
	case !c.service:
		d.Language, d.Mouth = language.FromEnvironment(env.Get)
		c.setOrigin("device.language", "default (LANG)")
	default: // systemd hands the system's LANG on to a service that no user sits at
		d.Language, d.Mouth = language.English, string(language.English)
		c.setOrigin("device.language", "default (LANG)")
	}
}

// warnPorts tells of two things that want the same port.
func (c *Config) warnPorts() {
	type port struct {
		key  string
		port int
	}
	all := []port{{"room.port", c.Room.Port}}
	if c.Room.Broker == "embedded" {
		_, text, _ := net.SplitHostPort(c.Room.Listen)
		n, _ := strconv.Atoi(text)
		all = append(all, port{"room.listen", n})
	}
	if c.Intercom.Enabled {
		all = append(all, port{"intercom.port", c.Intercom.Port})
	}
	if _, text, err := net.SplitHostPort(c.Web.Listen); err == nil {
		n, _ := strconv.Atoi(text)
		all = append(all, port{"web.listen", n})
	}
	for i, p := range all {
		for _, q := range all[:i] {
			if p.port == q.port && p.port != 0 {
				c.warn("%s and %s are both %d, and only one of them can have it; set one of them to another number", q.key, p.key, p.port)
			}
		}
	}
}

func (c *Config) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, "config: "+fmt.Sprintf(format, args...))
}

// ServiceState is the shipped unit's directory: who has no home at all may write there, or is told to set state.dir. Nothing below /tmp is
// taken instead: whoever was there first would own it.
const ServiceState = "/var/lib/conch"

// homeOfUser is the home directory that the system knows, for a program that was started without HOME.
func homeOfUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.HomeDir
}

// firstDir is the first that is set; systemd joins several directories of one kind with colons, which are no part of a path there.
func firstDir(dirs ...string) string {
	for _, d := range dirs {
		if first, _, _ := strings.Cut(d, string(filepath.ListSeparator)); first != "" {
			return first
		}
	}
	return ""
}

// under is below/name, or empty when there is no below. XDG: a path that is not absolute is to be ignored.
func under(below, name string) string {
	if !filepath.IsAbs(below) {
		return ""
	}
	return filepath.Join(below, name)
}

// hostLabel makes a device name of a host name: its first label, letters, digits and hyphens only.
func hostLabel(host string) string {
	host, _, _ = strings.Cut(host, ".")
	host = strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && nameChar(byte(r)) {
			return r
		}
		return '-'
	}, host), "-")
	if len(host) > maxName {
		host = host[:maxName]
	}
	if host == "" {
		return "conch"
	}
	return host
}
