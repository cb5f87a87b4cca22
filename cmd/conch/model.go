package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"conch/device/config"
	"conch/device/lights"
	"conch/device/setup"
)

// The man page and the completions are made from what the parser itself knows, so that they cannot disagree with it.

// place is one command as a person types it, with what may follow.
type place struct {
	path  string // "conch audio list"
	help  string
	node  *kong.Node
	below []*kong.Node // subcommands
	flags []*kong.Flag // its own and those of the commands above it
}

// places are all commands a person is told of, each before those below it.
func places(node *kong.Node, path string, above []*kong.Flag) []place {
	p := place{path: path, help: node.Help, node: node}
	p.flags = slices.Clone(above)
	for _, f := range node.Flags {
		if !f.Hidden {
			p.flags = append(p.flags, f)
		}
	}
	list := []place{}
	for _, child := range node.Children {
		if child.Hidden {
			continue
		}
		p.below = append(p.below, child)
		list = append(list, places(child, path+" "+child.Name, p.flags)...)
	}
	return append([]place{p}, list...)
}

// values is what a shell can offer for a flag or an argument.
type values struct {
	files, dirs bool
	words       []string
	from        string // what conch complete is asked for: the machine and the appliance that runs know it, at the moment
}

func (v values) any() bool { return v.files || v.dirs || v.from != "" || len(v.words) > 0 }

func valuesOf(v *kong.Value, placeholder string) values {
	switch {
	case v.Enum != "":
		return values{words: slices.DeleteFunc(v.EnumSlice(), func(w string) bool { return w == "" })}
	case placeholder == "KEY=VALUE":
		return values{from: "settings"}
	case placeholder == "LOOK":
		w := values{words: []string{"all"}}
		for _, l := range lights.Looks() {
			w.words = append(w.words, l.Name)
		}
		return w
	case strings.HasPrefix(placeholder, "FILE"):
		return values{files: true}
	case strings.HasPrefix(placeholder, "DIR"):
		return values{dirs: true}
	}
	switch v.Name { // of an argument or a flag, wherever it is
	case "device":
		return values{from: "devices"}
	case "companion", "to":
		return values{from: "companions"}
	case "playback", "capture":
		return values{from: v.Name}
	case "board":
		return values{words: append(config.Choices("device.board"), "none")}
	case "language":
		return values{words: config.Choices("device.language")}
	case "active":
		return values{words: config.Choices("button.active")}
	case "votes":
		return values{words: config.Choices("room.votes")}
	case "steps", "only":
		return values{words: setup.Names()}
	case "command":
		return values{from: "commands"}
	}
	return values{}
}

func spellings(f *kong.Flag) []string {
	s := []string{"--" + f.Name}
	if f.Short != 0 {
		s = append(s, "-"+string(f.Short))
	}
	return s
}

func takesValue(f *kong.Flag) bool { return !f.IsBool() && !f.IsCounter() }
