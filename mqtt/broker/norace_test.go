//go:build !race

package broker

const underRace = false
