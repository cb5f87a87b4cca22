package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"conch/device/control"
)

// groups are the commands by who needs them, and when.
var groups = []kong.Group{
	{Key: "day", Title: "Every day:"},
	{Key: "setup", Title: "Set-up, and when something is wrong:"},
	{Key: "room", Title: "Several devices:"},
	{Key: "developing", Title: "Developing and measuring:"},
}

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command; without it, all of them."`
}

func (c helpCmd) Run(e *env, k *kong.Context) error {
	node := k.Model.Node
	for _, word := range c.Command {
		i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word })
		if i < 0 {
			return fmt.Errorf("%w: %s", control.ErrRefused, noCommand(node, word))
		}
		node = node.Children[i]
	}
	return writeHelp(e.out, k.Model, node, columns(e.out, 80))
}

// printHelp is --help.
func printHelp(_ kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Selected()
	if node == nil {
		node = ctx.Model.Node
	}
	return writeHelp(ctx.Stdout, ctx.Model, node, columns(ctx.Stdout, 80))
}

// writeHelp explains one command, or conch itself.
func writeHelp(w io.Writer, app *kong.Application, node *kong.Node, width int) error {
	var b strings.Builder
	paragraph := func(text string) {
		for _, p := range strings.Split(text, "\n\n") {
			fmt.Fprintf(&b, "\n%s\n", strings.Join(wrapped(p, width), "\n"))
		}
	}
	all := node == app.Node
	path := commandPath(node)
	fmt.Fprintf(&b, "Usage: %s\n", commandUsage(node, path))
	paragraph(node.Help)
	if node.Detail != "" {
		paragraph(node.Detail)
	}
	var rows [][2]string
	for _, arg := range node.Positional {
		rows = append(rows, [2]string{argument(arg), arg.Help})
	}
	table := func(title string) {
		if len(rows) > 0 {
			fmt.Fprintf(&b, "\n%s\n", title)
			twoColumns(&b, "  ", rows, width)
		}
		rows = nil
	}
	table("Arguments:")
	if !all {
		rows = flagRows(node.Flags)
		table("Flags:")
	}
	for _, g := range commandGroups(node, all) {
		for _, child := range g.nodes {
			if len(g.nodes) > 1 || len(child.Children) == 0 {
				rows = append(rows, [2]string{child.Name, briefly(child, all)})
				continue
			}
			for _, grandchild := range child.Children { // a group of one: what is in it is what one looks for
				rows = append(rows, [2]string{child.Name + " " + grandchild.Name, grandchild.Help})
			}
		}
		table(g.title)
	}
	writeExamples(&b, examples[path], width)
	rows = flagRows(app.Flags)
	table("Flags of every command:")
	if len(node.Children) > 0 {
		fmt.Fprintf(&b, "\nMore: %s COMMAND --help\n", path)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeExamples has what a line does behind it, or below where there is little room.
func writeExamples(b *strings.Builder, list []example, width int) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\nExamples:\n")
	longest, about := 0, 0
	for _, x := range list {
		longest, about = max(longest, len(x.line)), max(about, len(x.about))
	}
	for _, x := range list {
		if 2+longest+2+about <= width {
			fmt.Fprintf(b, "  %-*s  %s\n", longest, x.line, x.about)
			continue
		}
		fmt.Fprintf(b, "  %s\n", x.line)
		for _, l := range wrapped(x.about, width-6) {
			fmt.Fprintf(b, "      %s\n", l)
		}
	}
}

func commandPath(node *kong.Node) string {
	if node.Parent == nil {
		return node.Name
	}
	return commandPath(node.Parent) + " " + node.Name
}

func commandUsage(node *kong.Node, path string) string {
	if len(node.Children) > 0 {
		return path + " COMMAND [flags]"
	}
	for _, arg := range node.Positional {
		path += " " + argumentSummary(arg)
	}
	return path + " [flags]"
}

// argumentSummary is how an argument stands in a usage line: in brackets where it may be left out, dots where there may be more.
func argumentSummary(arg *kong.Positional) string {
	s := argument(arg)
	if arg.IsCumulative() {
		s += " ..."
	}
	if !arg.Required {
		s = "[" + s + "]"
	}
	return s
}

func flagRows(flags []*kong.Flag) (rows [][2]string) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		name := "--" + f.Name
		if f.Short != 0 {
			name = fmt.Sprintf("-%c, %s", f.Short, name)
		}
		if takesValue(f) {
			name += "=" + placeHolder(f)
		}
		about := f.Help
		if f.Name == "help" {
			about = "This text."
		}
		rows = append(rows, [2]string{name, about})
	}
	return rows
}

// placeHolder is what stands for a flag's value.
func placeHolder(f *kong.Flag) string { return strings.Trim(f.FormatPlaceHolder(), `"`) }

type commandGroup struct {
	title string
	nodes []*kong.Node
}

// commandGroups are what is below a command: in the groups that it is in where all is shown, else in one.
func commandGroups(node *kong.Node, all bool) []commandGroup {
	one := commandGroup{title: "Commands:"}
	list := make([]commandGroup, len(groups))
	for i, g := range groups {
		list[i].title = g.Title
	}
	for _, child := range node.Children {
		i := -1
		if g := child.Group; all && g != nil {
			i = slices.IndexFunc(groups, func(known kong.Group) bool { return known.Key == g.Key })
		}
		switch {
		case child.Hidden:
		case i >= 0:
			list[i].nodes = append(list[i].nodes, child)
		default:
			one.nodes = append(one.nodes, child)
		}
	}
	list = append(list, one) //nolint:makezero // one more, for what has no group
	return list
}

// briefly is a line about a command; where all are listed, one with others below it names these.
func briefly(node *kong.Node, all bool) string {
	var below []string
	for _, child := range node.Children {
		if !child.Hidden {
			below = append(below, child.Name)
		}
	}
	if !all || len(below) == 0 {
		return node.Help
	}
	return strings.TrimSuffix(node.Help, ".") + ": " + strings.Join(below, ", ") + "."
}
