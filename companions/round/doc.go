// Package round is a room's turn-taking: who votes how on a message, who is selected, who holds the floor, and what happens
// when somebody presses, dies, freezes, lies or cannot be reached. It is pure: Step takes a machine and a fact and
// returns a machine and orders; Judge and Decide are functions of what they are given. No goroutine, channel, clock, log
// or random number is in it; time arrives in facts. Every device owns one Machine; agreement comes from Decide being
// the same everywhere and from claims that are compared the same way everywhere.
//
//	facts (event.go, packet.go) ──> Step ──> orders (effect.go)
//	                                 │
//	                  Judge: obligations, score ─> Vote
//	                  Decide: roster, votes      ─> Decision
//
// Rules are those of room.md; a comment names the section.
package round
