// Package call is the sound of a call between two devices: what is made of frames that come late, twice or never, and what keeps two
// loudspeakers and two microphones from howling at each other. All of it is pure, and frame by frame.
//
//	network ─> Jitter.Put ─> frames by number ─> Jitter.Pull ─> Switch.Far ─> loudspeaker
//	network <───────────────────────────────────────────────── Switch.Near <─ microphone
package call

// Frame is 10 ms of sound, 24 kHz, mono.
const Frame = 240

func clip(x float64) int16 { return int16(max(-32768, min(32767, x))) }
