// Package doctor looks at everything a press and its answer need, each thing on its own, and says what is wrong, why, and
// what to do about it. It changes nothing and starts no turn.
package doctor
