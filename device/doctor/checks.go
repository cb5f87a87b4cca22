package doctor

// Checks are those of this package, in the order of a report. The table in the package comment is made from them, by test.
func Checks() []Check {
	return []Check{
		{Name: "system", Group: Box, About: "board, processor, kernel and glibc are new enough", Look: checkSystem},
		{Name: "power", Group: Box, About: "under-voltage and throttling, now and since boot (get_throttled)", Look: checkPower},
		{Name: "temperature", Group: Box, About: "below 80 °C", Look: checkHeat},
		{Name: "memory", Group: Box, About: "memory left, swap, programs ended for lack of it", Look: checkMemory},
		{Name: "disk", Group: Box, About: "state directory: space, inodes, read-only, rights", Look: checkDisk},
		{Name: "library", Group: Box, About: "the household's own sound: the service may read it, and conch plays it", Look: checkLibrary},
		{Name: "card-errors", Group: Box, About: "errors of the SD card and its file system", Look: checkCardErrors},
		{Name: "clock", Group: Box, About: "set, and kept right by something", Look: checkClock},
		{Name: "priority", Group: Box, About: "the audio thread may be real-time", Look: checkPriority},

		{Name: "config", Group: Service, About: "the configuration is taken, without warnings, and the service may read it", Look: checkConfig},
		{Name: "service", Also: []string{"restarts", "watchdog", "reload"}, Group: Service,
			About: "systemd's unit: loaded, enabled, active, restarts, last exit, watchdog", Look: checkUnit},
		{Name: "groups", Group: Service, About: "the service's user is in the groups of the devices that are there", Look: checkGroups},
		{Name: "running", Also: []string{"muted", "condition ..."}, Group: Service, About: "the appliance answers; every condition it knows",
			Look: checkRunning},

		{Name: "page", Group: Service, About: "where the page would listen is free, its certificate and key fit and have not ended, or its authority",
			Look: checkPage},
		{Name: "mcp", Group: Service, About: "servers of the Model Context Protocol: state, tools, how quickly they answer",
			Look: checkServers},

		{Name: "gpio", Group: Button, About: "the header's GPIO chip is there, and may be opened", Look: checkGPIO},
		{Name: "board", Group: Button, About: "the HAT that is plugged in is the one that is configured", Look: checkBoard},
		{Name: "button", Group: Button, About: "the pin is not the sound board's, not the light's, and nobody else has it", Look: checkPin},
		{Name: "light", Group: Button, About: "its pins are free, its device is there and may be opened", Look: checkLight},
		{Name: "knob", Group: Button, About: "the encoder's pins are free or held by conch; devices with volume keys", Look: checkKnob},
		{Name: "buses", Group: Button, About: "I2C and SPI, where the board needs them", Look: checkBuses},

		{Name: "sound", Also: []string{"overlay", "microphone"}, Group: Sound,
			About: "a card is there (or which overlay is missing), plays, records, may be opened", Look: checkCard},
		{Name: "holder", Group: Sound, About: "nobody else has the card open", Look: checkHolder},
		{Name: "buffer", Also: []string{"microphone"}, Group: Sound, About: "format and buffer granted, and the time to silence that they allow",
			Limit: soundLimit, Look: checkBuffer},
		{Name: "levels", Group: Sound, About: "no level of the card's own mixer is at zero, and none is muted", Look: checkLevels},
		{Name: "gaps", Group: Sound, About: "how often sound ran dry in the running appliance", Look: checkUnderruns},
		{Name: "silence", Group: Sound, About: "the last conch bench silence, and its age", Look: checkSilence},

		{Name: "network", Group: Network, About: "there is a way out", Look: checkNetwork},
		{Name: "wifi", Group: Network, About: "power save is off, the signal is strong enough", Look: checkWiFi},

		{Name: "voice", Also: []string{"dns", "server", "tls", "skew", "key", "model", "session", "speaks", "hear", "chat", "speak"}, Group: Voice,
			About: "name, connection, certificate, clock against the server's, key, model and when it ends, a session; each stage of a chain, " +
				"and its delay",
			Limit: whole - grace, Look: checkVoice},
		{Name: "usage", Group: Voice, About: "today's ceilings", Look: checkUsage},
		{Name: "programs", Group: Voice, About: "what the rehearsal voice hears and speaks with", Look: checkPrograms},

		{Name: "cards", Group: Room, About: "the companions' cards", Look: configured(checkCards)},
		{Name: "room", Also: []string{"identity", "paired", "certificate", "host", "port", "discovery", "members", "broker", "votes"}, Group: Room,
			Limit: 3 * networkWait,
			About: "identity, pairing, its certificate and port, broker and password, who is here, packets ignored, the server that refines votes",
			Look:  configured(checkRoom)},
		{Name: "intercom", Group: Room, About: "it is on, and the port that a call opens is free, which means that nothing listens there", Look: checkIntercom},
	}
}
