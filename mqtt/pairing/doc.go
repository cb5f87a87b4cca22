// Package pairing lets a new device into a room by six digits that were heard or typed (PAIRING.md): the window of the device
// that is in, the joiner, and the channels that they talk over. It decides nothing about the room: what a member is told, and who is
// one, is its callers' (Admit, Stored, Store).
//
//	B, the joiner                                        A, whose window is open
//	│ hello {v, nonce, device, key, name} ─────────────> │   is that key the channel's?
//	│ <───────────── hello {…, roomId, roomName}         │
//	│ share {…} ───────────────────────────────────────> │   CPace: A has its answer before it knows anything
//	│ <───────────────────────────────────── share {…}   │
//	│ confirm {tag} ───────────────────────────────────> │   wrong: one of three tries, and no word more
//	│                                                    │   right: the window is B's; the others hear "closed"
//	│                                                    │   Admit: B is pending, on A's disk
//	│ <────────── welcome {tag, sealed: what Admit says} │   from here on this window admits nobody else
//	│   right: Store: B is in, on B's disk               │
//	│ stored {} ───────────────────────────────────────> │   Stored: B is in, on A's disk
//
// Either side may say refused {why} instead, and end the run. The reason is a hint: nobody has signed it.
//
// # What the key is made of
//
//	sid  = SHA-512 (label, binding, B's nonce, A's nonce)     binding: the TLS exporter; at a broker, keys and drawn numbers
//	CI   = label, "joiner", B's id, "window", A's id
//	ADa  = B's hello, ADb = A's hello                         B is CPace's initiator
//	PRS  = the six digits
//	tags = the draft's key confirmation; seal = AES-256-GCM under HKDF-SHA-512 (ISK, sid), with both tags bound in
//
// So a recording is of another sid, and somebody in the middle of two sessions has two bindings and two pairs of ids: relaying
// gives two keys, which do not fit. He can take part with a guess of his own, once in each run: A shows nothing that depends on the
// code before B has confirmed, and B confirms once a run, in three runs at most. Of a million codes he has tried six at the end.
//
// # Power
//
// The commit points are B's disk and A's. Cut at any moment, the pair is in one of these states, and never in another:
//
//	until Admit has recorded B           both are out
//	until Store has returned              A holds B as pending, B is out: A forgets it after a day, or pairs it again
//	until A has read stored               B is in; A holds it as pending until B's first connection
//	after that                            both are in
//
// # Bounds
//
//	window     120 s, three wrong codes, one success; four runs at a time, of which a silent one gives way to a fifth
//	run        15 s, 5 s for a frame, 11 s until Admit must have returned
//	frame      4 KiB, the welcome 32 KiB; one JSON object in one spelling, of known fields; of names 64 bytes
//	listener   16 handshakes of 5 s (the oldest gives way), 8 connections behind them
//	meeting    8 knocks, 16 channels, 8 frames in each; beyond that nothing is answered, or the channel ends
//
// Anybody who reaches the window can use up its tries: then it says so, closes, and the next one has another code.
//
// # Parts
//
// WindowState.Step and JoinerState.Step are the judgement: pure, with the time in their events. Window and Joiner drive them: each run
// belongs to the goroutine that called Serve or Join, the time to Window.Run's. DialTLS, Accept and ServeTLS are the channel over
// TLS 1.3 with self-signed certificates of the identities; Meet is the one over a foreign broker's topics. Nothing here logs, and
// the code is in no error and no event.
package pairing
