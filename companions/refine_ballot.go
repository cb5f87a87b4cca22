package companions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"conch/companions/round"
	"conch/companions/words"
)

// ballotSchema is what a model is to answer with, about some companions. Strict structured output wants every field required and none
// besides. On what they vote, and whether somebody was called on, is not asked: code knows (ROOM.md 3.2).
func ballotSchema(of []Card) json.RawMessage {
	ids, _ := json.Marshal(idsOf(of)) // strings cannot fail
	return json.RawMessage(`{
 "type":"object","additionalProperties":false,
 "required":["intent","tone","votes"],
 "properties":{
  "intent":{"type":"string","enum":["question","request","clarification","statement","approval","closing"],"description":"what the message is for"},
  "tone":{"type":"string","enum":["neutral","confused","frustrated","excited","positive"],"description":"how the message sounds"},
  "votes":{"type":"array","description":"one vote for each companion","items":{
   "type":"object","additionalProperties":false,
   "required":["companion","state","importance","closing","reason"],
   "properties":{
    "companion":{"type":"string","enum":` + string(ids) + `},
    "state":{"type":"string","enum":["speak","listen"],"description":"whether it wants to speak next"},
    "importance":{"type":"number","description":"0 to 10: how much its next sentence would help"},
    "closing":{"type":"string","enum":["none","pre-closing","closing","terminal"],"description":"how far the conversation is from its end"},
    "reason":{"type":"string","description":"one short sentence"}}}}}}`)
}

func idsOf(cards []Card) (ids []round.CompanionID) {
	for _, c := range cards {
		ids = append(ids, c.ID)
	}
	return ids
}

// ballot is what a model may say about a vote.
type ballot struct {
	state      round.State
	importance float64
	closing    round.Closing // empty: as the rules have it
	intent     words.Intent
	tone       words.Tone
	reason     string
	err        error // it is none
}

// Bounds of reading an answer.
const (
	maxBallotText = 32 << 10 // bytes
	maxBallots    = 64       // braces that may begin one
)

// readBallots finds the votes of some companions in what a model wrote: in fences, among prose, behind its thoughts, with the slips that
// models make. Two different votes of one companion are none: one of them may be a quotation of what somebody said.
func readBallots(text string, of []Card) (map[round.CompanionID]ballot, error) {
	if i := strings.LastIndex(text, "</think>"); i >= 0 {
		text = text[i+len("</think>"):]
	}
	if len(text) > maxBallotText {
		return nil, errHuge
	}
	found, open := objects(text)
	var list, single []map[string]any
	for _, o := range found {
		all, ok := o["votes"].([]any)
		for _, x := range all {
			if x, ok := x.(map[string]any); ok {
				x = lower(x)
				x["intent"], x["tone"] = o["intent"], o["tone"]
				list = append(list, x)
			}
		}
		if o = unwrap(o); !ok && (o["state"] != nil || o["importance"] != nil) {
			single = append(single, o)
		}
	}
	if len(list) == 0 {
		list = single // as a model may write that is told of no schema
	}
	made := make(map[round.CompanionID]ballot, len(of))
	for _, o := range list {
		id, ok := whose(o, of)
		if !ok {
			continue
		}
		b, err := fill(o)
		b.err = err
		if have, twice := made[id]; twice && have.err == nil && (err != nil || b != have) {
			b = ballot{err: fmt.Errorf("%w: there are several, and different ones", errNonsense)}
		} else if twice && have.err != nil {
			b = have
		}
		made[id] = b
	}
	switch {
	case len(made) > 0:
		return made, nil
	case open:
		return nil, errCutOff
	}
	return nil, errNonsense
}

// whose vote it is: of one companion alone it need not say.
func whose(o map[string]any, of []Card) (round.CompanionID, bool) {
	name, named := o["companion"].(string)
	for _, c := range of {
		if named && (strings.EqualFold(name, string(c.ID)) || strings.EqualFold(name, c.Name)) || !named && len(of) == 1 {
			return c.ID, true
		}
	}
	return "", false
}

// objects are those in a text, mended where they must be; open: one never closed.
func objects(text string) (found []map[string]any, open bool) {
	for from, tries := 0, 0; tries < maxBallots; tries++ {
		i := strings.IndexByte(text[from:], '{')
		if i < 0 {
			break
		}
		from += i
		end := closing(text[from:])
		if end < 0 {
			open = true
			from++
			continue
		}
		o := object(text[from : from+end])
		if o == nil {
			from++ // prose in braces; a vote may be inside
			continue
		}
		from += end
		found = append(found, o)
	}
	return found, open
}

// closing is where the object that text begins with ends; negative when it does not.
func closing(text string) int {
	depth := 0
	var quote byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// object reads JSON, mended where it must be; nil when it is none. Keys are lower case.
func object(text string) map[string]any {
	for _, try := range []string{text, mend(text)} {
		d := json.NewDecoder(bytes.NewReader([]byte(try)))
		d.UseNumber()
		var o map[string]any
		if d.Decode(&o) == nil {
			return lower(o)
		}
	}
	return nil
}

// lower has keys in lower case.
func lower(o map[string]any) map[string]any {
	low := make(map[string]any, len(o))
	for k, v := range o {
		low[strings.ToLower(strings.TrimSpace(k))] = v
	}
	return low
}

// mend takes away trailing commas, and turns 'single quotes' and Python's literals into JSON's.
func mend(text string) string {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\' && i+1 < len(text):
			if text[i+1] != '\'' { // \' is no escape of JSON
				b.WriteByte(c)
			}
			i++
			b.WriteByte(text[i])
		case quote != 0 && c == quote:
			quote = 0
			b.WriteByte('"')
		case quote != 0 && c == '"':
			b.WriteString(`\"`)
		case quote != 0 && c == '\n':
			b.WriteString(`\n`)
		case quote != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote = c
			b.WriteByte('"')
		case c == ',':
			if rest := strings.TrimLeft(text[i+1:], " \t\r\n"); rest != "" && (rest[0] == '}' || rest[0] == ']') {
				continue
			}
			b.WriteByte(c)
		default:
			if word, js := literal(text[i:]); word != "" {
				b.WriteString(js)
				i += len(word) - 1
				continue
			}
			b.WriteByte(c)
		}
	}
	return b.String()
}

// literal is the word of Python that text begins with, and what JSON calls it.
func literal(text string) (word, js string) {
	for _, w := range [][2]string{{"True", "true"}, {"False", "false"}, {"None", "null"}} {
		if strings.HasPrefix(text, w[0]) {
			return w[0], w[1]
		}
	}
	return "", ""
}

// unwrap takes {"vote": {...}} for its inside.
func unwrap(o map[string]any) map[string]any {
	if o["state"] != nil || len(o) != 1 {
		return o
	}
	for _, v := range o {
		if inner, ok := v.(map[string]any); ok {
			return lower(inner)
		}
	}
	return o
}

// fill checks the fields. What is needed and missing, or out of range, makes it no vote (ROOM.md 1).
func fill(o map[string]any) (ballot, error) {
	var b ballot
	var ok bool
	if b.state, ok = oneOf(o["state"], round.StateSpeak, round.StateListen); !ok {
		return ballot{}, fmt.Errorf("%w: state", errNonsense)
	}
	n, ok := numeral(o["importance"])
	if !ok {
		return ballot{}, fmt.Errorf("%w: importance", errNonsense)
	}
	if !(n >= 0 && n <= 10) {
		return ballot{}, fmt.Errorf("%w: importance", errRange)
	}
	b.importance = n
	if v := o["closing"]; v != nil {
		if b.closing, ok = oneOf(v, round.ClosingNone, round.PreClosing, round.ClosingNow, round.Terminal); !ok {
			return ballot{}, fmt.Errorf("%w: closing", errRange)
		}
	}
	// These two only colour the answer: a word that is not known is left out.
	b.intent, _ = oneOf(o["intent"], words.Question, words.Request, words.Clarification, words.Statement, words.Approval, words.Farewell)
	b.tone, _ = oneOf(o["tone"], words.Neutral, words.Confused, words.Frustrated, words.Excited, words.Positive)
	reason, _ := o["reason"].(string)
	b.reason = oneSentence(reason)
	return b, nil
}

// oneOf takes a word for a known one: case, spaces and underscores do not matter.
func oneOf[T ~string](v any, known ...T) (T, bool) {
	s, _ := v.(string)
	s = strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(strings.TrimSpace(s)))
	if i := slices.Index(known, T(s)); i >= 0 {
		return known[i], true
	}
	return "", false
}

func numeral(v any) (float64, bool) {
	var s string
	switch v := v.(type) {
	case json.Number:
		s = v.String()
	case string:
		s = strings.TrimSuffix(strings.ReplaceAll(strings.TrimSpace(v), " ", ""), "/10")
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// oneSentence is a model's reason as a ledger can hold it: one line, no controls, not long.
func oneSentence(s string) string {
	s = visible(strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " "))
	if utf8.RuneCountInString(s) > refineReason {
		s = string([]rune(s)[:refineReason-1]) + "…"
	}
	return s
}

// onto lays the ballot over the rules' vote. From, MessageID, Selected and Spoke stay what code has set.
func (b ballot) onto(v round.Vote) round.Vote {
	why := cmp.Or(b.reason, "as the model sees it")
	v.Terms = append(append([]round.Term(nil), v.Terms...), round.Term{Name: termModel, Value: b.importance - v.Importance, Why: why})
	if b.intent != "" {
		v.Terms = append(v.Terms, round.Term{Name: termIntent, Why: string(b.intent)})
	}
	if b.tone != "" {
		v.Terms = append(v.Terms, round.Term{Name: termTone, Why: string(b.tone)})
	}
	v.State, v.Importance = b.state, b.importance
	if b.closing != "" {
		v.Closing = b.closing
	}
	v.Reason, v.Because = "model: "+why, ""
	return v
}
