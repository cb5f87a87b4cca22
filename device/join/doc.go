// Package join is the person's way into a room (PAIRING.md, What a person does), and the device's way to the others of its room.
//
//	button ── gesture ──┐                    ┌─> look    what windows there are
//	control socket ─────┼─> events ─> way ───┼─> open    a window, its port, its code aloud
//	members, workers ───┘     (run)   orders ├─> listen  for a code
//	                                         ├─> try     a code
//	                                         └─> words   what is said of it; then the device begins anew (restart)
//
// way.go decides, and only computes. Pairing carries its orders out: each is a goroutine of the attempt that it belongs to; the
// attempt's end ends them, and run awaits them all. Link is what this device is among others: its key, the room that it was paired
// into, the broker and the client (connect.go). Sound is the code in the air. Host is the device, as far as pairing needs one.
package join
