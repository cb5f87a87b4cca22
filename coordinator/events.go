package coordinator

// Names of the log lines of this package: thing.what, the message of the slog record. Every line that has a turn carries
// it as the attribute turn.
const (
	logTurnBegin      = "turn.begin"      // debug: a turn began
	logTurnState      = "turn.state"      // debug: the machine moved, from one state to another, by which fact; the recorder has it too
	logInterrupt      = "turn.interrupt"  // debug: the first edge, and each step of what followed (TURNS.md 2), with the time since
	logTurnEnd        = "turn.end"        // one line per turn, aborted ones included
	logFactStale      = "fact.stale"      // a fact of another turn or response; at most one line a second
	logAudioStale     = "audio.stale"     // speech of another turn; at most one line a second
	logInboxRefused   = "inbox.refused"   // facts refused at a bound
	logGenerationLost = "generation.lost" // somebody dropped and posted nothing; healed
	logToolCall       = "tool.call"       // debug: a tool starts
	logToolReturn     = "tool.return"     // a tool answered
	logToolPanic      = "tool.panic"      // a tool panicked; the model got an apology
	logToolAbandoned  = "tool.abandoned"  // a tool did not return in time; the model got an apology
	logToolLate       = "tool.late"       // an abandoned tool returned after all; its result was dropped
	logToolRefused    = "tool.refused"    // too many tools at once, or too many left behind of this one
	logToolCut        = "tool.truncated"  // an output was longer than the limit
	logHandleFull     = "handle.full"     // too many latched effects
	logHandleDropped  = "handle.dropped"  // a latched effect was discarded
	logCallRings      = "call.rings"      // turn, handle: somebody calls
	logEffectStart    = "effect.start"    // a stream or claim (kind) plays
	logEffectFocus    = "effect.focus"    // debug: a stream plays, is ducked or paused
	logEffectEnd      = "effect.end"      // a stream or claim is over, and how
	logCallbackPanic  = "callback.panic"  // an ended callback panicked
	logWordsSaid      = "words.said"      // turn, words: the device says them
	logWordsMissing   = "words.missing"   // there is no clip for these words
	logInjectQueued   = "inject.queued"   // debug: an injection waits; turn is the one in which it will be said
	logInjectUnknown  = "inject.unknown"  // error: what an injection is told of as beginning was not known in time; it is said all the same
	logInjectOutcome  = "inject.outcome"  // an injection has its one outcome
	logAlertBegin     = "alert.begin"     // an alert rings for the first time
	logAlertEnd       = "alert.end"       // an alert has its one end
	logShutdownLeft   = "shutdown.left"   // goroutines of tools or streams that did not end in time
)
