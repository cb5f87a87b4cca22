// Package kit is what the voices of conch are built of, whichever server they talk to:
//
//	Utterance   what a person says in a turn, in memory until its answer is heard
//	Pump        hands an answer's speech to the outlet at the pace of the speaker
//	History     the conversation as text, as it was heard
//	Keeper      gives that to whoever keeps it over a restart
//	Meter       what was used today, and whether more may be
//
// None of it knows a protocol. Samples are 24 kHz, mono, signed 16 bit.
package kit

// Rate is samples per second.
const Rate = 24000
