// Package doctor looks at everything a press and its answer need, each thing on its own, and says what is wrong, why, and
// what to do about it. It changes nothing, starts no turn, needs no root, and says what only root can see.
//
//	conch doctor ─> Examine ─> Subject (what is configured, what the running appliance says)
//	                           Machine (files below a root, commands, connections, GPIO chips) ──> Checks ─> Findings ─> report
//
// Every Check is a function of Machine and Subject; all run at once, each in a goroutine of its own and within its limit, so
// that a device that hangs costs a line and not the report. What is costly (the server, systemd, the chips, the running
// appliance) is asked once. A finding of level warn or bad has a cause and a remedy, and no finding has a secret: the last
// look at every sentence is hider's.
//
// Checks are these; in brackets the names that findings have besides the check's own:
//
//	group    check        what is looked at
//	machine  system       board, processor, kernel and glibc are new enough
//	machine  power        under-voltage and throttling, now and since boot (get_throttled)
//	machine  temperature  below 80 °C
//	machine  memory       memory left, swap, programs ended for lack of it
//	machine  disk         state directory: space, inodes, read-only, rights
//	machine  library      the household's own sound: the service may read it, and conch plays it
//	machine  card-errors  errors of the SD card and its file system
//	machine  clock        set, and kept right by something
//	machine  priority     the audio thread may be real-time
//	service  config       the configuration is taken, without warnings, and the service may read it
//	service  service      systemd's unit: loaded, enabled, active, restarts, last exit, watchdog [restarts, watchdog, reload]
//	service  groups       the service's user is in the groups of the devices that are there
//	service  running      the appliance answers; every condition it knows [muted, condition ...]
//	service  page         where the page would listen is free, its certificate and key fit and have not ended, or its authority
//	service  mcp          servers of the Model Context Protocol: state, tools, how quickly they answer
//	button   gpio         the header's GPIO chip is there, and may be opened
//	button   board        the HAT that is plugged in is the one that is configured
//	button   button       the pin is not the sound board's, not the light's, and nobody else has it
//	button   light        its pins are free, its device is there and may be opened
//	button   knob         the encoder's pins are free or held by conch; devices with volume keys
//	button   buses        I2C and SPI, where the board needs them
//	sound    sound        a card is there (or which overlay is missing), plays, records, may be opened [overlay, microphone]
//	sound    holder       nobody else has the card open
//	sound    buffer       format and buffer granted, and the time to silence that they allow [microphone]
//	sound    levels       no level of the card's own mixer is at zero, and none is muted
//	sound    gaps         how often sound ran dry in the running appliance
//	sound    silence      the last conch bench silence, and its age
//	network  network      there is a way out
//	network  wifi         power save is off, the signal is strong enough
//	voice    voice        name, connection, certificate, clock against the server's, key, model and when it ends, a session; each stage of a chain, and its delay [dns, server, tls, skew, key, model, session, speaks, hear, chat, speak]
//	voice    usage        today's ceilings
//	voice    programs     what the rehearsal voice hears and speaks with
//	room     cards        the companions' cards
//	room     room         identity, pairing, its certificate and port, broker and password, who is here, packets ignored, the server that refines votes [identity, paired, certificate, host, port, discovery, members, broker, votes]
//	room     intercom     it is on, and the port that a call opens is free, which means that nothing listens there
//
// Sources: what is looked at is APPLIANCE.md 5; why, gpio/FACTS.md 11 (what owners of such boxes suffer from) and 2 (boards),
// audio/FACTS.md 2, 4 and 5 (cards). What is looked at of a voice is its kind's own (VOICES.md 1).
package doctor
