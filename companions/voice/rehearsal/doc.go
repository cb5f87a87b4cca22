// Package rehearsal is a Realtime server on loopback, so that conch converses without a key and without a network.
// It speaks the GA protocol of OpenAI Realtime over a WebSocket: the shipped client, and a stranger's, cannot tell from
// the wire that a handful of rules answer, not a model.
//
//	socket ── reader ──> frames ─┐                       ┌─> outbox ── writer ──> socket
//	hear   ── one per commit ────┼─> loop (owns session) ┤
//	answer ── one per response ──┘                       └─> starts hear and answer, cancels them
//
// Goroutines: ServeHTTP is the loop and returns last; reader, writer, hear and answer belong to its session, end with
// it, and are waited for. Everything in session is touched by the loop alone. Pace and backpressure: an answer hands over
// one piece of sound at a time, and the loop takes none while the outbox is full.
//
// The recognizer is pocketsphinx, the synthesizer is flite or espeak-ng: child processes, bounded in number, time and memory.
// Without them the server says what it measured and plays back what it heard.
//
// In a room the instructions of an answer begin with RoomMarker: then they are guidance (why this companion was selected,
// who is present), not words to be said, and the rules answer what was said last:
//
//	session's instructions ─> who am I, what do I know     ┐
//	items "[Ada in kitchen] …" ─> who said what, in order  ├─> scene ─> first answer | hand over | add | follow up | goodbye
//	guidance ─> who is here, what not to do                ┘
//
// A client that streams is heard by loudness (vad.go): server_vad is on until it is told otherwise, as with the service;
// semantic_vad waits for a silence by its eagerness, since nothing here knows when a sentence is complete.
//
// Where it is smaller than the real service: no images, no MCP, no transcription-only sessions, no idle_timeout_ms, PCM at
// 24 kHz only.
// What it sends as null and what it omits follows the real service: clients must accept null for absent.
//
// Samples are 24 kHz, mono, signed 16 bit. The rules are those of the GA reference, July to November 2026.
package rehearsal
