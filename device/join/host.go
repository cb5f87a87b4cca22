package join

import (
	"context"
	"time"

	"conch/device/control"
)

// Host is what pairing needs of the device that it happens in.
type Host interface {
	// Say says what sound makes when its time has come, and returns when it has sounded, is no longer to be said, or ctx ends.
	Say(ctx context.Context, sound func(context.Context) ([]int16, error), ttl time.Duration)
	// Alert is Say for what everybody must hear, whoever has the floor: what sounds here is cut for it. Of one key the newest is said.
	Alert(ctx context.Context, key string, sound func(context.Context) ([]int16, error), ttl time.Duration)
	// Play plays 24 kHz, once, when nothing else sounds, and returns when the last sample has sounded. A press ends it for good
	// (ErrSilenced). When ctx ends, what sounds of it is cut, and nothing else is.
	Play(ctx context.Context, pcm []int16, ttl time.Duration) error
	// OpenMic opens the microphone for the utterance of that id, unless a turn is live (false). It calls ready before, when no turn
	// can begin any more in between. After an error it may be open.
	OpenMic(ctx context.Context, id string, ready func()) (bool, error)
	CloseMic(id string)
	Muted() bool   // a person has switched the microphone off
	Hush(own bool) // what sounds and what is under way ends; own: the device makes room, and what it cuts is offered again
	Quiet() bool   // nothing sounds, no turn is live, and nobody types
}

// PairingOptions are what a Pairing is made of, besides its host.
type PairingOptions struct {
	Now    func() time.Duration
	Speak  func(ctx context.Context, text string) ([]int16, error) // in the language of the device; nil: no voice is there to say names
	Light  func(pairing bool)
	OnLine func(control.PairingLine) // each, as GET /room/pairing has it; nil: nobody is told; must not block
	Step   func(string)              // told before and after what a power cut must not tear; nil: nobody is
}
