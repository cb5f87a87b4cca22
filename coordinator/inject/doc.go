// Package inject decides when what nobody pressed for may be said: the queue of injected turns (TURNS.md 5). It is pure: the time and
// the situation come in, what is to be said and what became of each go out. The coordinator owns the one queue of a device.
package inject
