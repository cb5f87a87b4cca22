// Package cascade is the voice of a chain: speech to text, chat, text to speech, each at a server that is compatible with OpenAI's, or at
// a program of this machine.
//
//	mic goroutine ── Append ──> utterance (RAM) ─┐
//	runner ───────── Do ──────> orders ──────────┤             ┌─> ear: a transcript
//	                                             ├─> Run (owner)┼─> mind: an answer's words ──> plain ──> cutter ──> pieces ─┐
//	Outlet.Post <── facts ───────────────────────┤             └─> probe: is all of it there, and warm?                     │
//	Outlet.Audio <── pump <── joiner <── sound of the pieces, one ahead <── mouth <────────────────────────────────────────┘
//
// Run owns the conversation: what was said, what is asked for, and whether there is anybody to ask. An answer (answer.go) has goroutines
// of its own, which end with its context: a press closes the three requests with it. What they have to tell, Run is given as a function.
//
//	ClearInput      stages that may have been forgotten are warmed while the person speaks
//	CommitInput     the utterance goes to the ear                                -> InputCommitted, Transcribed | InputRefused
//	CreateResponse  once there is a transcript, the mind is asked                -> ResponseStarted | ResponseRefused
//	                the first words                                              -> DeltaArrived, without samples
//	                each piece, when its sound comes                             -> Spoken, Outlet.Audio, DeltaArrived
//	                calls                                                        -> ToolCalled, once per call
//	                all said and handed over                                     -> ResponseDone
//	CancelResponse  whatever runs for the turn is closed
//	TruncateItem    the words are cut where the piece was that was heard then
//
// There is no session, and no connection that could be lost: the conversation is here, and goes to the server with each question.
// SessionReady says that all three stages answer and have loaded what they need; SessionLost that one of them does not (session.go). What
// was said then waits, as long as the coordinator does, and is asked when they are back.
//
// A request is made again only as long as nothing of the answer was heard. Servers differ (Profiles); what one refuses of a request is
// left out of the next. Each stage has its deadlines, for the first byte and between two.
//
// Samples are 24 kHz, mono, signed 16 bit.
package cascade

// Log events of this package.
const (
	logReady    = "session.ready"
	logLost     = "session.lost"
	logRetry    = "session.retry"
	logBent     = "session.bent"
	logHeard    = "cascade.heard"
	logAnswer   = "cascade.answer" // one line an answer: how long each stage took
	logAgain    = "cascade.again"
	logLocal    = "cascade.local"  // a program of this machine took a stage over
	logMended   = "cascade.mended" // and the stage does it again
	logFailed   = "response.failed"
	logCeiling  = "usage.ceiling"
	logOverflow = "orders.overflow"
	logDropped  = "utterance.dropped"
)
