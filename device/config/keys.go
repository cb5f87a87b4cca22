package config

import (
	"slices"
	"strings"

	"conch/companions/voice"
	"conch/companions/voice/kinds"
)

// The table of all keys: name, what it is, what is allowed and why, and the field behind it. The loader, the example file,
// the environment's names, conch check and the messages are all made from it.

const (
	maxDevice = 64   // bytes of a device's name, as the list of a room has it
	maxName   = 32   // bytes; fits a topic level, a host label and one line of a small display
	maxText   = 8192 // bytes of instructions
	maxLine   = 1024 // bytes of any other text (Linux: PATH_MAX is 4096, a URL of more than 1 kB is a mistake)
)

type key struct {
	name    string
	about   string   // one line for the example file
	allowed string   // "2 to 20", "auto, gpio, …"
	why     string   // in parentheses behind allowed when a value is refused; may be empty
	choices []string // values that can be named; of a few keys they are all there are
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
	all := slices.Concat(ownKeys(c), audioKeys(c), voiceKeys(c), roomKeys(c), systemKeys(c))
	shut := guards(c)
	for i := range all {
		all[i].guard = shut[all[i].name]
	}
	return all
}

func ownKeys(c *Config) []key {
	return []key{
		deviceName("device.name", &c.Device.Name, "who this device is in the room and in logs; empty: the host's name"),
		languages("device.language", &c.Device.Languages, &c.Device.Language, "language of what conch says and prints, of its companions, "+
			"its ear and its voice; two of one household with a comma between, as in de,en: the ear tells them apart, the voice follows the answer; "+
			"empty: that of the user who starts it (LANG; English for the service), and the ear detects"),
		board("device.board", &c.Device.Board, "board whose button, light and sound are set with this one word (conch gpio list --boards "+
			"names them); what is set below is stronger; empty: none"),
		hours("device.quiet", &c.Device.Quiet, "hours in which people sleep, as in 22:00-07:00: less light, less sound, and nothing is said of what is wrong; "+
			"what a person has set sounds all the same; empty: none"),
		nameList("device.companion", &c.Device.Companion, "companions that live here: of cards in room.cards, of "+
			"those that come with conch (Ada, Ben, Cleo), or a name of your own"),

		choice("button.source", &c.Button.Source,
			"where presses come from; auto: a pin where there is a GPIO chip, and the keyboard or lines on standard input; evdev: a key of a USB device",
			"auto", "gpio", "evdev", "keyboard", "lines", "none"),
		text("button.chip", &c.Button.Chip, "label of the GPIO chip, as in pinctrl-rp1 (numbers change with the kernel); empty: the one with the header"),
		pin("button.pin", &c.Button.Pin, "BCM number of the button's pin"),
		choice("button.active", &c.Button.Active, "level of the pin while pressed", "low", "high"),
		choice("button.bias", &c.Button.Bias, "resistor inside the chip; auto: the one against active; off: the board has its own", "auto", "up", "down",
			"off"),
		choice("button.mode", &c.Button.Mode, "hold: talk while it is down; tap: tap to start, tap to stop; hybrid: a press shorter than 400 ms is a tap",
			"hold", "tap", "hybrid"),
		boolean("button.again", &c.Button.Again, "in mode hold, a double press has the last answer said again, from memory"),
		millis("button.press_ms", &c.Button.Press, 5, 50, "clicks of the mains and static are 5 to 20 ms long, and a finger is not quicker than 50",
			"contact of the pin that is a press; the sound fades at its first edge, and goes on where it was if the contact was shorter"),
		text("button.device", &c.Button.Device,
			"of evdev: the device, by its name or a pattern of it, as conch gpio list shows it; empty: the first that has one of the keys"),
		keyNames("button.keys", &c.Button.Keys, "of evdev: keys that are the button, as Linux names them"),

		encoder("knob.encoder", &c.Knob.Encoder, "pins A and B of a rotary encoder that makes it louder and softer; the third one is ground; empty: none"),
		choice("knob.keys", &c.Knob.Keys, "volume keys of USB devices without letters; auto: where button.source is evdev, which gives the right to read keys",
			"auto", "on", "off"),
		integer("knob.step", &c.Knob.Step, 1, 20, "", "percent of a step of the encoder, and of a press of a key"),

		choice("light.driver", &c.Light.Driver, "how the light is driven; auto: as the board has it, none without a board", "auto", "none", "gpio", "rgb",
			"apa102", "apa102-gpio", "sysfs"),
		pinList("light.pins", &c.Light.Pins, "BCM numbers: of the LED (gpio), of red, green and blue (rgb), of data and clock (apa102-gpio)"),
		spiBus("light.spi", &c.Light.SPI, "SPI bus and chip select of a row of APA102"),
		text("light.sysfs", &c.Light.Sysfs, "pattern of names below /sys/class/leds"),
		integer("light.count", &c.Light.Count, 1, 64, "", "LEDs in a row"),
		boolean("light.invert", &c.Light.Invert, "lit when the pin is low"),
		integer("light.brightness", &c.Light.Brightness, 0, 100, "", "brightness in percent"),
		integer("light.quiet_brightness", &c.Light.QuietBrightness, 0, 100, "", "brightness in the hours of device.quiet in percent"),
	}
}

func audioKeys(c *Config) []key {
	return []key{
		choice("audio.backend", &c.Audio.Backend, "sound system; auto: pulse where a server answers, else alsa; null makes no sound", "auto", "alsa",
			"pulse", "null"),
		text("audio.playback", &c.Audio.Playback, "loudspeaker, as conch audio list names it; empty: choose"),
		text("audio.capture", &c.Audio.Capture, "microphone, as conch audio list names it; empty: choose"),
		millis("audio.period_ms", &c.Audio.Period, 2, 20, "a longer period cannot keep the 30 ms promise", "length of one callback"),
		orZero(&c.Audio.Periods, integer("audio.periods", &c.Audio.Periods, 2, 16, "one cannot be filled while it plays, more than 16 only delay",
			"periods the card holds; 0: 8 where it gives back what it has not played, so that they cost no silence, else 3: silence after "+
				"at most (periods + 1) x period + fade")),
		millis("audio.fade_ms", &c.Audio.Fade, 1, 5, "shorter clicks, longer is late", "fade of a sound that is dropped"),
		millis("audio.preroll_ms", &c.Audio.Preroll, 0, 1000, "", "sound sent from before the press; with 0 a question begins at its edge"),
		millis("audio.postroll_ms", &c.Audio.Postroll, 0, 500, "", "sound taken after the release"),
		integer("audio.volume", &c.Audio.Volume, 0, 100, "", "volume in percent"),
		integer("audio.night_volume", &c.Audio.NightVolume, 0, 100, "", "volume of everything, at most, as the hours of device.quiet begin, in percent"),
		boolean("audio.cues", &c.Audio.Cues, "short sounds for what happens; the ready cue sounds in any case"),
		integer("audio.cue_volume", &c.Audio.CueVolume, 0, 100, "", "volume of the cues in percent"),
	}
}

func voiceKeys(c *Config) []key {
	all := []key{
		choice("voice.kind", &c.Voice.Kind, "auto: realtime when there is a key or voice.url is set, else rehearsal (no key, no network)",
			append([]string{"auto"},
				kinds.Names()...)...),
		voiceServer("voice.url", &c.Voice.URL, "server of the voice: ws:// or wss:// speaks Realtime, http:// or https:// is asked what it speaks; set, it is "+
			"used, with a key or without"),
		required("voice.model", &c.Voice.Model, "model that answers"),
		text("voice.transcription", &c.Voice.Transcription, "model that writes down what was said; empty: nothing is written down"),
		knowing(kinds.Voices(), text("voice.name", &c.Voice.Name, "name of the voice at the provider")),
		long("voice.instructions", &c.Voice.Instructions, "who the companion is and how it speaks"),
		text("voice.key_file", &c.Voice.KeyFile,
			"file that holds the key and nothing else, mode 0600; also: systemd credential openai_api_key, environment OPENAI_API_KEY"),
		text("voice.hear_key_file", &c.Voice.HearKeyFile,
			"of a cascade: file that holds the key of the server of voice.hear and nothing else, mode 0600; also: systemd credential hear_key; "+
				"empty: the voice's key if it is the same host, else none"),
		text("voice.speak_key_file", &c.Voice.SpeakKeyFile,
			"of a cascade: the same of the server of voice.speak; also: systemd credential speak_key"),
		text("voice.ca_file", &c.Voice.CAFile, "certificates that the server's must come from, for a server of your own; empty: the system's"),
		boolean("voice.remember", &c.Voice.Remember,
			"keep the last of the conversation in the state directory, so that a restart does not forget it; false: nothing is kept, and what was is deleted"),
		integer("voice.ceiling_tokens", &c.Voice.Ceiling, 0, 1_000_000_000, "", "no new answers after so many tokens in a day; 0: no ceiling"),
		price("voice.ceiling_cost", &c.Voice.CeilingCost,
			"no new answers after so much was spent in a day, in the currency of the prices below, which for models of OpenAI is US dollars; 0: no ceiling"),
		price("voice.price_in", &c.Voice.PriceIn, "price of a million tokens sent, of text and of sound, where no key below has one; "+
			"0: that of OpenAI's list, in US dollars, if it has the model; "+
			"tokens that the server has cached cost the part of it that they cost by the list, else all of it"),
		price("voice.price_out", &c.Voice.PriceOut, "price of a million tokens received, likewise"),
		price("voice.price_text_in", &c.Voice.Prices.TextIn, "price of a million tokens of text sent; 0: price_in"),
		price("voice.price_text_cached", &c.Voice.Prices.TextCached, "price of a million tokens of text that the server has cached; 0: as with price_in"),
		price("voice.price_text_out", &c.Voice.Prices.TextOut, "price of a million tokens of text received; 0: price_out"),
		price("voice.price_audio_in", &c.Voice.Prices.AudioIn, "price of a million tokens of sound sent; 0: price_in"),
		price("voice.price_audio_cached", &c.Voice.Prices.AudioCached, "price of a million tokens of sound that the server has cached; 0: as with price_in"),
		price("voice.price_audio_out", &c.Voice.Prices.AudioOut, "price of a million tokens of sound received; 0: price_out"),
		price("voice.price_hear", &c.Voice.Prices.TranscriptionMinute,
			"price of a minute that a server writes down, where it is sold by the minute; 0: that of the list, else nothing"),
		price("voice.price_speak", &c.Voice.Prices.SpokenLetters,
			"of a cascade: price of a million letters that a server speaks; 0: that of the list, else nothing"),

		seconds("turn.listen_s", &c.Turn.Listen, 5, 600, "longest speech in one press; then it is sent as if released"),
		seconds("turn.commit_s", &c.Turn.Commit, 1, 120, "longest wait for the beginning of an answer"),
		seconds("turn.response_s", &c.Turn.Response, 1, 120, "longest pause inside an answer"),
		seconds("turn.next_s", &c.Turn.Next, 1, 120, "longest wait for the answer after a tool"),
		seconds("turn.tool_s", &c.Turn.Tool, 1, 120, "longest time for one tool"),
		millis("turn.thinking_ms", &c.Turn.Thinking, 100, 5000, "", "wait after which the thinking cue begins"),
		seconds("turn.reconnect_s", &c.Turn.Reconnect, 0, 60, "how long an utterance is kept while the link is down"),
	}
	at := 1 + slices.IndexFunc(all, func(k key) bool { return k.name == "voice.instructions" })
	for _, v := range kinds.All {
		for _, k := range v.Keys {
			all = slices.Insert(all, at, voiceKey(c.Voice.Own, k))
			at++
		}
	}
	return all
}

// voiceKey is a key of a kind of voice.
func voiceKey(own map[string]string, of voice.Key) key {
	value, name := own[of.Name], "voice."+of.Name
	k := ported(text(name, &value, of.About))
	if of.Allowed != nil {
		k = choice(name, &value, of.About, of.Allowed...)
	}
	set := k.set
	k.set = func(v any) error {
		err := set(v)
		own[of.Name] = value
		return err
	}
	return k
}

func roomKeys(c *Config) []key {
	return []key{
		broker("room.broker", &c.Room.Broker,
			"how devices reach each other; empty: this one stays alone; embedded: a broker in this process; "+
				"else the URL of one, or of several nodes of one cluster"),
		label("room.name", &c.Room.Name, "devices of the same room hear each other"),
		address("room.listen", &c.Room.Listen, "address of the embedded broker, HOST:PORT; others reach it only where that is not 127.0.0.1, and unencrypted"),
		memberIDs("room.members", &c.Room.Members,
			"ids of the devices that belong to the room (conch room id prints a device's own); anybody else is ignored"),
		text("room.user", &c.Room.User, "user at the broker"),
		text("room.password_file", &c.Room.PasswordFile, "file that holds the password and nothing else, mode 0600"),
		text("room.ca_file", &c.Room.CAFile, "certificates that the broker's must come from; empty: the system's"),
		text("room.cert_file", &c.Room.CertFile, "certificate to show to the broker"),
		text("room.key_file", &c.Room.KeyFile, "key of that certificate, mode 0600"),
		integer("room.port", &c.Room.Port, 0, 65535, "",
			"port for devices that pair, and afterwards for the encrypted room, if this device keeps it; 0: any free one"),
		boolean("room.pairing", &c.Room.Pairing, "the button pairs: held for five seconds without a word; false: only conch room pair and join do"),
		choice("room.discovery", &c.Room.Discovery,
			"how devices find each other on the network; auto: avahi where it runs, else by own answers; off: by address only", "auto", "avahi", "own", "off"),
		directory("room.cards", &c.Room.Cards, "companions' cards, one file each; empty: companions/ beside this file"),
		directory("room.words", &c.Room.Words,
			"own words by which the room's rules understand what is said, a file a language; empty: words/ beside this file"),
		people("room.people", &c.Room.People, "names of people at home: who is called by one is no companion, and the transcription expects it; "+
			"\"NAME: DEVICE\" says as well who usually speaks at a device"),
		choice("room.people_learn", &c.Room.PeopleLearn, "a name that somebody says here (\"I am Max\"); ask: kept once that person has said yes to being "+
			"asked (conch room people lists them); off: not", "ask", "off"),
		choice("room.involvement", &c.Room.Involvement,
			"how much the companions of this device join in, whatever their cards say; off: only when asked by name", "off", "low", "medium", "high"),
		integer("room.threshold", &c.Room.Threshold, 1, 9, "", "initiative score from which a companion of this device speaks up"),
		millis("room.pause_ms", &c.Room.Pause, 0, 2000, "", "pause between two turns"),
		seconds("room.silence_s", &c.Room.Silence, 2, 600, "silence after an unanswered message in which one companion may step in"),
		integer("room.chain", &c.Room.Chain, 1, 50, "", "companion turns without a person between them"),
		integer("room.handoffs", &c.Room.Handoffs, 0, 50, "", "hand-offs from companion to companion in a row that are followed"),
		integer("room.extras", &c.Room.Extras, 0, 2, "", "additions to an answer by others"),
		integer("room.share_percent", &c.Room.Share, 20, 100, "", "share of the last ten companion turns from which one holds back, unless addressed"),
		integer("room.repetition_percent", &c.Room.Repetition, 30, 100, "", "likeness to something just said at which a turn is a repetition"),
		integer("room.memory", &c.Room.Memory, 5, 50, "", "messages that are remembered"),
		choice("room.votes", &c.Room.Votes, "who says whether it is worth to speak: rules; auto: a chat model where the rules are not certain; "+
			"model: always. What is said in the room goes to its server then, but for whispers", "rules", "auto", "model"),
		integer("room.calls", &c.Room.Calls, 1, 20, "", "calls of that model that this device makes for one message of a person; then rules"),
		chatServer("room.vote_url", &c.Room.VoteURL, "its server, compatible with OpenAI's; empty: the voice's own"),
		text("room.vote_model", &c.Room.VoteModel, "the model; empty: a small one of OpenAI's"),
		millis("room.vote_budget_ms", &c.Room.VoteBudget, 50, 900, "a round is decided within a second", "time a refined vote may take"),
		text("room.vote_key_file", &c.Room.VoteKeyFile,
			"file that holds its key and nothing else, mode 0600; empty: the voice's key if it is the same host, else none"),
	}
}

func systemKeys(c *Config) []key {
	return []key{
		boolean("intercom.enabled", &c.Intercom.Enabled, "people can call another device of the room and be called by it"),
		integer("intercom.port", &c.Intercom.Port, 1024, 65535, "ports below that belong to the system",
			"that a caller opens, TCP and UDP, for the device that it calls and as long as the call lasts; where it is taken, any"),

		maybeAddress("web.listen", &c.Web.Listen, "where the page is, HOST:PORT; whoever may use conch on this machine may open it on 127.0.0.1, anybody else "+
			"needs a link (conch web link); the default gives way where its port is taken; empty: there is no page"),
		boolean("web.talk", &c.Web.Talk, "a page may be a microphone, a loudspeaker and a button of this device; where it is not set, a page on "+
			"127.0.0.1 may as long as there is no sound card"),
		text("web.cert", &c.Web.Cert, "certificate of the page, PEM, with those that it comes from; over a network, a page without one is only looked at"),
		text("web.key", &c.Web.Key, "key of that certificate, mode 0600"),
		boolean("web.authority", &c.Web.Authority, "without a certificate of your own: this device makes one, from an authority that may speak for this "+
			"device alone, and that browsers have to be told to trust (the page offers it)"),

		boolean("homeassistant.discovery", &c.HomeAssistant.Discovery, "Home Assistant finds this device, by MQTT discovery"),
		foreignBroker("homeassistant.broker", &c.HomeAssistant.Broker, "broker of Home Assistant, mqtt:// or mqtts://; empty: room.broker, where that "+
			"is a broker of the house"),
		text("homeassistant.user", &c.HomeAssistant.User, "user at that broker"),
		text("homeassistant.password_file", &c.HomeAssistant.PasswordFile, "file that holds the password and nothing else, mode 0600"),
		text("homeassistant.ca_file", &c.HomeAssistant.CAFile, "certificates that the broker's must come from; empty: the system's"),
		label("homeassistant.prefix", &c.HomeAssistant.Prefix, "first level of the topics of discovery, as Home Assistant is told"),
		boolean("homeassistant.may_listen", &c.HomeAssistant.MayListen, "what comes from there may open the microphone: begin a question, lift a mute"),

		directory("library.folder", &c.Library.Folder, "sound that companions play when they are asked to, as MP3, FLAC, Ogg Vorbis, "+
			"Ogg Opus or WAV files; empty: library/ in state.dir"),
		stations("radio.stations", &c.Radio.Stations, "radio stations that companions play when they are asked to: streams of MP3, Ogg Vorbis or Ogg Opus, or "+
			"M3U and PLS lists of them"),
		widenings("tools.allow", &c.Tools.Allow, "tools that may be called beyond the table of causes. room: whoever speaks at any device of the room can "+
			"cause it; result: so can the text that a tool returns, a title or a web page; companion: so can what another companion says"),

		directory("state.dir", &c.State.Dir, "what survives a restart; empty: STATE_DIRECTORY (systemd), "+
			"else XDG_STATE_HOME/conch, else below the home directory"),
		directory("state.runtime", &c.State.Runtime, "control socket; empty: RUNTIME_DIRECTORY (systemd), else XDG_RUNTIME_DIR/conch, else state.dir"),

		choice("log.level", &c.Log.Level, "least level written to standard error", "debug", "info", "warn", "error"),
		choice("log.format", &c.Log.Format, "json for machines", "text", "json"),
	}
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
	private := &guard{"the page is on this machine alone", func() {
		if c.Web.Listen != "" {
			c.Web.Listen = DefaultWebListen
		}
	}}
	unseen := &guard{"Home Assistant does not see this device", func() { c.HomeAssistant.Discovery = false }}
	ruled := &guard{"the rules alone vote", func() { c.Room.Votes = "rules" }}
	return map[string]*guard{
		"audio.preroll_ms":    {"nothing is sent from before the press", func() { c.Audio.Preroll = 0 }},
		"voice.kind":          offline,
		"voice.url":           offline,
		"voice.transcription": {"nothing is written down", func() { c.Voice.Transcription = "" }},
		"voice.key_file":      offline,
		"voice.ca_file":       offline,
		"voice.ceiling_cost":  thrifty,
		"voice.price_in":      priced,
		"voice.price_out":     priced,
		"voice.price_hear":    priced,

		"voice.price_text_in":      priced,
		"voice.price_text_cached":  priced,
		"voice.price_text_out":     priced,
		"voice.price_audio_in":     priced,
		"voice.price_audio_cached": priced,
		"voice.price_audio_out":    priced,

		"voice.price_speak":    priced,
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
		"room.people_learn":    {"no name that is said is kept", func() { c.Room.PeopleLearn = "off" }},
		"room.memory":          {"as little as can be is remembered", func() { c.Room.Memory = 5 }},
		"room.votes":           ruled,
		"room.calls":           {"one call for a message", func() { c.Room.Calls = 1 }},
		"room.vote_url":        ruled,
		"room.vote_key_file":   ruled,
		"web.listen":           {"there is no page", func() { c.Web.Listen = "" }},
		"web.talk":             {"no page can talk", func() { c.Web.Talk = false }},
		"web.cert":             private,
		"web.key":              private,
		"web.authority":        private,

		"homeassistant.discovery":     unseen,
		"homeassistant.broker":        unseen,
		"homeassistant.user":          unseen,
		"homeassistant.password_file": unseen,
		"homeassistant.ca_file":       unseen,
		"homeassistant.prefix":        unseen,
		"homeassistant.may_listen":    {"Home Assistant cannot open the microphone", func() { c.HomeAssistant.MayListen = false }},
		"state.dir": {"the microphone is off where it is not known that it is to be on (conch mute off, or hold the button for five seconds)",
			func() { c.State.Dir, c.StateUnsure = "", true }},
	}
}

// environmentName is the variable that sets a key: audio.period_ms is CONCH_AUDIO_PERIOD_MS.
func environmentName(key string) string {
	return "CONCH_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
