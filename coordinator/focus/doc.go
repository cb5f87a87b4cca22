// Package focus decides what is heard of a device that has several things to say: a turn before a call, a call before what
// rings, all of them before a book (TURNS.md 4). It is pure: Step takes a machine and a fact and returns a
// machine and orders. The coordinator owns the one machine of a device, feeds it and carries the orders out.
//
// Each channel has one activity at most, content three on one another, and the one with the lowest number is in the foreground. What is behind
// it sounds on softly if it can be mixed and nothing in front wants silence around itself, else it pauses, as what lies beneath other content
// does. A new one of the same channel ends the old one; new content displaces it. What was displaced comes back a breath after the last one
// in front has left, to where it was, unless it has been paused for longer than its patience: then it ends. After a stop content waits until a
// person asks for it.
//
//	facts    Acquired, Released, Stopped, Resumed, Passed
//	orders   Play, Duck, Pause, End
//
// The table tells what becomes of content, and is written by TestTable from Step itself; `go test ./coordinator/focus -update`
// rewrites it. Behind a press is what somebody began who speaks into the microphone, behind a turn one that nobody pressed for. "."
// is no order.
//
// table:begin
//
//	                      none              book plays        behind a press    coming back       music plays       behind a turn     behind a press    behind a call     book on music     stopped
//	a press begins        .                 pause             .                 .                 pause             pause             .                 .                 pause             .
//	a turn begins         .                 pause             .                 .                 duck              .                 duck              .                 pause             .
//	a call begins         .                 pause             .                 .                 pause             pause             .                 .                 pause             .
//	an alert begins       .                 pause             .                 .                 duck              .                 .                 .                 pause             .
//	other content begins  new: play         pause, new: play  new: pause        new: play         pause, new: play  new: duck, pause  new: pause        new: pause        pause, new: play  new: play
//	the turn is over      .                 .                 .                 .                 .                 .                 .                 .                 .                 .
//	the press is over     .                 .                 .                 .                 .                 .                 .                 .                 .                 .
//	the call is over      .                 .                 .                 .                 .                 .                 .                 .                 .                 .
//	it is over            .                 end               end               end               end               end               end               end               end               end
//	stop                  .                 pause             .                 .                 pause             pause             .                 .                 pause             .
//	go on                 .                 .                 .                 play              .                 .                 .                 .                 .                 play
//	a breath later        .                 .                 .                 play              .                 .                 .                 .                 .                 .
//	5 minutes later       .                 .                 .                 play              .                 .                 end               end               end               end
//	30 minutes later      .                 .                 end               play              .                 .                 end               end               end               end
//
// table:end
package focus
