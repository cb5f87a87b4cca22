// Package focus decides what is heard of a device that has several things to say: a turn before a call, a call before what
// rings, all of them before a book (TURNS.md 4). It is pure: Step takes a machine and a fact and returns a
// machine and orders. The coordinator owns the one machine of a device, feeds it and carries the orders out.
//
// Each channel has one activity at most, and of those the one with the lowest number is in the foreground. What is behind it
// sounds on softly if it can be mixed and nothing in front wants silence around itself, else it pauses; a new one of the same
// channel ends the old one. What was displaced comes back a breath after the last one in front has left, to where it was, unless it
// has been paused for longer than its patience: then it ends.
//
//	facts    Acquired, Released, Passed
//	orders   Play, Duck, Pause, End
//
// The table tells what becomes of content, and is written by TestTable from Step itself; `go test ./coordinator/focus -update`
// rewrites it. Behind a press is what somebody began who speaks into the microphone, behind a turn one that nobody pressed for. "."
// is no order.
//
// table:begin
//
//	                      none            book plays      behind a press  coming back     music plays     behind a turn   behind a press  behind a call
//	a press begins        .               pause           .               .               pause           pause           .               .
//	a turn begins         .               pause           .               .               duck            .               duck            .
//	a call begins         .               pause           .               .               pause           pause           .               .
//	an alert begins       .               pause           .               .               duck            .               .               .
//	other content begins  new: play       end, new: play  end, new: pause end, new: play  end, new: play  end, new: duck  end, new: pause end, new: pause
//	the turn is over      .               .               .               .               .               .               .               .
//	the press is over     .               .               .               .               .               .               .               .
//	the call is over      .               .               .               .               .               .               .               .
//	stop                  .               end             end             end             end             end             end             end
//	a breath later        .               .               .               play            .               .               .               .
//	5 minutes later       .               .               .               play            .               .               end             end
//	30 minutes later      .               .               end             play            .               .               end             end
//
// table:end
package focus
