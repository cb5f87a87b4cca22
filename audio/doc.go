// Package audio is the microphone and the loudspeaker of one device.
//
// Speaker.Drop is the promise this package exists for: after it returns, no sample written before it is handed to the
// sound card, except by a callback that has begun already and a fade of at most 3 ms. It is one atomic operation and may
// be called from any goroutine.
//
//	             Write ─> ring of the source ─┐
//	speaker.go   Play  ─> clip ───────────────┤ Render: callback of the card, mixes at 24 kHz, x2 ─> card.go
//	             Drop  ─> generation + 1 ─────┘ plays the current generation only
//
//	mic.go       card ─> Take: callback ─> ring (the pre-roll, too) ─> Run: x1/2 ─> Sink
//
//	what others call          speaker.go, source.go (sources, drops), mic.go, keeper.go (a card that is lost is opened again)
//	on the card's thread      render.go, play.go (one source), played.go (where the card is), rewind.go, jitter.go, ring.go
//	on our own goroutines     Speaker.Watch, rest.go, harddrop.go; listen.go of the microphone
//	what a card is            card.go; the real one: malgo_card.go, malgo_open.go, malgo_stream.go, alsa.go, and malgo.go, which is C
//	                          devices.go (names of devices); package twin is the virtual one
//	samples                   pcm.go, resample.go; package wav
//
// Speech can be held (Source.Hold): it is buffered and sounds nothing until it is released. Speech that comes unevenly is
// buffered as much as its unevenness asks for (jitter.go). While nothing can sound at all
// the card plays silence by itself, and while nobody listens it hands over what it captured in pieces (rest.go, listen.go).
//
// Samples are signed 16 bit, mono, at Rate (24 kHz) unless they are called frames: those are at CardRate (48 kHz).
// Lengths are counted in samples, not in clock time. Both callbacks allocate, lock and log nothing
// (TestRenderAndTakeAllocateNothing). Speaker.Run and Mic.Run are the two goroutines of this package, apart from the
// card's own threads; whoever starts them ends them by their context.
//
// A press to silence, where the card gives back what it has not played (rewind.go; 5 ms x 8 by default, and it could be more):
//
//	flag ─ up to 1 Period ─> callback ─ 1 ms that stays ─> fade begins to sound ─ 2 ms ─> silence     at most 8.5 ms
//
// and where it does not, with Periods x Period queued in it (5 ms x 3):
//
//	flag ─ up to 1 Period ─> callback ─ Periods x Period ─> fade begins to sound ─ 2 ms ─> silence    at most 22 ms
package audio
