// Package turn is the machine behind one device, one button and one speaker: what a press, a release, an answer, a tool,
// a lost link and a deadline mean in every situation. It is pure: Step takes a machine and a fact and returns a machine
// and orders. No goroutine, channel, clock, log or random number is in it; time arrives in facts. The coordinator's
// runner owns the one Machine of a device; anybody may call Step on a copy of their own.
//
//	facts (event.go) ──> Step (step.go) ──> orders (effect.go)
//	                     answer.go  responses, speech, the barrier behind the last sample
//	                     tool.go    calls and their effects
//	                     hold.go    an answer made ready for when the floor is free
//	                     cut.go     interrupt, failure, deadlines, an answer that is made unheard, the end of a turn
//	                     ring.go    a call that comes in
//	                     machine.go what is remembered, configuration, bounds
//
// Samples are 24 kHz mono; durations are since the runner started. Rules are those of TURNS.md; a comment names the
// section. The machine rests in IDLE; it is never met in APPLYING_FACTORIES or INTERRUPTED, which a Step moves through.
//
// The table is written by TestTable from Step itself; `go test ./coordinator/turn -update` rewrites it. A row is a fact
// of the live turn (a Pressed, Asked, FloorGranted or TurnInjected brings a new one). A cell names the states moved
// through by their first letter, as I L C R (IN_RESPONSE) A F (APPLYING_FACTORIES) X (INTERRUPTED): = gives orders and
// stays, ~ reports a stale fact, . does nothing that can be seen. The orders of each cell are in testdata/cells.txt. The
// small table below has the rows in which a held turn (hold.go) differs.
//
// table:begin
//
//	                        IDLE              LISTENING  COMMITTING                IN_RESPONSE                  AWAITING_NEXT_RESPONSE
//	                              kept  told             closing  voting   asking   speaking  writing  draining  working   following
//	Pressed                 L     L     L     XL         XL       XL       XL       XL        XL       XL        XL        XL
//	Released                .     .     .     C          .        .        .        .         .        .         .         .
//	Released, too short     .     .     .     I          .        .        .        .         .        .         .         .
//	Released, other button  .     .     .     ~          .        .        .        .         .        .         .         .
//	Released, gone          .     .     .     I          .        .        .        .         .        .         .         .
//	Asked                   C     C     C     XC         XC       XC       XC       XC        XC       XC        XC        XC
//	Hushed                  =     =     =     XI         XI       XI       XI       XI        XI       XI        XI        XI
//	Hushed, by the room     =     =     =     =          XI       XI       XI       XI        XI       XI        XI        XI
//	Quieted                 =     =     =     =          .        .        .        =         =        XI        XI        XI
//	LetGo                   .     =     =     .          .        .        .        .         .        .         .         .
//	FloorGranted            C     C     C     =          =        .        .        .         .        .         .         .
//	FloorGranted, own turn  C     ~     ~     .          .        =        ~        ~         ~        ~         ~         ~
//	FloorGranted, to hold   C     C     C     =          =        .        .        .         .        .         .         .
//	FloorOpened             ~     ~     ~     ~          ~        ~        ~        ~         ~        ~         ~         ~
//	VoteLost                ~     ~     ~     ~          .        I        I        ~         ~        ~         ~         ~
//	TurnInjected            C     C     C     ~          ~        ~        ~        ~         ~        ~         ~         ~
//	TurnInjected, to hold   C     C     C     ~          ~        ~        ~        ~         ~        ~         ~         ~
//	TurnInjected, kept      ~     =     C     ~          ~        ~        ~        ~         ~        ~         ~         ~
//	Preempted               .     .     .     .          .        .        .        .         .        .         .         .
//	CaptureStarted          ~     ~     ~     .          .        .        .        .         .        .         .         .
//	CaptureEnded            ~     ~     ~     ~          =        ~        ~        ~         ~        ~         ~         ~
//	CaptureEnded, empty     ~     ~     ~     ~          I        ~        ~        ~         ~        ~         ~         ~
//	CaptureEnded, no speech ~     ~     ~     ~          I        ~        ~        ~         ~        ~         ~         ~
//	CaptureLost             ~     ~     ~     I          I        ~        ~        ~         ~        ~         ~         ~
//	InputCommitted          ~     ~     ~     .          .        .        .        .         .        .         .         .
//	InputRefused            ~     ~     ~     ~          ~        I        I        ~         ~        ~         ~         ~
//	Transcribed             .     .     .     .          .        .        .        .         .        .         .         .
//	ResponseStarted         ~     ~     ~     ~          ~        ~        .        .         .        ~         ~         R
//	DeltaArrived            ~     ~     ~     ~          ~        ~        R        .         .        ~         ~         R
//	Spoken                  ~     ~     ~     ~          ~        ~        .        .         .        ~         ~         R
//	ToolCalled              ~     ~     ~     ~          ~        ~        R        =         =        ~         ~         R
//	ToolReturned            ~     ~     ~     ~          ~        ~        ~        ~         ~        ~         =         ~
//	ToolReturned, stream    =     =     =     =          =        =        =        =         =        =         R         =
//	ResponseDone            ~     ~     ~     ~          ~        ~        I        =         I        ~         ~         R
//	ResponseDone, failed    ~     ~     ~     ~          ~        ~        I        =         I        ~         ~         R
//	ResponseDone, link lost ~     ~     ~     ~          ~        ~        I        A         I        ~         ~         R
//	ResponseRefused         ~     ~     ~     ~          ~        ~        I        ~         ~        ~         ~         R
//	SpeechHeard             .     .     .     .          .        .        .        .         .        .         .         .
//	SoundQueued             ~     ~     ~     .          .        .        .        .         .        .         .         .
//	SpeechDrained           .     .     .     .          .        .        .        .         .        FI        .         .
//	WordsSaid               .     .     .     .          .        .        .        .         .        .         .         .
//	StreamEnded             .     .     .     .          .        .        .        .         .        .         .         .
//	StreamBack              .     .     .     .          .        .        .        .         .        .         .         .
//	ClaimEnded              .     .     .     .          .        .        .        .         .        .         .         .
//	AlertChanged            .     .     .     .          .        .        .        .         .        .         .         .
//	CallRings               =     =     =     .          .        .        .        .         .        .         .         .
//	CallGone                .     .     .     .          .        .        .        .         .        .         .         .
//	SessionReady            .     .     .     .          .        .        .        .         .        .         .         .
//	SessionLost             .     .     .     .          .        .        .        .         .        .         R         R
//	SessionLost, for good   .     .     .     I          I        I        I        .         .        .         R         R
//	DeadlinePassed          .     =     =     C          I        I        I        XI        I        XI        XI        XI
//
//	                        HELD asking  speaking  draining  working
//	Quieted                 .            .         .         .
//	FloorGranted, own turn  =            =         =         =
//	FloorOpened             =            =         =         =
//	VoteLost                I            I         I         I
//	ToolCalled              R            .         ~         ~
//	ToolReturned            ~            ~         ~         ~
//	ToolReturned, stream    =            =         =         =
//	ResponseDone, failed    I            I         ~         ~
//	ResponseDone, link lost I            I         ~         ~
//	SpeechDrained           .            .         I         .
//	SessionLost             .            I         .         I
//	SessionLost, for good   I            I         .         I
//	DeadlinePassed          I            .         .         .
//
// table:end
package turn
