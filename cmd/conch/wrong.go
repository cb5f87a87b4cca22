package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"conch/device/config"
	"conch/device/pattern"
	"conch/device/printable"
)

// What is wrong with a command line is said in our own words: which word it is, what may stand there, and the nearest that may. The
// parser's own sentences are what there is to go by; a test tries each.

// wrongLine is what the parser found, for a person.
func wrongLine(p *kong.Kong, err error) string {
	node := p.Model.Node
	if parse := (*kong.ParseError)(nil); errors.As(err, &parse) {
		if n := parse.Context.Selected(); n != nil {
			node = n
		}
	}
	text := err.Error()
	for _, w := range wrongs {
		if m := w.said().FindStringSubmatch(text); m != nil {
			return w.say(node, m)
		}
	}
	return printable.Text(text) + " (see: " + commandPath(node) + " --help)"
}

// wrongs are the parser's sentences (kong 1.17: context.go, mapper.go, scanner.go), and ours.
var wrongs = []struct {
	said func() *regexp.Regexp
	say  func(node *kong.Node, m []string) string
}{
	{pattern.New(`^unexpected argument (.*?)(?:, did you mean .*)?$`), func(node *kong.Node, m []string) string { return superfluous(node, m[1]) }},
	{pattern.New(`^unknown flag (\S+?)(?:, did you mean .*)?$`), func(node *kong.Node, m []string) string { return noFlag(node, m[1]) }},
	{pattern.New(`^expected "<`), missing},
	{pattern.New(`^missing positional arguments`), missing},
	{pattern.New(`^expected `), whichCommand},
	{pattern.New(`^--(\S+) and --(\S+) can't be used together`), func(node *kong.Node, m []string) string {
		return fmt.Sprintf("%s--%s and --%s exclude each other; take one of them", named(node), m[1], m[2])
	}},
	{pattern.New(`^(?:--)?\[?<?([a-z-]+)>?\]?(?:=.*?)? must be one of .* but got "(.*)"$`), func(node *kong.Node, m []string) string {
		return notOneOf(node, m[1], m[2])
	}},
	{pattern.New(`^--([a-z-]+)(?:=.*?)?: (?:missing value|expected .* value but got "EOL|.*perhaps try)`), func(node *kong.Node, m []string) string {
		return needsValue(node, m[1])
	}},
	{pattern.New(`^--([a-z-]+)(?:=.*?)?: expected (?:a valid .* int|an int|duration|a float|"<key>=<value>") but got "([^"]*)"`),
		func(node *kong.Node, m []string) string { return badValue(node, m[1], m[2]) }},
	{pattern.New(`^--([a-z-]+)(?:=.*?)?: bool value must be .* but got "(.*)"`), func(_ *kong.Node, m []string) string {
		return fmt.Sprintf("--%s=%s: it takes no value: it is there or not", m[1], printable.Text(m[2]))
	}},
	{pattern.New(`^unexpected flag argument "(.*)"`), func(node *kong.Node, m []string) string {
		return fmt.Sprintf("%s=%s stands behind a flag that takes no value (see: %s --help)", named(node), printable.Text(m[1]), commandPath(node))
	}},
}

// named is a command before what is wrong with it, as all messages have it: "room pair: ".
func named(node *kong.Node) string {
	if node.Parent == nil {
		return ""
	}
	return commandName(node) + ": "
}

// commandName is its name without the program's.
func commandName(node *kong.Node) string { return strings.TrimPrefix(commandPath(node), "conch ") }

// superfluous is a word too many: the name of no command, or one for which there is no place.
func superfluous(node *kong.Node, word string) string {
	word = strings.Trim(word, `"`)
	if len(node.Children) > 0 {
		return noCommand(node, word)
	}
	path := commandPath(node)
	if p := node.Parent; p.DefaultCmd == node { // it was not named: another command was meant
		return noCommand(p, word)
	}
	if len(node.Positional) == 0 {
		return fmt.Sprintf("%s takes no argument, and %s is one (see: %s --help)", commandName(node), quotedSafely(word), path)
	}
	return fmt.Sprintf("%s%s is one too many: it is %s; words that belong together stand in quotes", named(node), quotedSafely(word), commandUsage(node, path))
}

// noCommand says which commands there are.
func noCommand(node *kong.Node, word string) string {
	path := commandPath(node)
	names := below(node)
	hint := ""
	if other := elsewhere(node, word); other != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", other)
	} else if near := config.Nearest(word, names); near != "" {
		hint = fmt.Sprintf(" (did you mean %s %s?)", path, near)
	}
	text := fmt.Sprintf("%sthere is no command %s%s", named(node), quotedSafely(word), hint)
	if node.Parent == nil {
		return text + "; conch help lists them"
	}
	return text + "; there is " + listed(names)
}

// elsewhere is a command of that name below another one: conch list is conch room list, if there were only one.
func elsewhere(node *kong.Node, word string) string {
	root := node
	for root.Parent != nil {
		root = root.Parent
	}
	var all []string
	for _, p := range places(root, commandPath(root), nil) {
		if p.node.Name == word && p.node != node {
			all = append(all, p.path)
		}
	}
	return listed(all)
}

// whichCommand: a command that does nothing by itself stands alone.
func whichCommand(node *kong.Node, _ []string) string {
	path := commandPath(node)
	return fmt.Sprintf("%ssay which: %s (see: %s --help)", named(node), listed(below(node)), path)
}

func below(node *kong.Node) (names []string) {
	for _, child := range node.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	return names
}

func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// noFlag names the nearest that there is.
func noFlag(node *kong.Node, flag string) string {
	path := commandPath(node)
	var names []string
	for _, level := range node.AllFlags(true) {
		for _, f := range level {
			names = append(names, "--"+f.Name)
		}
	}
	if !strings.HasPrefix(flag, "--") && len(flag) == 1 {
		flag = "-" + flag
	}
	hint := "see: " + path + " --help"
	if near := config.Nearest(flag, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Sprintf("%sthere is no flag %s (%s)", named(node), printable.Cut(printable.Text(flag), 40), hint)
}

// missing: an argument has to be there.
func missing(node *kong.Node, _ []string) string {
	path := commandPath(node)
	for _, arg := range node.Positional {
		if arg.Required && !arg.Set {
			return fmt.Sprintf("%s%s is missing (%s); it is %s", named(node), argument(arg),
				lowerFirst(strings.TrimSuffix(arg.Help, ".")), commandUsage(node, path))
		}
	}
	return fmt.Sprintf("%san argument is missing; it is %s", named(node), commandUsage(node, path))
}

// quotedSafely is a word of the command line, short; a key that slipped in is not said aloud.
func quotedSafely(word string) string {
	if strings.HasPrefix(word, "sk-") {
		return `"sk-…"`
	}
	return printable.Quote(printable.Cut(word, 40))
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// notOneOf: an argument or flag has one of a few values.
func notOneOf(node *kong.Node, name, value string) string {
	var allowed []string
	shown := "--" + name
	for _, arg := range node.Positional {
		if arg.Name == name {
			shown, allowed = argument(arg), arg.EnumSlice()
		}
	}
	if f := flagOf(node, name); f != nil {
		allowed = f.EnumSlice()
	}
	allowed = slices.DeleteFunc(allowed, func(w string) bool { return w == "" })
	return fmt.Sprintf("%s%s %s: must be %s", named(node), shown, quotedSafely(value), listed(allowed))
}

func flagOf(node *kong.Node, name string) *kong.Flag {
	for _, level := range node.AllFlags(false) {
		for _, f := range level {
			if f.Name == name {
				return f
			}
		}
	}
	return nil
}

func needsValue(node *kong.Node, name string) string {
	f := flagOf(node, name)
	if f == nil {
		return fmt.Sprintf("%s--%s needs a value", named(node), name)
	}
	return fmt.Sprintf("%s--%s needs a value: --%s=%s (see: %s --help)", named(node), name, name, placeHolder(f), commandPath(node))
}

// badValue: a flag's value is of another kind.
func badValue(node *kong.Node, name, value string) string {
	must := "must be as conch --help says"
	if f := flagOf(node, name); f != nil {
		switch f.Target.Type().String() {
		case "int", "int64":
			must = "must be a whole number"
		case "float64":
			must = "must be a number"
		case "time.Duration":
			must = "must be a time with its unit, as in 90s or 2m"
		case "map[string]string":
			must = "must be KEY=VALUE, as in audio.volume=40 (conch check lists the keys)"
		}
	}
	return fmt.Sprintf("%s--%s %s: %s", named(node), name, quotedSafely(value), must)
}
