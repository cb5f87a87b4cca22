package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints a shell's completions; the package is built with it.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c completionCmd) Run(e *env, k *kong.Context) error {
	all := places(k.Model.Node, "conch", nil)
	write := map[string]func(io.Writer, []place) error{"bash": writeBash, "zsh": writeZsh, "fish": writeFish}[c.Shell]
	return write(e.out, all)
}

// walk is a case table, the same for bash and zsh: given the command so far and a word, where one is then. A flag that takes a
// value swallows the next word, so that `--script run` is not the command run.
func walk(all []place, indent string) string {
	var b strings.Builder
	for _, p := range all {
		for _, child := range p.below {
			fmt.Fprintf(&b, "%s\"%s %s\") place=\"$place $word\" ;;\n", indent, p.path, child.Name)
		}
	}
	return fmt.Sprintf("%s*\" %s\") i=$((i + 1)) ;;\n", indent, strings.Join(swallowing(all), `"|*" `)) + b.String()
}

// swallowing are the flags, as they are spelled, that take the next word.
func swallowing(all []place) (list []string) {
	for _, p := range all {
		for _, f := range p.flags {
			for _, s := range spellings(f) {
				if takesValue(f) && !slices.Contains(list, s) {
					list = append(list, s)
				}
			}
		}
	}
	return list
}

// ownFlag is a flag that takes a value, and the pattern of a shell that a place and the word before the cursor match then.
type ownFlag struct {
	pattern string
	flag    *kong.Flag
}

// ownFlags has each flag once, at the command it belongs to; those of a command with others below it count there as well.
func ownFlags(all []place) []ownFlag {
	var list []ownFlag
	for _, p := range slices.Backward(all) { // the nearer one is found first
		for _, f := range p.node.Flags {
			if f.Hidden || !takesValue(f) {
				continue
			}
			for _, s := range spellings(f) {
				o := ownFlag{fmt.Sprintf("%q", p.path+" "+s), f}
				if len(p.below) > 0 {
					o.pattern = fmt.Sprintf("%q*%q", p.path, " "+s)
				}
				list = append(list, o)
			}
		}
	}
	return list
}

// writeBash: see Programmable Completion in the manual of bash. No helper of the package bash-completion is used, which a
// small system may lack.
func writeBash(w io.Writer, all []place) error {
	var b strings.Builder
	b.WriteString("# bash completion of conch, made by: conch completion bash\n\n_conch() {\n" +
		"    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} place=conch word i\n" +
		"    COMPREPLY=()\n" +
		"    # bash cuts --flag=value into three words\n" +
		"    if [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n" +
		"    for ((i = 1; i < COMP_CWORD; i++)); do\n        word=${COMP_WORDS[i]}\n        case \"$place $word\" in\n" +
		walk(all, "        ") +
		"        esac\n    done\n    case \"$place $prev\" in\n")
	line := func(pattern string, v values) {
		switch {
		case v.files:
			fmt.Fprintf(&b, "    %s) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n", pattern)
		case v.dirs:
			fmt.Fprintf(&b, "    %s) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); return ;;\n", pattern)
		default:
			if v.stay {
				pattern += ") compopt -o nospace"
			} else {
				pattern += ")"
			}
			if v.stay {
				pattern += ";"
			}
			fmt.Fprintf(&b, "    %s mapfile -t COMPREPLY < <(compgen -W %s -- \"$cur\"); return ;;\n", pattern, quoted(strings.Join(v.words, " ")))
		}
	}
	for _, o := range ownFlags(all) {
		line(o.pattern, valuesOf(o.flag.Value, o.flag.PlaceHolder))
	}
	b.WriteString("    esac\n    case $place in\n")
	for _, p := range all {
		words := []string{}
		for _, c := range p.below {
			words = append(words, c.Name)
		}
		v := values{}
		for _, arg := range p.node.Positional {
			v = valuesOf(arg, strings.ToUpper(arg.Name))
			words = append(words, v.words...)
		}
		flags := []string{"--help"}
		for _, f := range p.flags {
			if f.Name != "help" {
				flags = append(flags, "--"+f.Name)
			}
		}
		more := ""
		if v.files {
			more = "; [[ $cur == -* ]] || { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); }"
		}
		fmt.Fprintf(&b, "    %q) if [[ $cur == -* ]]; then mapfile -t COMPREPLY < <(compgen -W %s -- \"$cur\"); else mapfile -t COMPREPLY < "+
			"<(compgen -W %s -- \"$cur\"); fi%s ;;\n",
			p.path, quoted(strings.Join(flags, " ")), quoted(strings.Join(words, " ")), more)
	}
	b.WriteString("    esac\n}\n\ncomplete -F _conch conch\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeZsh: see zshcompsys(1).
func writeZsh(w io.Writer, all []place) error {
	var b strings.Builder
	b.WriteString("#compdef conch\n# zsh completion of conch, made by: conch completion zsh\n\n_conch() {\n" +
		"    local place=conch word i=2 prev=${words[CURRENT-1]} cur=${words[CURRENT]}\n    local -a below flags\n" +
		"    while ((i < CURRENT)); do\n        word=${words[i]}\n        case \"$place $word\" in\n" +
		strings.ReplaceAll(walk(all, "        "), "i=$((i + 1))", "((i++))") +
		"        esac\n        ((i++))\n    done\n    case \"$place $prev\" in\n")
	for _, o := range ownFlags(all) {
		fmt.Fprintf(&b, "    %s) %s; return ;;\n", o.pattern, zshValues(valuesOf(o.flag.Value, o.flag.PlaceHolder)))
	}
	b.WriteString("    esac\n    case $place in\n")
	for _, p := range all {
		fmt.Fprintf(&b, "    %q)\n        below=(", p.path)
		for _, c := range p.below {
			b.WriteString(" " + quoted(described(c.Name, c.Help)))
		}
		b.WriteString(")\n        flags=(")
		for _, f := range p.flags {
			b.WriteString(" " + quoted(described("--"+f.Name, f.Help)))
		}
		b.WriteString(")\n")
		for _, arg := range p.node.Positional {
			if v := valuesOf(arg, strings.ToUpper(arg.Name)); v.files || v.dirs || len(v.words) > 0 {
				fmt.Fprintf(&b, "        [[ $cur == -* ]] || %s\n", zshValues(v))
			}
		}
		b.WriteString("        ;;\n")
	}
	b.WriteString("    esac\n    if [[ $cur == -* ]]; then _describe flag flags; elif ((${#below})); then _describe command below; fi\n}\n\n" +
		"if [ \"$funcstack[1]\" = _conch ]; then _conch \"$@\"; else compdef _conch conch; fi\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func zshValues(v values) string {
	switch {
	case v.files:
		return "_files"
	case v.dirs:
		return "_files -/"
	case len(v.words) == 0:
		return ":"
	case v.stay:
		return "compadd -S '' -- " + strings.Join(v.words, " ")
	}
	return "compadd -- " + strings.Join(v.words, " ")
}

// described is word:help, as _describe takes it.
func described(word, help string) string { return word + ":" + strings.ReplaceAll(help, ":", `\:`) }

// writeFish: see complete in the manual of fish.
func writeFish(w io.Writer, all []place) error {
	var b strings.Builder
	b.WriteString("# fish completion of conch, made by: conch completion fish\n\n" +
		"function __conch_at --description 'the command typed so far is exactly this one'\n" +
		"    set -l place conch\n    set -l swallow 0\n    for word in (commandline -opc)[2..]\n" +
		"        if test $swallow = 1\n            set swallow 0\n            continue\n        end\n" +
		"        switch \"$place $word\"\n")
	for _, p := range all {
		for _, c := range p.below {
			fmt.Fprintf(&b, "            case '%s %s'\n                set place \"$place $word\"\n", p.path, c.Name)
		}
	}
	fmt.Fprintf(&b, "            case '* %s'\n                set swallow 1\n        end\n    end\n    test \"$place\" = "+
		"\"$argv\"\nend\n\ncomplete -c conch -f\n", strings.Join(swallowing(all), "' '* "))
	for _, p := range all {
		at := fmt.Sprintf("complete -c conch -n %s", quoted("__conch_at "+p.path))
		for _, c := range p.below {
			fmt.Fprintf(&b, "%s -a %s -d %s\n", at, c.Name, quoted(c.Help))
		}
		for _, f := range p.node.Flags {
			if f.Hidden {
				continue
			}
			here := at
			if len(p.below) > 0 {
				here = "complete -c conch" // wherever; only conch itself has both
			}
			fmt.Fprintf(&b, "%s -l %s", here, f.Name)
			if f.Short != 0 {
				fmt.Fprintf(&b, " -s %c", f.Short)
			}
			if takesValue(f) {
				b.WriteString(fishValues(valuesOf(f.Value, f.PlaceHolder)))
			}
			fmt.Fprintf(&b, " -d %s\n", quoted(f.Help))
		}
		for _, arg := range p.node.Positional {
			if v := valuesOf(arg, strings.ToUpper(arg.Name)); v.files {
				fmt.Fprintf(&b, "%s -F\n", at)
			} else if len(v.words) > 0 {
				fmt.Fprintf(&b, "%s -a %s\n", at, quoted(strings.Join(v.words, " ")))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func fishValues(v values) string {
	switch {
	case v.files:
		return " -r -F"
	case v.dirs:
		return " -x -a '(__fish_complete_directories)'"
	case len(v.words) > 0:
		return " -x -a " + quoted(strings.Join(v.words, " "))
	}
	return " -x"
}

// quoted is text in single quotes, as all three shells read it: a quote inside ends them, stands alone, and begins them anew.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
