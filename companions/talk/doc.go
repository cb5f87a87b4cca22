// Package talk makes turns of what the room grants to the companions of a device, and facts for the room of what becomes of them.
//
//	room: Granted, Opened, Abandoned ─┐              ┌─> coordinator: FloorGranted, FloorOpened, VoteLost; Hush
//	device: Asked, WordsCame         ─┼─> Step ──────┼─> room: TellWords, TellLate, TellBegan, TellKnown, TellEnded
//	coordinator: SpeechBegan, …       ┘              └─> voices: Remember; speaker: SayWords
//
// It is pure: facts go in one after the other, orders come out and are carried out in their order. So the room hears of the end of
// an answer after its beginning, whoever came first to tell.
//
// A question begins here, by a press or typed (Asked). Either the room decides who answers, or, where nobody else is, the first
// companion answers at once (Alone), and the room, which grants it a moment later, is told of what has become of it by then. An
// answer that was Granted ends with exactly one TellEnded: when its turn ends, when it is Abandoned and nothing came of it within
// half a second, or at once where its voice is not there.
//
// In the table a column is a situation: asked a question of this device waits for the room; unwritten the room knows of it, and not
// what was said; ready it was granted to the companion that heard it; heard it may sound; given up it may no longer; alone it is
// answered without the room, spoken it was answered so before the room knew of it, told the room knows of it, and has granted it;
// elsewhere a message from another device was granted.
//
//	p TellPress  w TellWords  l TellLate  x TellPressEnded  b TellBegan  k TellKnown  e TellEnded
//	G FloorGranted  O FloorOpened  L VoteLost  H Hush  R Remember  S SayWords
//	* noted, nothing to do  . nothing
//
// # Table
//
//	                       nothing   asked     unwritten ready     heard     given up  alone     spoken    told      elsewhere
//	Asked                  *         *         *         *         *         *         *         *         *         *
//	Announced              p         p         p         p         p         p         p         p         p         p
//	InputCommitted         .         *         .         *         *         *         *         *         .         .
//	WordsCame              .         w         l         w         w         w         w         w         .         .
//	WordsCame, unwritten   .         w         .         w         w         w         w         w         .         .
//	SpeechBegan            .         *         *         b         b         b         *         .         .         .
//	SpeechKnown            .         *         *         k         k         k         *         .         *         .
//	TurnEnded              .         x         *         xe        xe        xe        *         .         *         .
//	TurnEnded, unheard     .         x         *         xe        xe        xe        x         x         *         .
//	TurnEnded, failed      .         x         *         xe        xe        xe        x         x         *         .
//	TurnEnded, wordless    .         x         *         xe        xe        xe        *         *         *         .
//	TurnEnded, the other   .         .         .         .         .         .         .         .         .         e
//	Granted, own turn      LG        G         G         G         G         G         *         *         *         LG
//	Granted, to another    LG        LG        LG        LG        LG        LG        LG        LG        LG        LG
//	Granted, no voice      e         e         e         e         e         e         e         e         e         e
//	Opened                 .         .         .         O         .         .         .         .         b         O
//	Abandoned              .         .         .         L         H         .         .         .         H         L
//	VoteLost               L         L         L         L         L         L         .         .         .         L
//	MessageHeard           RR        R         R         R         R         R         R         R         R         RR
//	MessageHeard, own      R         R         R         .         .         .         R         R         .         .
//	AnswerFailed           *         *         *         *         *         *         *         *         *         *
//	Unanswered             .         *         *         *         *         *         *         .         *         .
//	Unanswered, muted      .         *         *         *         *         *         *         S         *         .
//	MannersTurned          .         .         .         .         .         .         .         .         .         .
//	DeadlinePassed         .         .         .         .         .         e         .         .         .         .
//
// # End of the table
package talk
