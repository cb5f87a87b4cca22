// Package alert decides what of several alerts rings: a sound that comes again until a person presses, or until it has been heard
// for as long as it may be (TURNS.md 4). It is pure: Step takes a machine and a fact and returns a machine and orders. The
// coordinator owns the one machine of a device, tells it what goes before alerts (package focus), and carries the orders out.
//
// They ring one after the other, in the order in which they were asked for, so that each press is the answer to one that was heard.
// What is behind a turn or a call is silent and comes back with a new round; the time in which it cannot be heard does not count.
//
//	facts    Asked, Withdrawn, Answered, Fronted, Sounded, Passed
//	orders   Sound, Silence, End
//
// The table is written by TestTable from Step itself; `go test ./coordinator/alert -update` rewrites it. "." is no order.
//
// table:begin
//
//	                          none                    behind                  sounds                  between rounds          behind again            with another
//	another is asked for      .                       .                       .                       .                       .                       .
//	a person presses          .                       .                       cut, stopped            stopped                 stopped                 cut, stopped
//	it is withdrawn           .                       withdrawn               cut, withdrawn          withdrawn               withdrawn               cut, withdrawn
//	the other is withdrawn    .                       .                       .                       .                       .                       end 2 withdrawn
//	something goes before it  .                       .                       cut                     .                       .                       cut
//	nothing goes before it    .                       sound                   .                       .                       sound                   .
//	its round is over         .                       .                       .                       .                       .                       .
//	a pause later             .                       .                       .                       sound                   .                       .
//	5 minutes later           .                       .                       cut, failed             sound, cut, unanswered  .                       cut, failed
//	5 minutes, and heard      .                       .                       sound, cut, unanswered  sound, cut, unanswered  .                       sound, cut, unanswered
//
// table:end
package alert
