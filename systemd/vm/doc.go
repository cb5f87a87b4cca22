// Package vm is the machine test: conch as a package, on a Debian guest in QEMU with a GPIO chip, a sound card and systemd
// that are the kernel's own.
//
//	this machine                      │ guest (QEMU, no network but one door)
//	                                  │
//	test ── QMP ──> snapshots, plugs  │   gpio-sim ── pin 17, pin 25 ──────────┐
//	     ── agent ─> commands, files ─┼──> hand ── presses, listens, speaks     conch.service
//	voice (conch rehearse --serve) <──┼─── 10.0.2.100:8080 <─────────────────── │
//	                                  │   snd-aloop: device 1 <══ sound ══> device 0
//	usb.wav <══ sound ════════════════┼── snd-usb-audio <── tone, which presses too (tone/main.go)
//
// The guest is made by image.sh, of packages and nothing else; `make vm` does it all. A guest boots once and is saved; each
// test continues a copy of that moment, which takes a second. Power cut means that QEMU is killed: what the guest had not
// flushed to its disk is gone.
//
// What it is not: bounce, interference, Wi-Fi, real cards and their xruns, the Pi's firmware, and time. Emulation is slow
// and uneven, so figures are printed and bounds are wide (vm/FACTS.md, "Not simulated"). Silence is judged all the same, where a press
// is placed in the stream and not in time (card_test.go).
//
// A Guest belongs to one goroutine; Stop and Cut may be called from any.
package vm
