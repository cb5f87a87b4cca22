// Package alert decides when alerts ring: a sound that comes again until a person presses, or until it has been heard for as long as it
// may be (TURNS.md 4). It is pure: Step takes a machine and a fact and returns a machine and orders. The
// coordinator owns the one machine of a device, tells it what goes before alerts (package focus), and carries the orders out.
//
// All that are due ring together as one, and a press ends them all; two that are due within one round are due together. What becomes due
// later joins with the next round, and is known to a person when that is over: a press before leaves it, and it begins anew. Each has a time
// of its own, which what cannot be heard does not count against: behind a turn or a call alerts are silent, and come back with a new round.
//
//	facts    Asked, Withdrawn, Answered, Hushed, Gestured, Calmed, Fronted, Sounded, Passed
//	orders   Sound, Silence, End
//
// The table is written by TestTable from Step itself; `go test ./coordinator/alert -update` rewrites it. "." is no order,
// "cut" is Silence, and "1 over" the end of the first as unanswered.
//
// table:begin
//
//	                              none  behind       sounds              between rounds      behind again  another waits         another has joined          another soon                two ring                    rests        rings once more
//	another is asked for          .     .            cut, sound          sound               .             .                     cut, sound                  cut, sound                  sound                       .            cut, sound
//	a person presses              .     .            cut, 1 stopped      1 stopped           1 stopped     cut, 1 stopped        cut, 1 stopped              1 stopped, cut, 2 stopped   1 stopped, 2 stopped        .            cut, 1 stopped
//	it is hushed                  .     .            cut                 .                   .             cut                   cut                         cut                         .                           .            cut, 1 unheeded
//	a tap when it is quiet        .     .            .                   .                   .             .                     .                           .                           .                           1 pressed    .
//	a hush here when it is quiet  .     .            .                   .                   .             .                     .                           .                           .                           1 stopped    .
//	it is withdrawn               .     1 withdrawn  cut, 1 withdrawn    1 withdrawn         1 withdrawn   cut, 1 withdrawn      1 withdrawn                 1 withdrawn                 1 withdrawn                 1 withdrawn  cut, 1 withdrawn
//	the other is withdrawn        .     .            .                   .                   .             2 withdrawn           2 withdrawn                 2 withdrawn                 2 withdrawn                 .            .
//	something goes before it      .     .            cut                 .                   .             cut                   cut                         cut                         .                           .            cut
//	nothing goes before it        .     sound        .                   .                   sound         .                     .                           .                           .                           .            .
//	its round is over             .     .            .                   .                   .             .                     .                           .                           .                           .            .
//	a pause later                 .     .            .                   sound               .             .                     .                           .                           sound                       .            .
//	a minute later                .     .            .                   sound               .             .                     .                           .                           sound                       sound        .
//	5 minutes later               .     .            cut, 1 failed       sound, cut, 1 over  .             cut, 1 over, sound 2  1 over, cut, 2 failed       1 failed, cut, 2 failed     sound, 1 over, cut, 2 over  sound        cut, 1 failed
//	5 minutes, and heard          .     .            sound, cut, 1 over  sound, cut, 1 over  .             sound, 1 over         sound, 1 over, cut, 2 over  sound, 1 over, cut, 2 over  sound, 1 over, cut, 2 over  sound        sound, cut, 1 over
//
// table:end
package alert
