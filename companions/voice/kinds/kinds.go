// Package kinds is the list of the voices that ship with conch.
package kinds

import (
	"slices"

	"conch/companions/voice"
	"conch/companions/voice/cascade"
	"conch/companions/voice/either"
	"conch/companions/voice/realtime"
	"conch/companions/voice/rehearsal"
)

// All are those that voice.kind may name, in the order in which people are told of them.
var All = []voice.Kind{
	realtime.Kind(),
	cascade.Kind(),
	rehearsal.Kind(rehearsal.Options{Discreet: true}),
}

// Auto is what an address comes to that does not say what it speaks.
var Auto = either.Kind()

// Names are theirs.
func Names() (names []string) {
	for _, k := range All {
		names = append(names, k.Name)
	}
	return names
}

// Voices are the names of voices that any of them knows, in order.
func Voices() (names []string) {
	for _, k := range All {
		names = append(names, k.Names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Find is the voice of a name; the zero Kind: there is none.
func Find(name string) (found voice.Kind) {
	if i := slices.IndexFunc(All, func(k voice.Kind) bool { return k.Name == name }); i >= 0 {
		found = All[i]
	}
	return found
}
