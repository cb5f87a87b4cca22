// Package round is a room's turn-taking: who votes how on a message, who is selected, who holds the floor, and what happens
// when somebody presses, dies, freezes, lies or cannot be reached. It is pure: Step takes a machine and a fact and
// returns a machine and orders; JudgeAll and Decide are functions of what they are given; companions/words reads what was said.
// No goroutine, channel, clock, log or random number is in it; time arrives in facts. Every device owns one Machine, which
// companions.Room alone moves; agreement comes from Decide being the same everywhere and from claims that are compared the same
// way everywhere.
//
//	facts (event.go, packet.go) ──> Step (step*.go) ──> orders (effect.go)
//	                                 │  step.go     what calls what
//	                                 │  rounds.go   message, roster, decision; votes.go, candidates.go
//	                                 │  members.go  who is here: beats, cards; names.go, control.go
//	                                 │  floor.go    what this device says; claims.go: what others claim
//	                                 │  epoch.go    which press counts; presses.go: how many do; numbers.go: where the room counts
//	                                 │  orders.go   what is sent and recorded; history.go
//	                                 │  state.go    what is known; queries.go, machine.go
//	                  JudgeAll: obligations, score ─> votes
//	                  Decide:   roster, votes      ─> Decision
//
// There is one round at a time, that of the newest message; epochs make everything older void; numbers order the messages
// of an epoch. Rules are those of ROOM.md; a comment names the section. Bounds are in config.go.
//
// # Two voices
//
// Of two claims for the floor one counts, on every device the same (Better). A claim that cannot be heard yet yields to a better claim
// and to whoever can be heard. Of two that can be heard, each hears the other's Speaking, compares the same two claims (which are said
// again for somebody who missed one), and the worse one stops. I1 says how long that takes. Where a press counted at one of them only, it
// stops where that did not count: by the numbers or, if they are far apart, because a press that counted is known to be over.
//
// # Invariants
//
// I1 to I6 are those of ROOM.md 8. TestSimulation (make sim) checks them at every Step of every device of a room with faults, besides
// that nothing is woken in vain and every bound holds.
//
// # Table
//
// Written by TestTable from Step itself; `go test ./companions/round -update` rewrites it. The device is b with ben; the
// message is of a person at a, where ada lives; cleo lives at c. A cell names the situation that follows: = gives
// orders and stays, ~ reports something that changes nothing, . does nothing that can be seen. The orders of each
// cell are in testdata/cells.txt.
//
// table:begin
//
//	I  nobody says anything
//	H  a finger on the button here
//	h  a finger on a button elsewhere
//	V  votes are awaited
//	D  decided: cleo, who lives elsewhere
//	C  cleo has claimed
//	S  cleo can be heard
//	R  and ben is ready to be next
//	P  ben has claimed: the pause
//	Q  ben may be heard
//	T  ben can be heard
//	U  what was said here has no words yet
//	W  and ben can be heard
//	O  the answer is over
//
//	                            I  H  h  V  D  C  S  R  P  Q  T  U  W  O
//	Pressed                     H  =  =  H  H  H  H  H  H  H  H  H  H  H
//	PressEnded                  ~  I  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~
//	Said                        V  V  =  =  V  V  V  V  V  V  V  V  V  V
//	Said, nothing               ~  I  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~
//	SaidLate                    ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  V  =  ~
//	SaidLate, of no such turn   ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~
//	SpeechBegan                 ~  ~  ~  ~  ~  ~  ~  ~  ~  T  ~  ~  ~  ~
//	SpeechKnown                 ~  ~  ~  ~  ~  ~  ~  ~  .  .  =  ~  ~  ~
//	SpeechEnded                 ~  ~  ~  ~  ~  ~  ~  ~  D  D  V  ~  ~  ~
//	SpeechEnded, wordless       ~  ~  ~  ~  ~  ~  ~  ~  O  O  O  ~  ~  ~
//	SpeechEnded, failed         ~  ~  ~  ~  ~  ~  ~  ~  D  D  D  ~  ~  ~
//	Refined                     ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~
//	CardsChanged                =  =  =  =  =  =  =  =  =  =  =  =  =  =
//	Controlled                  =  =  =  =  =  =  =  =  =  =  =  =  =  =
//	PeopleKnown                 .  .  .  .  .  .  .  .  .  .  .  .  .  .
//	MembersListed               =  =  =  =  =  =  =  =  =  =  =  =  =  =
//	LinkChanged, down           =  =  I  Q  Q  Q  Q  Q  =  =  =  =  =  =
//	Tick, the next deadline     =  =  =  P  =  =  =  =  Q  =  =  =  =  =
//	Press, newer                h  =  =  h  h  h  h  h  h  h  h  h  h  h
//	Press, of the same time     h  =  =  h  h  h  h  h  h  h  h  h  h  h
//	Press, older                h  =  =  h  h  h  h  h  h  h  h  h  h  h
//	PressOver                   =  .  I  .  .  .  .  .  .  .  .  I  I  .
//	Message of a person         V  =  =  =  V  V  V  V  V  V  V  V  V  V
//	Message, the next one       =  =  =  =  V  =  =  ~  V  V  =  =  =  V
//	Message, seen or old        V  =  V  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~
//	Message, forged             ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~
//	Votes, the last ones        .  ~  .  .  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~
//	Votes, of a stranger        .  ~  .  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~
//	Votes, before their message .  ~  .  .  .  .  .  ~  .  .  .  ~  ~  .
//	Claim, better               C  ~  =  C  C  .  .  .  C  C  =  =  =  .
//	Claim, worse                C  ~  =  C  C  =  =  ~  =  =  =  =  =  C
//	Claim, instead of ben       C  ~  =  C  C  =  =  ~  C  C  =  =  =  C
//	Withdraw                    =  ~  ~  ~  ~  D  D  P  ~  ~  ~  ~  ~  ~
//	Speaking                    S  ~  .  S  S  S  .  .  S  S  =  =  =  S
//	Speaking, worse             S  ~  .  S  S  S  .  .  S  S  =  =  =  S
//	Release                     =  .  =  =  O  O  O  P  =  =  =  P  T  =
//	Release, failed             =  .  =  =  P  P  P  P  =  =  =  =  =  =
//	Ended                       =  ~  =  =  =  =  =  ~  =  =  =  =  =  =
//	Gone, the speaker's         =  =  =  =  P  P  P  P  =  =  =  =  =  =
//	Beat                        .  .  .  .  .  .  .  .  .  .  .  .  .  .
//	Beat, newer epoch           .  .  .  .  .  .  .  .  .  .  .  .  .  I
//	Beat, other cards           =  =  =  =  =  =  =  =  =  =  =  =  =  =
//	HistoryAsk                  .  .  .  .  .  .  .  .  .  .  .  .  .  .
//	History                     ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~  ~
//	Control                     =  =  =  =  =  =  =  =  =  =  =  =  =  =
//	Seen                        .  .  .  .  .  .  .  .  .  .  .  .  .  .
//
// table:end
//
// Who talks with whom is a table of its own: testdata/threads.txt.
package round
