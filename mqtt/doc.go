// Package mqtt carries the packets of a room (companions/round) between devices, over MQTT 3.1.1 and any broker: the embedded
// one (mqtt/broker) or a foreign one. It decides nothing about turns.
//
//	Room ──Send──> queue ──> writer: sign ──> paho ──┐
//	                                                 broker
//	Room <─OnPacket── reader: check, guard <── paho ─┘
//
// Topics are conch/v1/<room>/<kind>/<device>; one writer each, the device in its name, so that a broker's access list can
// hold it. Nothing is retained. Payloads are JSON-RPC 2.0 notifications in UTF-8.
//
//	kind      QoS out  method           packet                       example of params
//	presence  0        presence.update  Beat, Gone, HistoryAsk       {"beat":{"name":"kitchen","digest":"d1","budgetMs":300,…}}, {"gone":{}}, {"historyAsk":{}}
//	          0        presence.hello   (this package's, see below)  {"prove":["<device>"],"heard":[{"session":"…","hello":2,"ageMs":4,"since":3}]}
//	messages  1        message.send     Message                      {"id":"01J9…","from":"ada","text":"…","epoch":{"n":3,"device":"…"},"number":2,"metadata":{}}
//	          1        message.history  History                      {"to":"<device>","messages":[],"envelopes":["{…}",…]}
//	          1        room.control     Control                      {"companion":"ada","mute":true}
//	states    1        state.send       Votes                        {"place":{…},"states":[{"from":"ada","messageId":"01J9…","state":"speak","importance":7,…}]}
//	floor     0 and 1  floor.press      Press                        {"epoch":{"n":4,"device":"…"}}
//	          1        floor.open       PressOver                    {"epoch":{"n":4,"device":"…"}}
//	          1        floor.claim      Claim                        {"place":{…},"companion":"ada","states":[…]}
//	          1        floor.withdraw   Withdraw                     {"place":{…},"companion":"ada","why":"…"}
//	          1        floor.speaking   Speaking                     {"place":{…},"companion":"ada","leftMs":1200}
//	          1        floor.release    Release                      {"place":{…},"companion":"ada","ok":true,"heardMs":900}
//	          1        floor.ended      Ended                        {"place":{…}}
//	ledger    0        ledger.entry     Seen                         {"entry":{"kind":"round",…}}
//	members   1        members.*        (a Note, see mqtt/membership) {"room":"r…","version":4,"members":[…]}
//
// A client subscribes to the kinds one by one, with QoS 0 (filters), to members only with Config.OnNote, to ledgers only with Config.Ledgers:
// every device publishes what it decided, for whoever watches the room, and no device needs what another one wrote down.
//
// An envelope is {"jsonrpc":"2.0","method":…,"params":…,"key":…,"session":…,"seq":…,"sig":…}. The signature is Ed25519 over a
// domain, the room, the kind, method, session, number and the bytes of params, each with its length. The key travels along; the
// device's id is its fingerprint, so no directory is needed. Bounds are in wire.go and check.go: 64 KiB an envelope, 256 KiB
// a history, 32 KiB a note, 8 KiB a text, 128 votes. What we send is brought within them: texts are cut, votes lose their terms above
// 16 KiB and then their reasons, a history its oldest envelopes.
//
// # A client of another make
//
// Besides MQTT 3.1.1, TLS 1.3 and JSON this is all it takes; cmd/conch/testdata/attack/member.py is one, in Python. Keys, room and
// certificates stand in the state directory (PAIRING.md 11).
//
//	device id   the first 20 characters of the base32 (RFC 4648, lower case) of the SHA-256 of its public key
//	key, sig    base64 with the alphabet of URLs, without padding; so is session, 16 random bytes
//	signed      "conch/v1 envelope"; room, kind, method, session, each behind its length; seq; params behind its length.
//	            A length is 4 bytes, seq 8, big-endian; params are the bytes of the envelope, blanks included
//	TLS         ALPN "mqtt", the device's certificate, a server name that knocks (PAIRING.md 8): NONCE.MAC.conch, where NONCE is
//	            26 random characters of base32, used once, and MAC the first 16 bytes, in base32, of HMAC-SHA256 under the
//	            authority's certificate (DER) over "conch knock", a zero byte and NONCE; base32 in lower case, without padding
//	CONNECT     client id: the device id; clean session; no user. Then SUBSCRIBE conch/v1/<room>/+/+, a hello, and a beat each second
//	hello       prove: whose sessions are to be proved. To who asks or is new: heard, of it session and hello (the seq of its hello),
//	            ageMs (how old one's own session was by then) and since (what has this seq or more was made after that)
//
// # Who may say what
//
// from must live on the signing device (ROOM.md 2): human:<device> is that device; a companion must be among the cards of
// that device's latest Beat with cards. While those are unknown, whatever speaks for a companion (message, votes, claim,
// withdraw, speaking, release) is refused and the cards are asked for, at most once a second; a press, a beat, an end, a
// control and a history name no companion of the sender's and are let through. A press must carry its own device's epoch.
// Config.Member keeps devices out that were not paired.
//
// A history is told by one and signed by those who spoke: it carries the envelopes of message.send, and of a floor.release that says
// what of one was heard, as they were signed. The newcomer opens each: the signer is a member now (who was removed is not believed), from
// is its person, or a companion of its latest cards; where no cards of it have come, one that nobody here has. What it says of the newcomer's own
// person and companions is not taken, nor anything that was not asked for. What is of the teller itself it signs for the history, under
// number 0, which nobody takes as said now. An older conch sends messages without envelopes: they are refused, and its name is logged.
//
// # In private
//
// A message or the heard text of a release that is for one device ("for") travels as "sealed": HPKE (RFC 9180, crypto/hpke), mode base,
// DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305; enc and ciphertext in base64. info is "conch/v1 whisper", 0 and the
// room; aad are "message" or "release", message id, sender and receiver, each with its length; the text is padded to steps of 256 bytes. The
// receiver's key follows from its Ed25519 seed (HKDF-SHA256, info "conch/v1 whisper key", then DeriveKeyPair) and is announced with its
// cards ("whisperKey"), under its own signature. Where it lives on the sender, nothing is sealed: the others get the envelope without words.
// Whoever later gets hold of the receiver's key can open what was recorded: there is no forward secrecy.
//
// # Recordings
//
// Each connection is a session with a random id, in which envelopes are numbered from 2. A receiver takes each number once,
// within a window of 2,048, for a broker may let QoS 0 overtake QoS 1. It believes a session only when it has proof that it
// lives: a hello that names the receiver's own session, which nobody could know before that began.
//
//	A (new)                          B
//	hello {} ───────────────────────>   a session that B does not know: what it says waits
//	<─────────── hello {prove: A, heard: A's session}     names A's session: A believes B
//	hello {heard: B's session} ─────>   B believes A, and delivers what waited
//
// So joining takes a round trip and a half, one hello of each device there and a few of the newcomer. Hellos go out at most
// every 10 ms, then 20, 40 … 320 while they follow each other, with all that is due in one; a device that has not proved
// itself is asked again each second. What waited is delivered only if it was surely made after the receiver began: when its session began
// later (by the sender's own count of milliseconds until it heard our hello; no clocks are compared), or when it is numbered
// after the sender had heard us. Otherwise it is dropped and counted as old: what others said in the moment of our joining is for the history. A
// session replaces another only by answering a hello that went out after the other one was believed; so a late proof of
// an old session changes nothing.
//
// The last will is signed when the connection is made, under number 1 of its session: it counts once, for the session that
// is believed at the moment, and a will of an earlier connection is nothing. Only the broker knows it before its time; if
// it lies, the next beat brings the device back.
//
// Limits: whoever can hold back an envelope (the broker's operator) can deliver it later, within the window and the session;
// epochs and places make it void in the machine. A member can be silent, slow, or flood (see below).
//
// # Floods
//
//	paho's connection ──> door: bucket of the sender ──> paho ──> lane of the sender ──> reader: whose turn it is ──> signature
//
// The sender is the last level of the topic, which a broker's access list makes true. What one may say (Bounds) is counted as it comes
// from the connection; the rest is skipped there, at a hundredth of what a signature costs. What gets in waits in the sender's own lane: 32 presses, 256
// other envelopes, 384 KiB; its own oldest goes. The reader takes presses first, one of each sender in turn, then bytes of each in turn.
// What waits for a proof is at most 4 MiB in all, and what waits in lanes another 4; whoever has most pays. One device's sessions and questions
// make the others send six hellos at once and then one in two seconds; what it asks for beyond waits, and nobody else's does.
//
// What one device can make others say is bounded by asker (asked.go): a history four times and then each 10 s, everybody's cards six times
// and then each 2 s, 60 notes and then two a second. All askers together get 272 KiB of history from a device at once and then 8 a second, who
// asks again within ten minutes no more than 96 and 4 of these: no questions bring a device beyond what a broker lets it say. Who speaks for
// companions whose cards nobody has seen is asked for them after 1, 2, 4 … 64 s.
//
// Who says too much is counted (Stats.Senders), told to the log (at the beginning, then after 1, 2, 4 … 64 s) and to Config.OnFlood. Where
// a broker has no access list, somebody else can use up a good member's budget under its name, at some hundred forged presses a second:
// Flood.Signed is false then, and an access list (conch room acl) is what helps. Under all names at once, 1,500 signatures a second are
// looked at, and 16 of each sender on top.
//
// # What is never delivered late
//
// The library is used for one connection and thrown away: it would store what could not be sent and send it after it has
// connected again. Send drops while there is no link; what has waited for two seconds is dropped, but a press never is, and overtakes.
package mqtt
