package main

// example is a line that a person may type, and what it does. A test parses each and runs those that do no harm.
type example struct{ line, about string }

// examples are shown below the help of a command and on the man page, by the command's whole name.
var examples = map[string][]example{
	"conch": {
		{"conch run", "talk to it: the space bar is the button, Ctrl-C ends it"},
		{"conch status", "how is it?"},
		{"conch doctor", "why is it silent, and what helps?"},
		{"conch usage", "what did it cost today?"},
		{"sudo conch setup voice", "somebody else answers; so with pin, sound, board, votes and language"},
		{"conch room pair", "lets another device in; conch room join, on that one"},
		{"conch check --set voice.name=cedar", "another voice: would that be right? It is name in [voice] of the configuration file"},
		{"conch check --set device.companion=Ada,Ben", "one companion more: companion in [device]; sudo systemctl restart conch takes it"},
		{"conch help volume", "how a command is used"},
	},
	"conch run": {
		{"conch run", "the appliance, on this machine"},
		{"conch run --set audio.backend=null", "without a sound"},
		{"echo ask what time is it | conch run", "without a terminal: lines on standard input, press, release and ask TEXT"},
	},
	"conch status": {
		{"conch status", "on one screen"},
		{"conch status --json", "for programs"},
	},
	"conch ask": {
		{"conch ask what time is it", "waits for the answer, and prints it"},
		{"conch ask --to Ada tell me a story", "one companion of several"},
	},
	"conch say": {
		{"conch say dinner is ready", "says it when it is quiet"},
		{"conch say --priority preempt --ttl 10s the house is on fire", "at once, even in a call"},
	},
	"conch hush":   {{"conch hush", "silence"}},
	"conch volume": {{"conch volume", "how loud is it, and who says so?"}, {"conch volume 40", "40 of 100"}, {"conch volume -10", "less"}},
	"conch mute": {
		{"conch mute on", "closes the microphone, across restarts"},
		{"conch mute off", "opens it again"},
		{"conch mute", "which of the two?"},
	},
	"conch why": {
		{"conch why", "why somebody spoke last, in a sentence or two"},
		{"conch why --all", "what the appliance saw and did"},
	},
	"conch usage": {
		{"conch usage", "today's answers, tokens and cost"},
		{"conch usage reset", "lifts a limit that was reached"},
	},
	"conch usage show":        {{"conch usage show --json", "for programs"}},
	"conch usage reset":       {{"conch usage reset", "the day counts from zero"}},
	"conch web":               {{"conch web link", "opens the page in one more browser"}, {"conch web sessions", "which browsers were let in?"}},
	"conch web link":          {{"conch web link", "a picture for a telephone's camera"}, {"conch web link --look", "to be shown to a guest"}},
	"conch web sessions":      {{"conch web sessions", "who was let in, and when"}},
	"conch web sessions list": {{"conch web sessions list --json", "for programs"}},
	"conch web sessions revoke": {
		{"conch web sessions revoke k3xq7a2b", "that browser needs a new link"},
		{"conch web sessions revoke --all", "every browser does"},
	},
	"conch help": {{"conch help", "all commands"}, {"conch help room pair", "one of them"}},
	"conch setup": {
		{"sudo conch setup", "asks what is not in place yet"},
		{"sudo conch setup pin", "only the button, by pressing it"},
		{"sudo conch setup --yes --board whisplay --key-file key.txt", "asks nobody"},
		{"conch setup --json", "for programs: what it would ask, and writes nothing"},
	},
	"conch audio pick": {
		{"sudo conch audio pick", "a beep and an echo, until you have heard both"},
	},
	"conch notes": {
		{"conch notes", "what companions were told to remember"},
		{"conch notes --forget ada/3", "one of it, for good"},
	},
	"conch key": {
		{"sudo conch key", "asks for the key"},
		{"sudo conch key --remove", "back to the rehearsal voice"},
	},
	"conch check": {
		{"conch check", "every value, and where it comes from"},
		{"conch check --set button.pin=27", "would that be right?"},
	},
	"conch doctor": {
		{"conch doctor", "what is wrong, why, and what to do"},
		{"conch doctor --anonymous", "to be shown to others"},
	},
	"conch report": {
		{"conch report", "a file here, with the time in its name"},
		{"conch report --out - --words", "on the screen, with what was said"},
	},
	"conch logs": {
		{"conch logs", "the last hundred lines"},
		{"conch logs -f", "and what comes from now on"},
	},
	"conch audio": {{"conch audio list", "which loudspeakers and microphones are there?"}},
	"conch audio list": {
		{"conch audio list", "names for audio.playback and audio.capture"},
	},
	"conch audio test": {{"conch audio test", "is it heard, and does it hear?"}},
	"conch gpio":       {{"conch gpio learn", "which pin is my button on?"}},
	"conch gpio list": {
		{"conch gpio list", "what is on the pins of this machine"},
		{"conch gpio list --boards", "the boards that can be named in device.board"},
	},
	"conch gpio learn":      {{"sudo conch gpio learn", "press the button when it says so"}, {"conch gpio learn --print", "only shows the setting"}},
	"conch light":           {{"conch light show speaking", "does the light work?"}},
	"conch light list":      {{"conch light list", "what each look means"}},
	"conch light show":      {{"conch light show muted", "for three seconds"}, {"conch light show all --seconds 1", "one after the other"}},
	"conch room":            {{"conch room list", "who is here?"}, {"conch room pair", "let another device in"}},
	"conch room list":       {{"conch room list", "devices and companions"}, {"conch room list --json", "for programs"}},
	"conch room pair":       {{"conch room pair", "shows a code that the other device is told"}},
	"conch room join":       {{"conch room join 123456", "the code that the other device shows"}, {"conch room join", "listens for it"}},
	"conch room remove":     {{"conch room remove hall", "asks before it does"}, {"conch room remove hall --yes", "in a script"}},
	"conch room rename":     {{"conch room rename hall \"living room\"", "at once, for everybody"}},
	"conch room keep":       {{"conch room keep", "when the device that kept the room is gone for good"}},
	"conch room leave":      {{"conch room leave", "asks before it does"}},
	"conch room watch":      {{"conch room watch", "each round as it happens, until Ctrl-C"}},
	"conch room control":    {{"conch room control low", "the whole room holds back"}, {"conch room control --companion Ben --mute", "Ben stays silent"}},
	"conch room people":     {{"conch room people", "whose names are known here"}, {"conch room people --forget Max", "not any more"}},
	"conch room replay":     {{"conch room replay /var/lib/conch", "the ledger of the service"}},
	"conch room acl":        {{"conch room acl", "for a Mosquitto of one's own"}},
	"conch room id":         {{"conch room id", "for room.members of the others"}},
	"conch rehearse":        {{"conch rehearse", "a room of three; type questions"}, {"conch rehearse --script room.txt --json", "a script"}},
	"conch bench":           {{"conch bench silence", "from a press to silence, on this machine"}},
	"conch bench silence":   {{"conch bench silence", "20 presses in each state"}, {"conch bench silence --virtual -n 1", "without a card"}},
	"conch bench voice":     {{"conch bench voice", "five questions to the voice that is configured"}},
	"conch bench footprint": {{"conch bench footprint --idle 2s --talk 2s", "memory and processor time, quickly"}},
	"conch version":         {{"conch version", "the same as conch --version"}},
}
