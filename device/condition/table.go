package condition

import (
	"strings"
	"time"
)

// Code names a condition, in the log, on the socket, in metrics and in doctor: what it is of, a dot, what is wrong with it.
type Code string

// Of is the code of the same for one companion, or device, of several.
func (c Code) Of(companion string) Code { return c + Code("."+companion) }

// All that there are.
const (
	BoardMisfit     Code = "board.misfit"     // more than one board is named
	ButtonLost      Code = "button.lost"      // it cannot be opened, or went away
	ButtonMisfit    Code = "button.misfit"    // its pin is somebody else's
	ButtonStuck     Code = "button.stuck"     // longer down than anybody speaks
	ClockWrong      Code = "clock.wrong"      // before this program was written, or no certificate is valid yet
	ConfigRefused   Code = "config.refused"   // a setting is not allowed
	ControlClosed   Code = "control.closed"   // no socket for the other commands
	HomeAway        Code = "home.away"        // what [home] lists cannot be reached as this device is set up
	HomeUnseen      Code = "home.unseen"      // Home Assistant's broker cannot be reached, or does not take this device
	KeyBroken       Code = "key.broken"       // there is a key, and it cannot be used: no pretending
	KeyMissing      Code = "key.missing"      // there is none: a rehearsal voice answers
	KnobMisfit      Code = "knob.misfit"      // its pins are somebody else's
	LightLost       Code = "light.lost"       // it cannot be opened, or went away
	LightMisfit     Code = "light.misfit"     // its pins are somebody else's
	NetworkLost     Code = "network.lost"     // no interface has an address
	PartDown        Code = "part"             // a part of the device has failed; of it
	RoomApart       Code = "room.apart"       // devices that were there are not, since another of the broker's addresses is used
	RoomBroker      Code = "room.broker"      // none: this device, or the room, works alone
	RoomCard        Code = "room.card"        // a companion's card cannot be read
	RoomCertificate Code = "room.certificate" // two devices of a room do not believe each other's
	RoomCut         Code = "room.cut"         // no connection to the room
	RoomDamaged     Code = "room.damaged"     // what a paired room is written down in cannot be read
	RoomDiscovery   Code = "room.discovery"   // this device cannot be found on the network
	RoomFlooded     Code = "room.flooded"     // a member says more than one may; of it
	RoomExcess      Code = "room.excess"      // a member asks for more than a device does
	RoomGuessed     Code = "room.guessed"     // somebody has closed windows by wrong codes
	RoomIdentity    Code = "room.identity"    // the file of it cannot be read
	RoomKeptOut     Code = "room.kept_out"    // a member cost the others too much; of it
	RoomKeepers     Code = "room.keepers"     // another device says that it keeps the room
	RoomLedger      Code = "room.ledger"      // it cannot be written
	RoomMembers     Code = "room.members"     // the list of them cannot be written
	RoomMemory      Code = "room.memory"      // it cannot be written
	RoomOutdated    Code = "room.outdated"    // a member runs an older version, which cannot do what it was asked for
	RoomPeople      Code = "room.people"      // a person is called as a companion is
	RoomPort        Code = "room.port"        // the room is kept at another port than it should be
	RoomPresses     Code = "room.presses"     // a device of the room presses without end
	RoomTaken       Code = "room.taken"       // a device of the room takes the floor from companions that were called
	RoomTurned      Code = "room.turned"      // a device of the room turns its manners without end
	RoomRenamed     Code = "room.renamed"     // two companions have the same name
	RoomStuck       Code = "room.stuck"       // this device is out of its room, but not on disk
	RoomVoteKey     Code = "room.vote_key"    // the key of the chat server that refines votes
	SkillDown       Code = "skill"            // the work of a skill has failed; of it
	SkillsUnread    Code = "skills.unreadable"
	SkillsUnwritten Code = "skills.unwritable"
	SoundFlat       Code = "sound.flat"       // while the button was held, the microphone gave the same value all the time
	SoundMicrophone Code = "sound.microphone" // there is none
	SoundSlow       Code = "sound.slow"       // the loudspeaker falls silent late
	SoundSpeaker    Code = "sound.speaker"    // there is none
	StateUnreadable Code = "state.unreadable"
	StateUnwritable Code = "state.unwritable"
	WebClosed       Code = "web.closed"          // the page cannot be reached as it was wished
	VoiceBent       Code = "voice.bent"          // the server refused a part of the session, which does without
	VoiceCeiling    Code = "voice.ceiling"       // the household's own limit
	VoiceLost       Code = "voice.lost"          // no session with a server
	VoiceUncounted  Code = "voice.uncounted"     // there is a ceiling, and the server counts no tokens
	VoiceUnpriced   Code = "voice.unpriced"      // there is a ceiling in money, and a model has no price
	VoiceUnheard    Code = "voice.transcription" // the server does not write down what it hears
)

// Severity is what a condition does to the appliance, and so what its light shows.
type Severity uint8

// Severities.
const (
	Note    Severity = iota // it works nevertheless; the light tells nothing
	Offline                 // what answers is elsewhere, and cannot be reached
	Trouble
)

// entry is a row of the table.
type entry struct {
	code     Code // with a trailing dot: of all that begin so and have no row of their own
	severity Severity
	clip     string        // how it is said: the name of a clip of audio/words; empty: it is not
	after    time.Duration // it must last so long before it is said
	covered  []Code        // those that explain it: while one holds, this is not said
}

// table: the first that hold are said first: a person who hears one thing should hear the cause. A loudspeaker that is gone is
// said by nobody. What has no row is Trouble, and not said.
var table = []entry{
	{code: SoundMicrophone, severity: Trouble, clip: "no_microphone", after: 10 * time.Second},
	{code: ButtonLost, severity: Trouble, clip: "button_lost", after: 5 * time.Second},
	{code: ConfigRefused, severity: Trouble, clip: "setting_wrong", after: 2 * time.Second},
	{code: ButtonMisfit, severity: Trouble, clip: "setting_wrong", after: 2 * time.Second},
	{code: BoardMisfit, severity: Trouble, clip: "setting_wrong", after: 2 * time.Second},
	{code: KnobMisfit, severity: Trouble, clip: "setting_wrong", after: 2 * time.Second},
	{code: KeyBroken, severity: Trouble, clip: "key_broken", after: 2 * time.Second},
	{code: KeyMissing, severity: Note, clip: "no_key", after: 2 * time.Second},          // a box without a key answers
	{code: ClockWrong, severity: Offline, clip: "clock_wrong", after: 30 * time.Second}, // a network brings the time soon after it comes
	{code: NetworkLost, severity: Offline, clip: "network_lost", after: 30 * time.Second},
	{code: VoiceLost, severity: Offline, clip: "offline", after: time.Minute, covered: []Code{NetworkLost, ClockWrong, KeyBroken}},
	{code: StateUnwritable, severity: Trouble, clip: "disk_full", after: 2 * time.Second}, // a full disk, or one that can only be read
	{code: SkillsUnwritten, severity: Trouble, clip: "disk_full", after: 2 * time.Second, covered: []Code{StateUnwritable}},
	{code: RoomMemory, severity: Trouble, clip: "disk_full", after: 2 * time.Second},
	{code: RoomLedger, severity: Trouble, clip: "disk_full", after: 2 * time.Second},
	{code: SkillDown + ".", severity: Trouble, clip: "part_failed", after: 5 * time.Second},
	{code: PartDown + ".", severity: Trouble, clip: "part_failed", after: 5 * time.Second},
	{code: LightLost, severity: Note, clip: "light_lost", after: 5 * time.Second}, // the light does not tell of itself
	{code: LightMisfit, severity: Trouble, clip: "light_lost", after: 5 * time.Second},
	{code: RoomCut, severity: Trouble, clip: "room_cut", after: time.Minute, covered: []Code{NetworkLost}},
	{code: HomeAway, severity: Note},
	{code: WebClosed, severity: Note},
	{code: HomeUnseen, severity: Note},
	{code: RoomApart, severity: Note},
	{code: RoomPresses + ".", severity: Note},
	{code: RoomTaken + ".", severity: Note},
	{code: RoomTurned + ".", severity: Note},
	{code: RoomRenamed, severity: Note},
	{code: RoomPeople, severity: Note},
	{code: RoomFlooded, severity: Note}, // the others converse
	{code: RoomFlooded + ".", severity: Note},
	{code: RoomKeptOut, severity: Note},
	{code: RoomKeptOut + ".", severity: Note},
	{code: RoomKeepers, severity: Trouble, clip: "room_keepers", after: 10 * time.Second},
	{code: RoomDiscovery, severity: Note},
	{code: RoomPort, severity: Note},
	{code: RoomGuessed, severity: Note},
	{code: RoomOutdated + ".", severity: Note},
	{code: SoundSlow, severity: Note},
	{code: VoiceBent, severity: Note}, // it converses
	{code: VoiceBent + ".", severity: Note},
	{code: VoiceUncounted, severity: Note},
	{code: VoiceUnpriced, severity: Note},
	{code: VoiceUnheard, severity: Note}, // but in a room the others do not get to know it
	{code: VoiceUnheard + ".", severity: Note},
}

func (e entry) fits(code Code) bool {
	return e.code == code || strings.HasSuffix(string(e.code), ".") && strings.HasPrefix(string(code), string(e.code))
}

func row(code Code) entry {
	for _, e := range table {
		if e.fits(code) {
			return e
		}
	}
	return entry{code: code, severity: Trouble}
}

// Severity of the condition.
func (c Code) Severity() Severity { return row(c).severity }

// Clip says the condition; empty: nothing does.
func (c Code) Clip() string { return row(c).clip }

// Clips are those that are said, by their codes.
func Clips() map[Code]string {
	all := map[Code]string{}
	for _, e := range table {
		if e.clip != "" {
			all[Code(strings.TrimSuffix(string(e.code), "."))] = e.clip
		}
	}
	return all
}
