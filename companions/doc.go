// Package companions is who speaks: a companion's tools, its voices and, in a room, its part of a round.
//
//	skills/     what a companion can do; Toolbox makes tools of them that the coordinator can call
//	voice/      where the words come from
//
// It knows the words of the coordinator (coordinator/turn) and nothing of the device; device adapts one to the other.
package companions
