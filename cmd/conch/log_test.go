package main

import "testing"

func TestWhoReadsTheLog(t *testing.T) {
	for _, c := range []struct {
		name  string
		place logPlace
		want  logTo
	}{
		{"a person at a terminal", logPlace{person: true}, logNowhere},
		{"a person who wants it", logPlace{person: true, wished: true}, logScreen},
		{"a script, a pipe", logPlace{}, logWarnings},
		{"a script that wants it", logPlace{wished: true}, logAll},
		{"a service, a file, the journal", logPlace{kept: true}, logAll},
	} {
		if got := c.place.decide(); got != c.want {
			t.Errorf("%s: %v; want %v", c.name, got, c.want)
		}
	}
}
