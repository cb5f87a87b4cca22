package realtime

// Log events of this package.
const (
	logReady      = "session.ready"
	logBent       = "session.bent"
	logLost       = "session.lost"
	logRenewed    = "session.renewed"
	logRetry      = "session.retry"
	logGarbage    = "wire.garbage"
	logUnknown    = "wire.unknown"
	logError      = "server.error"
	logStale      = "delta.stale"
	logUtterance  = "utterance.dropped"
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
