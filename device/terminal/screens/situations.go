package main

import "time"

// situation is one screen and the way to it.
type situation struct {
	name, title   string
	width, height int
	env, args     []string
	shell         bool // begins in a shell; the way says what it starts
	steps         []step
}

var (
	up     = sees(`> $|> \n|>\s*$`)
	second = time.Second
)

var situations = []situation{
	{name: "01-start", title: "conch run, its first screen", width: 80, args: []string{"run"}, steps: []step{up, waits(second)}},
	{name: "02-help", title: "a question mark, and help", width: 80, height: 24, args: []string{"run"},
		steps: []step{up, waits(second), says("?"), waits(6 * second)}},
	{name: "03-speaks", title: "while it speaks", width: 80, args: []string{"run"},
		steps: []step{up, waits(second), says("tell me a story"), waits(6 * second)}},
	{name: "04-cut", title: "a press in the middle of it", width: 80, args: []string{"run"},
		steps: []step{up, waits(second), says("tell me a story"), waits(6 * second), strikes("Space"), waits(second), strikes("Space"), waits(3 * second)}},
	{name: "05-muted", title: "muted, from another shell", width: 80, args: []string{"run"},
		steps: []step{up, waits(second), runs("mute", "on"), says("what is two plus two"), sees(`is 4\.`), waits(second)}},
	{name: "06-editing", title: "a long line, wrapped and mended, at 60 columns", width: 60, args: []string{"run"},
		steps: []step{up, waits(second), says("what is one plus one"), sees(`is 2\.`), waits(second), strikes("Up"), waits(second / 5), types(" and what is two plus two, if you can say that in one answer"),
			strikes("Left", "Left", "Left", "Left", "Left", "Left", "BSpace", "BSpace", "BSpace", "BSpace"), types("a single "), waits(second)}},
	{name: "07-log", title: "the log is wished for by the configuration", width: 100, height: 20, env: []string{"CONCH_LOG_LEVEL=info"}, args: []string{"run"},
		steps: []step{up, waits(second), says("what is two plus two"), sees(`is 4\.`), types("tell me a"), waits(2 * second)}},
	{name: "08-room", title: "a room of three", width: 80, height: 30, args: []string{"rehearse"},
		steps: []step{up, waits(second), says("what do you all think about rain"), sees(`Ben \(bedroom\): `), waits(4 * second)}},
	{name: "09-unknown", title: "a place that is not there, somebody who is gone, and thanks", width: 80, height: 30, args: []string{"rehearse"},
		steps: []step{up, waits(second), says("garage: hello"), waits(5 * second), says("kill hall"), waits(4 * second), says("Cleo, are you there"), waits(6 * second), says("thank you"), waits(3 * second)}},
	{name: "10-narrow", title: "20 columns, no colour, no UTF-8", width: 20, height: 24, env: []string{"NO_COLOR=1", "LANG=C", "LC_ALL=C"}, args: []string{"run"},
		steps: []step{up, waits(second), says("what is two plus two"), sees(`is 4\.|is\s+4\.`), types("and what is three plus four"), waits(second)}},
}

// tour is the recording for who has never seen a room.
var tour = situation{name: "room", title: "conch rehearse: three companions in three rooms", width: 92, height: 34, args: []string{"rehearse"},
	steps: []step{
		up,
		waits(2 * second), says("what do you all think about rain"), sees(`Ben \(bedroom\): `), waits(3 * second),
		says("Ben, tell me a story"), waits(8 * second), strikes("Space"), waits(2 * second),
		says("garage: hello"), waits(4 * second), says("thank you"), waits(4 * second),
	}}
