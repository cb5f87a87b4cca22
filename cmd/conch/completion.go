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
func walk(all []place, indent, word string) string {
	var b strings.Builder
	for _, p := range all {
		for _, child := range p.below {
			fmt.Fprintf(&b, "%s\"%s %s\") place=\"$place %s\" ;;\n", indent, p.path, child.Name, word)
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
// small system may lack. bash gives the words as they were typed, cut at each = and :, so the line is read here: names have blanks.
func writeBash(w io.Writer, all []place) error {
	var b strings.Builder
	b.WriteString("# bash completion of conch, made by: conch completion bash\n\n" + bashOffer + "\n_conch() {\n" +
		"    local line=${COMP_LINE:0:COMP_POINT} word= lead= head= before= quote= c i place=conch prev=\n    local -a words=()\n" + bashRead +
		"    for ((i = 1; i < ${#words[@]}; i++)); do\n        case \"$place ${words[i]}\" in\n" + walk(all, "        ", "${words[i]}") +
		"        esac\n    done\n    case \"$place $prev\" in\n")
	for _, o := range ownFlags(all) {
		fmt.Fprintf(&b, "    %s) %s; return ;;\n", o.pattern, bashValues(valuesOf(o.flag.Value, o.flag.PlaceHolder)))
	}
	b.WriteString("    esac\n    case $place in\n")
	for _, p := range all {
		flags := []string{"--help"}
		for _, f := range p.flags {
			if f.Name != "help" {
				flags = append(flags, "--"+f.Name)
			}
		}
		fmt.Fprintf(&b, "    %q)\n        if [[ $word == -* ]]; then %s; return; fi\n", p.path, bashValues(values{words: flags}))
		if len(p.below) > 0 {
			fmt.Fprintf(&b, "        %s\n", bashValues(values{words: below(p.node)}))
		}
		for _, arg := range p.node.Positional {
			if v := valuesOf(arg, strings.ToUpper(arg.Name)); v.any() {
				fmt.Fprintf(&b, "        %s\n", bashValues(v))
			}
		}
		b.WriteString("        ;;\n")
	}
	b.WriteString("    esac\n}\n\ncomplete -F _conch conch\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// bashOffer takes lines, and offers those that begin with what was typed, as they have to be written there. Names are other people's: what
// is special to the shell is made harmless.
const bashOffer = `_conch_offer() {
    local w
    while IFS= read -r w; do
        [[ -n $w && $w == "$word"* ]] || continue
        w=$lead$w
        w=${w#"$head"}
        case $quote in
        \') [[ $w != *\'* ]] || continue ;;
        \") w=${w//\\/\\\\} w=${w//\"/\\\"} w=${w//\$/\\\$} w=${w//\` + "`" + `/\\\` + "`" + `} ;;
        *) printf -v w %q "$w" ;;
        esac
        COMPREPLY+=("$w")
        [[ $w != *= ]] || compopt -o nospace
    done
}
`

// bashRead takes the line apart up to the cursor: words before, the word that is being typed, the quote it is in, and head, which is how much
// of it bash leaves as it is.
const bashRead = `    for ((i = 0; i < ${#line}; i++)); do
        c=${line:i:1}
        if [[ -n $quote ]]; then
            if [[ $c == "$quote" ]]; then
                quote= head=$before
            elif [[ $c == \\ && $quote == \" ]]; then
                word+=${line:++i:1}
            else
                word+=$c
            fi
            continue
        fi
        case $c in
        \\) word+=${line:++i:1} ;;
        \'|\") quote=$c before=$head head=$word ;;
        ' '|$'\t') [[ -z $word ]] || words+=("$word"); word= head= ;;
        [:=]) word+=$c; [[ $COMP_WORDBREAKS != *$c* ]] || head=$word ;;
        *) word+=$c ;;
        esac
    done
    while [[ ${words[0]} == *=* ]]; do words=("${words[@]:1}"); done
    COMPREPLY=()
    ((${#words[@]})) || return
    prev=${words[-1]}
    if [[ $word == --*=* ]]; then prev=${word%%=*} lead=${word%%=*}= word=${word#*=}; fi
`

func bashValues(v values) string {
	switch {
	case v.files:
		return `compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word")`
	case v.dirs:
		return `compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word")`
	case v.from != "":
		return `_conch_offer < <(conch complete ` + v.from + ` -- "$word" 2>/dev/null)`
	case len(v.words) == 0:
		return ":"
	}
	return "_conch_offer < <(printf '%s\\n' " + strings.Join(v.words, " ") + ")"
}

// writeZsh: see zshcompsys(1).
func writeZsh(w io.Writer, all []place) error {
	var b strings.Builder
	b.WriteString("#compdef conch\n# zsh completion of conch, made by: conch completion zsh\n\n_conch() {\n" +
		"    local place=conch word i=2 prev=${words[CURRENT-1]} cur=${words[CURRENT]}\n    local -a below flags found\n" +
		"    if [[ $cur == --*=* ]]; then prev=${cur%%=*}; cur=${cur#*=}; compset -P 1 '*='; fi\n" +
		"    while ((i < CURRENT)); do\n        word=${words[i]}\n        case \"$place $word\" in\n" +
		strings.ReplaceAll(walk(all, "        ", "$word"), "i=$((i + 1))", "((i++))") +
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
			if v := valuesOf(arg, strings.ToUpper(arg.Name)); v.any() {
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
	case v.from != "":
		return "found=(${(f)\"$(conch complete " + v.from + " -- ${(Q)cur} 2>/dev/null)\"}); compadd -S '' -- ${(M)found:#*=}; compadd -- ${found:#*=}"
	case len(v.words) == 0:
		return ":"
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
			switch v := valuesOf(arg, strings.ToUpper(arg.Name)); {
			case v.files:
				fmt.Fprintf(&b, "%s -F\n", at)
			case v.from != "":
				fmt.Fprintf(&b, "%s -a %s\n", at, quoted(fishAsks(v)))
			case len(v.words) > 0:
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
	case v.from != "":
		return " -x -a " + quoted(fishAsks(v))
	case len(v.words) > 0:
		return " -x -a " + quoted(strings.Join(v.words, " "))
	}
	return " -x"
}

// fishAsks runs conch where fish wants values; of --flag=value it sees the value.
func fishAsks(v values) string {
	return "(conch complete " + v.from + " -- (string replace -r '^--[a-z-]+=' '' -- (commandline -ct)) 2>/dev/null)"
}

// quoted is text in single quotes, as all three shells read it: a quote inside ends them, stands alone, and begins them anew.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
