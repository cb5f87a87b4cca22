// Package aloud takes apart what a model writes, while it is Part, into what is said, thought and called, and makes of the first what can
// be read aloud. It is pure.
package aloud

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"conch/device/pattern"
)

// Parts takes apart what a model writes, while it is Part: what it says, what it thinks, the tools that it calls in its text, and the marks of
// its template. A server that knows its model has done all that before; many do not. It is pure.
type Parts struct {
	held  string
	in    region
	shut  string // the mark that ends what this is in
	body  strings.Builder
	begun bool // something has come that is no space
	said  bool // of that, something is text
	line  bool // within a line: something of it was said
	Whole bool // it has ended by itself
	mark  bool // a mark has opened the thought that this is in
	early bool // it began with thoughts that no mark opens: the next answer will, too
}

type region uint8

const (
	inText region = iota
	inThought
	inHead // between the marks of who speaks, and to whom
	inCall
	inQuoted // a call in the middle of a line: it was quoted
	inOver   // behind the end
)

// Part is one of them: text, or where it is nil the body of a call.
type Part struct {
	Text string
	Call *string
	Hard bool // the call stood between marks of one: it is never said
}

// Bounds, in bytes.
const (
	mostMark = 80
	mostBody = 16 << 10 // of what is thought, or of a call; more of it is left out
)

type sign uint8

const (
	noSign sign = iota
	thinks
	thought
	calling
	addressing
	endOfTurn
	template // another mark of a template
)

var (
	angled    = pattern.New(`^<([|｜]?)(/?)([A-Za-z][^<>|｜\n]{0,60}|/)([|｜]?)>`)
	squared   = pattern.New(`^\[(/?)(THINK|TOOL_CALLS|INST|AVAILABLE_TOOLS)\]`)
	thinking  = pattern.New(`^(begin_of_|start_|seed:|unused94)?(think|thought|thoughts|thinking|reason|reasoning|reflect|reflection|analysis|scratchpad|monologue|inner_monologue|solution_plan)?$`)
	callMarks = pattern.New(`^(tool_?calls?(_begin|_section_begin|s_begin)?|function_?calls?|tool_?code|python_?(tag|start)|function=.*|function name=.*|invoke name=.*|tool_use|action_start|plugin)$`)
	turnEnds  = pattern.New(`^(im_end|eot_id|eot|endoftext|end_of_turn|end_of_text|end_of_sentence|eos|return|end_of_turn_token|endofprompt)$`)
)

// signAt is the mark that s begins with, its length and its name; more: it may be one, and more of it is needed.
func signAt(s string, end bool) (k sign, n int, name string, more bool) {
	if m := squared().FindStringSubmatch(s); m != nil {
		switch {
		case m[2] == "THINK" && m[1] == "":
			return thinks, len(m[0]), m[2], false
		case m[2] == "THINK":
			return thought, len(m[0]), m[2], false
		case m[2] == "TOOL_CALLS":
			return calling, len(m[0]), m[2], false
		}
		return template, len(m[0]), m[2], false
	}
	for mark, k := range map[string]sign{"◁think▷": thinks, "◁/think▷": thought} {
		if strings.HasPrefix(s, mark) {
			return k, len(mark), "think", false
		}
	}
	if m := angled().FindStringSubmatch(s); m != nil && (m[1] == "") == (m[4] == "") {
		return meaning(strings.ReplaceAll(m[3], "▁", "_"), m[2] != "", m[1] != ""), len(m[0]), m[3], false
	}
	if end || len(s) >= mostMark {
		return noSign, 0, "", false
	}
	switch r, _ := utf8.DecodeRuneInString(s); r {
	case '<':
		more = !strings.ContainsAny(s[1:], "<>\n") && (len(s) == 1 || s[1] == '|' || s[1] == '/' || s[1] >= 'A')
	case '[':
		more = strings.HasPrefix("[TOOL_CALLS]", s) || strings.HasPrefix("[THINK]", s) || strings.HasPrefix("[/THINK]", s) ||
			strings.HasPrefix("[/INST]", s) || strings.HasPrefix("[INST]", s)
	case '◁':
		more = len(s) < len("◁/think▷")
	case utf8.RuneError:
		more = !utf8.FullRuneInString(s)
	}
	return noSign, 0, "", more
}

// meaning is what an angled mark is for; HTML is none.
func meaning(name string, closes, piped bool) sign {
	low := strings.ToLower(strings.TrimSpace(name))
	switch {
	case low == "think_end" || low == "end_thinking" || low == "end_of_thought" || low == "unused95":
		return thought
	case low != "" && thinking().MatchString(low):
		if closes {
			return thought
		}
		return thinks
	case callMarks().MatchString(low):
		if closes {
			return template
		}
		return calling
	case piped && (low == "channel" || low == "start" || low == "im_start" || low == "start_header_id"):
		return addressing
	case turnEnds().MatchString(low):
		return endOfTurn
	case piped, low == "s" && closes, low == "bos", low == "pad", low == "unk", low == "start_of_turn", low == "/":
		return template
	}
	return noSign
}

// Write takes more of the text; end: that was all.
func (p *Parts) Write(text string, end bool) (out []Part) {
	p.held += text
	for p.held != "" {
		n := len(p.held)
		switch p.in {
		case inText:
			n = p.text(&out, end)
		case inOver:
		case inHead:
			n = p.head(end)
		default:
			n = p.inside(&out, end)
		}
		if n == 0 {
			break
		}
		p.held = p.held[n:]
	}
	if end {
		p.end(&out)
	}
	return out
}

// Begin says that the answers of this model begin with thoughts that no mark opens.
func (p *Parts) Begin(early bool) {
	if p.early = early; early {
		p.in = inThought
	}
}

// Early says that the next answer begins so.
func (p *Parts) Early() bool { return p.early }

// Said says that something of it was to be said.
func (p *Parts) Said() bool { return p.said }

// text takes what is said up to the next mark; 0: more is needed.
func (p *Parts) text(out *[]Part, end bool) int {
	s := p.held
	if !p.begun {
		if n, ok := p.bare(s, out, end); n > 0 || !ok {
			return n
		}
	}
	at := strings.IndexAny(s, "<[◁`")
	if at < 0 {
		at = len(s) - cutRune(s, end)
	}
	if at > 0 || s == "" {
		p.say(out, s[:at])
		return at
	}
	if !strings.ContainsRune("<[◁`", rune(s[0])) && !strings.HasPrefix(s, "◁") {
		return 0 // the beginning of a rune
	}
	if s[0] == '`' {
		return p.fence(s, out, end)
	}
	k, n, name, more := signAt(s, end)
	switch {
	case more:
		return 0
	case k == noSign:
		_, size := utf8.DecodeRuneInString(s)
		p.say(out, s[:size])
		return size
	case k == thinks:
		p.enter(inThought, "")
		p.mark = true
	case k == thought && !p.early: // it was opened before the answer began
		p.early = true
	case k == addressing:
		p.enter(inHead, name)
	case k == calling && p.line:
		p.enter(inQuoted, closing(s[:n], name))
	case k == calling:
		p.enter(inCall, closing(s[:n], name))
		p.body.WriteString(s[:n])
	case k == endOfTurn && p.said:
		p.in = inOver
	}
	return n
}

// cutRune is how many bytes at the end of a text are the beginning of a rune, of which more is to come.
func cutRune(s string, end bool) int {
	for n := 1; !end && n < min(utf8.UTFMax, len(s)+1); n++ {
		if r := s[len(s)-n:]; utf8.RuneStart(r[0]) {
			if utf8.FullRuneInString(r) {
				return 0
			}
			return n
		}
	}
	return 0
}

// closing is the mark that ends what a mark of a call begins; "": the end of the answer, or of the turn.
func closing(mark, name string) string {
	name, _, _ = strings.Cut(name, "=")
	name, _, _ = strings.Cut(name, " ")
	switch {
	case strings.HasPrefix(mark, "<|") || strings.HasPrefix(mark, "<｜") || mark[0] == '[':
		return ""
	}
	return "</" + name + ">"
}

func (p *Parts) enter(in region, shut string) {
	p.in, p.shut = in, shut
	p.body.Reset()
}

func (p *Parts) say(out *[]Part, text string) {
	if text == "" {
		return
	}
	*out = append(*out, Part{Text: text})
	rest := text[strings.LastIndexByte(text, '\n')+1:]
	p.line = strings.TrimSpace(rest) != "" || p.line && rest == text
	p.said = p.said || strings.TrimSpace(text) != ""
	p.begun = p.begun || p.said
}

// bare looks whether an answer is JSON from its beginning, which may be a call without a mark; 0 and true: it is none.
func (p *Parts) bare(s string, out *[]Part, end bool) (n int, ok bool) {
	body := strings.TrimLeft(s, " \t\r\n")
	if n, ok := p.code(s, body, out, end); n > 0 || !ok {
		return n, ok
	}
	if n, ok := p.react(s, body, out, end); n > 0 || !ok {
		return n, ok
	}
	body = strings.TrimPrefix(body, "functools")
	switch {
	case body == "":
		return len(s), true
	case body[0] != '{' && body[0] != '[', strings.HasPrefix(body, "["+"T"), strings.HasPrefix(body, "[/"), strings.HasPrefix(body, "[I"):
		return 0, true
	case body[0] == '[' && len(body) > 1 && !strings.HasPrefix(strings.TrimLeft(body[1:], " \t\r\n"), "{") && strings.TrimSpace(body[1:]) != "":
		return 0, true
	}
	d := json.NewDecoder(strings.NewReader(body))
	var v any
	err := d.Decode(&v)
	if errors.Is(err, io.ErrUnexpectedEOF) && !end && len(body) < mostBody {
		return 0, false
	}
	if err != nil {
		return 0, true
	}
	p.begun = true
	n = len(s) - len(body) + int(d.InputOffset())
	call := s[:n]
	*out = append(*out, Part{Text: call, Call: &call})
	return n, true
}

var (
	mayBeCode = pattern.New(`^\[?[A-Za-z_][A-Za-z0-9_.]*$|^\[$`)
	isCode    = pattern.New(`^\[?[A-Za-z_][A-Za-z0-9_.]*\(`)
)

// code takes a first line that is nothing but a call as Python has it: set_timer(seconds=600), also in a list.
func (p *Parts) code(s, body string, out *[]Part, end bool) (n int, ok bool) {
	if mayBeCode().MatchString(body) && !end && len(body) < mostMark {
		return 0, false
	}
	if !isCode().MatchString(body) {
		return 0, true
	}
	line, _, whole := strings.Cut(body, "\n")
	if !whole && !end && len(body) < mostBody {
		return 0, false
	}
	if line = strings.TrimRight(line, " \r"); !strings.HasSuffix(line, ")") && !strings.HasSuffix(line, ")]") {
		return 0, true
	}
	p.begun = true
	n = len(s) - len(body) + len(line)
	text := s[:n]
	*out = append(*out, Part{Text: text, Call: &text})
	return n, true
}

var (
	label   = pattern.New(`(?im)^[ \t]*\**(thought|action input|action|observation|final answer)\**[ \t]*:\**`)
	labels  = []string{"thought:", "action:", "final answer:"}
	noTool  = pattern.New(`(?i)^(none.*|n/a|no action.*|nothing|-|)$`)
	plainID = pattern.New(`^[A-Za-z0-9_.-]+$`)
)

// react takes an answer of labelled lines (Thought, Action, Action Input, Final Answer): the first action is a call, and the model made up
// what follows it. The final answer is said, or a thought that stands alone.
func (p *Parts) react(s, body string, out *[]Part, end bool) (n int, ok bool) {
	low := strings.ToLower(strings.TrimLeft(body, "*"))
	for _, l := range labels {
		if !end && len(low) < len(l) && strings.HasPrefix(l, low) {
			return 0, false
		}
	}
	marks := label().FindAllStringSubmatchIndex(body, -1)
	if marks == nil || marks[0][0] != 0 {
		return 0, true
	}
	behind := func(at int) int { p.begun = true; return len(s) - len(body) + at }
	action, text := "", body
	for i, m := range marks {
		value, next := body[m[1]:], i+1 < len(marks)
		if next {
			value = body[m[1]:marks[i+1][0]]
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(body[m[2]:m[3]]) {
		case "final answer":
			return behind(m[1]), true
		case "thought":
			text = value
		case "action":
			action = strings.Trim(value, "`*\"'[]")
		case "action input":
			switch {
			case strings.EqualFold(action, "final answer"):
				return behind(m[1]), true
			case noTool().MatchString(action):
			case !next && !end && !json.Valid([]byte(value)) && len(body) < mostBody:
				return 0, false
			default:
				call := action + " " + value
				*out = append(*out, Part{Text: body, Call: &call, Hard: true})
				p.in, p.begun = inOver, true
				return len(s), true
			}
		}
	}
	switch {
	case !end && len(body) < mostBody:
		return 0, false
	case isCode().MatchString(action):
		*out = append(*out, Part{Text: body, Call: &action})
	case plainID().MatchString(action) && strings.Contains(action, "_"):
		action += " {}"
		*out = append(*out, Part{Text: body, Call: &action})
	default:
		p.say(out, text)
	}
	p.begun = true
	return len(s), true
}

var toolFence = pattern.New("^```[ \t]*(tool_code|tool_calls?|function_calls?|tool|json|python|py|xml|)[ \t]*\r?\n")

// fence takes a block of code that may be a call: it begins the answer, or is named so.
func (p *Parts) fence(s string, out *[]Part, end bool) int {
	if p.line || !end && len(s) < 3 && strings.HasPrefix("```", s) {
		if p.line {
			p.say(out, s[:1])
			return 1
		}
		return 0
	}
	i := strings.IndexByte(s, '\n')
	if strings.HasPrefix(s, "```") && i < 0 && !end && len(s) < mostMark {
		return 0
	}
	m := toolFence().FindStringSubmatch(s)
	if m == nil || p.begun && !strings.Contains(m[1], "tool") && !strings.Contains(m[1], "function") {
		p.say(out, s[:1])
		return 1
	}
	p.enter(inCall, "```")
	p.body.WriteString(m[0])
	return len(m[0])
}

// head takes the head of a message: "assistant", "final", "commentary to=functions.stop".
func (p *Parts) head(end bool) int {
	s := p.held
	at := strings.IndexAny(s, "<\n")
	if at < 0 {
		at = len(s) - cutRune(s, end)
	}
	if at > 0 {
		p.keep(s[:at])
		return at
	}
	if s == "" || s[0] != '<' && s[0] != '\n' {
		return 0
	}
	if s[0] == '\n' {
		p.enter(inText, "")
		return 1
	}
	k, n, name, more := signAt(s, end)
	switch low := strings.ToLower(name); {
	case more:
		return 0
	case k == noSign:
		p.keep("<")
		return 1
	case low == "constrain":
		p.keep(" ")
	case low == "message":
		head := strings.TrimSpace(p.body.String())
		switch to := recipient().FindStringSubmatch(head); {
		case to != nil:
			p.enter(inCall, "")
			p.body.WriteString(to[1] + " ")
		case strings.Contains(head, "analysis"):
			p.enter(inThought, "end")
			p.mark = true
		default:
			p.enter(inText, "")
		}
	case k == addressing:
		p.keep(" ")
	default:
		p.enter(inText, "")
	}
	return n
}

var recipient = pattern.New(`to=(?:functions\.)?([A-Za-z0-9_.-]+)`)

func (p *Parts) keep(text string) {
	if p.body.Len()+len(text) <= mostBody {
		p.body.WriteString(text)
	}
}

// inside takes what is thought or called, up to the mark that ends it.
func (p *Parts) inside(out *[]Part, end bool) int {
	s := p.held
	chars := "<[◁"
	if p.shut == "```" {
		chars = "`"
	}
	at := strings.IndexAny(s, chars)
	if at != 0 {
		if at < 0 {
			at = len(s) - cutRune(s, end)
		}
		p.keep(s[:at])
		return at
	}
	if p.shut == "```" {
		if !end && len(s) < 3 && strings.HasPrefix("```", s) {
			return 0
		}
		if !strings.HasPrefix(s, "```") {
			p.keep("`")
			return 1
		}
		p.keep("```")
		p.called(out, false)
		return 3
	}
	k, n, name, more := signAt(s, end)
	low := strings.ToLower(name)
	switch {
	case more:
		return 0
	case p.in == inThought && (k == thought || p.shut == "end" && (low == "end" || k == endOfTurn || k == addressing)):
		p.enter(inText, "")
		if k == addressing {
			p.enter(inHead, name)
		}
		return n
	case p.in != inThought && p.shut != "" && strings.EqualFold(s[:n], p.shut):
		p.keep(s[:n])
		p.called(out, true)
		return n
	case p.in != inThought && p.shut == "" && (k == endOfTurn || callEnds[low]):
		p.called(out, true)
		return n
	}
	_, size := utf8.DecodeRuneInString(s)
	p.keep(s[:size])
	return size
}

var callEnds = map[string]bool{"call": true, "end": true, "eom_id": true, "python_end": true, "tool▁calls▁end": true, "tool_calls_section_end": true}

// called is the end of a call.
func (p *Parts) called(out *[]Part, hard bool) {
	body, quoted := p.body.String(), p.in == inQuoted
	p.enter(inText, "")
	p.begun = true
	if !quoted {
		*out = append(*out, Part{Text: body, Call: &body, Hard: hard})
	}
}

// end is the end of the answer: what no mark has ended is what it is all the same, and an answer that was taken for a thought is said.
func (p *Parts) end(out *[]Part) {
	switch body := strings.TrimSpace(p.body.String()); p.in {
	case inCall, inQuoted:
		p.called(out, p.shut != "```")
	case inThought:
		if i := strings.LastIndex(body, "\n\n"); i >= 0 && p.mark {
			body = body[i+2:] // thoughts are likelier above
		}
		p.early = p.early && (p.mark || body == "")
		if !p.said && p.Whole {
			p.say(out, body)
		}
	}
	p.in = inOver
}
