package config

import "path/filepath"

// What skills need to know.

// Intercom is calls between people at two devices of a room.
type Intercom struct {
	Enabled bool
	Port    int // that a caller opens for the one that it calls
}

// Knob is how the volume is changed without a word; how loud it is, is of Audio.
type Knob struct {
	Encoder string // two pins; empty: there is none
	Keys    string // auto, on, off
	Step    int    // percent
}

// Pressed says whether volume keys count, where presses come from source.
func (k Knob) Pressed(source string) bool {
	return k.Keys == "on" || k.Keys == "auto" && source == "evdev"
}

// Library is the household's own sound.
type Library struct {
	Folder string // empty: library/ in the state directory
}

// Radio is what is played from the network.
type Radio struct {
	Stations []Station
}

// Tools is what calls of tools are let beyond the table of causes (SKILLS.md 2.5).
type Tools struct {
	Allow []string // each CAUSE: TOOL
}

// Station is one of them.
type Station struct{ Name, URL string }

// LibraryFolder is where the household's own sound lies; empty: nowhere.
func (c Config) LibraryFolder() string {
	if c.Library.Folder == "" && c.State.Dir != "" {
		return filepath.Join(c.State.Dir, "library")
	}
	return c.Library.Folder
}
