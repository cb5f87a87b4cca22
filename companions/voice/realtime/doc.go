// Package realtime is the voice that speaks the Realtime protocol over one WebSocket: OpenAI's, and those of servers
// that speak the same (Dialect).
//
//	mic goroutine ── Append ──> utterance (RAM) ─┐
//	runner ───────── Do ──────> orders ──────────┤                ┌─> writer ──> socket
//	                                             ├─> Run (owner) ─┤
//	Outlet.Post <── facts ───────────────────────┤                └── reader <── socket (and a watcher)
//	Outlet.Audio <── pump, one per answer <──────┘
//
// Run owns the conversation: everything it knows is touched by its goroutine alone. The reader, the writer and the
// watcher belong to one connection (link) and end with it; a pump belongs to one answer, so that a full speaker buffer
// stops neither the reader nor the next interruption. Run ends when its context does, after all of them have.
//
// What a press, a release and an interruption send, in order:
//
//	ClearInput      input_audio_buffer.clear, then input_audio_buffer.append while frames come
//	KeepInput       nothing; a later ClearInput makes what it kept in memory the utterance
//	CommitInput     the rest of the audio, input_audio_buffer.commit            -> InputCommitted | InputRefused
//	CreateResponse  response.create, once no other answer is live               -> ResponseStarted | ResponseRefused
//	                response.output_audio.delta                                 -> Outlet.Audio, DeltaArrived
//	                response.function_call_arguments.done                       -> ToolCalled, once per call
//	                response.done, and all speech handed over                   -> ResponseDone
//	CancelResponse  response.cancel; what still comes of it is dropped and counted
//	TruncateItem    conversation.item.truncate, never beyond what was received, milliseconds rounded down
//	DeleteItem      conversation.item.delete
//	SendToolOutput  conversation.item.create (function_call_output)
//
// Servers differ in this (Dialect): one wants no clear or no commit, one answers by itself, one has to be told an
// interruption as text. testdata/servers holds what each one's own source shows.
//
// What a turn has asked for is kept until its answer began. When the connection breaks before the server gave any sign of
// having taken it, the next one gets the conversation as text, then the whole utterance again, then the same requests, once;
// otherwise the person is told (again.go). Whether a connection is alive is asked of the line (line.go), and a session omits
// what the server refuses of it (greet.go).
//
// Samples are 24 kHz, mono, signed 16 bit; the server's rate may be lower (Dialect.Rate). Times of facts come from
// Outlet.Now. A turn's context never touches the socket: an expired context on a read or a write closes a
// coder/websocket connection.
package realtime

// Log events of this package.
const (
	logReady      = "session.ready"
	logOmitted    = "session.bent"
	logLost       = "session.lost"
	logRenewed    = "session.renewed"
	logRetry      = "session.retry"
	logGarbage    = "wire.garbage"
	logUnknown    = "wire.unknown"
	logError      = "server.error"
	logStale      = "delta.stale"
	logUtterance  = "utterance.dropped"
	logKept       = "utterance.kept"
	logResent     = "utterance.resent"
	logGivenUp    = "utterance.given_up"
	logImpatient  = "create.impatient"
	logUnbidden   = "response.unbidden"
	logUnasked    = "response.unasked" // a server answered by itself what nobody has asked for (yet): stopped
	logTooLong    = "response.too_long"
	logFailed     = "response.failed"
	logCall       = "call.unknown"
	logCalls      = "call.too_many"
	logUsage      = "usage.turn"
	logCeiling    = "usage.ceiling"
	logReset      = "usage.reset"
	logSave       = "usage.save"
	logTruncate   = "truncate.skipped"
	logTranscribe = "transcription.failed"
	logOverflow   = "orders.overflow"
)
