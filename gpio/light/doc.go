// Package light shows what a device does, on whatever light it has.
//
//	facts ─> Facts.Shown ─> Scene{Look, Colour} ─> Scene.Frame(time, level) ─> Frame ─> Driver
//	          look.go, pure                         frame.go, pure                      pins, APA102, sysfs
//	└──────────────────────── Lamp.Run, one goroutine ───────────────────────────────┘
//
// The first line of this table that is true is shown. A look is told by its colour and its movement; where there is one
// LED without colours, by its rhythm alone, so that no two are alike.
//
//	look       when                                       with colours                    one LED: seconds lit and dark
//	listening  frames of what a person says are captured  white, steady                   lit
//	waiting    an answer is being made                    white, breathes in 3 s          1 on, 1 off; or breathes
//	speaking   it sounds                                  the companion's, as loud as it  as loud as it
//	empty      a press brought no speech, for a second    white, three quick blinks       0.15 on, 0.2 off
//	noted      what was said earns no answer, for a       white, fades in 1 s             0.8 on, 0.2 off
//	           second
//	pairing    the window for a new device is open        one LED goes round in 2 s       0.6 on, 0.2 off, 0.2 on, 0.2 off
//	muted      no capture device is open, by wish         red, steady                     1.9 on, 0.1 off
//	other      a companion of another device has the      first LED, dim, in its colour   0.06 on, 1.94 off
//	           floor
//	error      a turn failed; something is wrong that a   red, two blinks every 2 s       0.1 on, 0.15 off, 0.1 on, 1.65 off
//	           person can mend
//	offline    no session with the server                 amber, a dim pulse every 4 s    0.8 on, 3.2 off
//	missed     something was said that nobody heard, and  white, a short dim flash every 6 s  0.12 on, 5.88 off
//	           nobody has asked since
//	off        nothing                                    dark                            dark
//
// White is the person, other colours are companions, red and amber are trouble; no companion has those. While the
// microphone is off, waiting and speaking are red, too. Listening comes before everything, because whoever is recorded must
// see it, and because it is the fact of a captured frame and not the wish for one.
//
// Values of a Frame are as the eye sees them, 0 to 255; what an LED needs for that is its driver's business (Linear). A look that moves
// is drawn 30 times a second at most, one that stands still once: with nothing to show the goroutine sleeps until somebody tells it something.
//
// states.svg is a picture of them all, drawn by the code that draws the frames: go generate ./gpio/light
package light

//go:generate go run ./gen
