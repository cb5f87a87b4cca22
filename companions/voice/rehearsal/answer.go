package rehearsal

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// piece is the sound in one delta: 200 ms.
const piece = Rate / 5

// maxAnswer bounds what a brain may say at once, in bytes.
const maxAnswer = 16 << 10

// answer is the goroutine of one response: hear out, think, speak, piece by piece and at the pace asked for.
func (x *session) answer(r *response, t Thought, f Faults) {
	defer func() {
		if p := recover(); p != nil {
			x.log.Error(logTrouble, "panic", p)
			x.hand(step{r: r, end: "failed", why: failed("The rehearsal tripped over itself.")})
		}
	}()
	if t.hearing != nil {
		select {
		case <-t.hearing.done:
			t.heard(t.hearing)
		case <-r.ctx.Done():
			return
		}
	}
	if !sleep(r.ctx, f.FirstByte) {
		return
	}
	reply := x.srv.o.Brain.Think(t)
	if t.resume {
		reply.Text = goOn(reply.Text, t.said)
	}
	speak := speaker{x: x, r: r, f: f, voice: r.voice}
	if l := reply.Language; l != "" && l != english {
		speak.voice = espeakPrefix + l
	}
	for i, s := range sentences(clip(reply.Text, maxAnswer)) {
		if (f.Incomplete || f.CutShort) && i == 1 {
			break
		}
		if !speak.sentence(s) {
			return
		}
	}
	if len(reply.Sound) > 0 && !speak.utter("", reply.Sound) {
		return
	}
	if f.Incomplete || f.CutShort {
		why := "content_filter"
		if f.CutShort {
			why = "max_output_tokens"
		}
		x.hand(step{r: r, end: "incomplete", why: m{"type": "incomplete", "reason": why}})
		return
	}
	for _, c := range reply.Calls {
		if !x.hand(step{r: r, call: &c}) {
			return
		}
	}
	x.hand(step{r: r, end: "completed"})
}

func failed(text string) m {
	return m{"type": "failed", "error": m{"type": "server_error", "code": "server_error", "message": text}}
}

// resumeMarker begins what a client asks for whose connection broke in the middle of an answer; the last words that were
// heard of it follow in quotes.
const resumeMarker = "The connection broke while you were answering"

// resumes takes such a request out of a prompt.
func resumes(prompt string) (rest, said string, ok bool) {
	rest, how, ok := strings.Cut(prompt, resumeMarker)
	if ok {
		said = unquoted(quotation().FindString(how))
	}
	return strings.TrimSpace(rest), strings.TrimPrefix(said, "… "), ok
}

// goOn leaves out of an answer the sentences before the one in which what was said of it ends.
func goOn(text, said string) string {
	at := strings.LastIndex(text, said)
	if said == "" || at < 0 {
		return text
	}
	left := at + len(strings.TrimRight(said, " .!?"))
	for _, s := range sentences(text) {
		if left < len(s) {
			break
		}
		text, left = text[len(s):], left-len(s)
	}
	return text
}

// hand gives a step to the loop, which takes it when the outbox has room.
func (x *session) hand(st step) bool {
	select {
	case x.steps <- st:
		return true
	case <-st.r.ctx.Done():
		return false
	}
}

// speaker keeps the pace of one answer. Owned by its goroutine.
type speaker struct {
	x     *session
	r     *response
	f     Faults
	voice string
	begun time.Time
	said  int // samples handed over
}

func (s *speaker) sentence(text string) bool {
	if s.r.text {
		return s.x.hand(step{r: s.r, text: text})
	}
	pcm, err := s.x.srv.o.Synthesizer.Say(s.r.ctx, s.voice, strings.TrimSpace(text))
	if s.r.ctx.Err() != nil {
		return false
	}
	if err != nil {
		s.x.log.Error(logTrouble, "err", err)
		s.x.hand(step{r: s.r, end: "failed", why: failed(err.Error())})
		return false
	}
	return s.utter(text, pcm)
}

// utter hands over pcm with its words spread over it.
func (s *speaker) utter(text string, pcm []int16) bool {
	if s.begun.IsZero() {
		s.begun = time.Now()
	}
	pieces := max(1, (len(pcm)+piece-1)/piece)
	for i := range pieces {
		if !s.wait() {
			return false
		}
		st := step{r: s.r, pcm: pcm[min(i*piece, len(pcm)):min((i+1)*piece, len(pcm))]}
		st.text, text = cutWords(text, pieces-i)
		if !s.x.hand(st) {
			return false
		}
		s.said += len(st.pcm)
	}
	return true
}

// wait lets the pace pass: Pace times real time, or Faults.Burst.
func (s *speaker) wait() bool {
	var due time.Duration
	said := time.Duration(s.said) * time.Second / Rate
	if pace := s.x.srv.o.Pace; pace > 0 {
		due = time.Duration(float64(said) / pace)
	}
	if b := s.f.Burst; b > 0 {
		due = (said + b - 1).Truncate(b) // the next multiple
	}
	return sleep(s.r.ctx, due-time.Since(s.begun))
}

// cutWords takes the nth part of a text, at a space.
func cutWords(text string, n int) (head, rest string) {
	at := len(text) / n
	if n <= 1 || at == 0 {
		if n > 1 {
			return "", text
		}
		return text, ""
	}
	if i := strings.IndexByte(text[at:], ' '); i >= 0 {
		return text[:at+i], text[at+i:]
	}
	return text, ""
}

// sentences cuts a text so that the first one can be spoken while the others wait; spaces stay with what follows them.
func sentences(text string) []string {
	var out []string
	const most = 400 // bytes a synthesizer gets at once
	from := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		end := (c == '.' || c == '!' || c == '?') && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n') && i-from > 8
		if end || i-from >= most && (c == ' ' || i-from >= 2*most && utf8.RuneStart(c)) {
			out = append(out, text[from:i+1])
			from = i + 1
		}
	}
	if strings.TrimSpace(text[from:]) != "" {
		out = append(out, text[from:])
	}
	return out
}

// lateDeltas is Faults.LateAfterCancel: the service may still send what it had made.
func (x *session) lateDeltas(r *response, it *item, index int, d time.Duration) {
	hiss := make([]int16, piece)
	for i := range hiss {
		hiss[i] = int16(i%64-32) * 200
	}
	for range max(1, d/(50*time.Millisecond)) {
		if !sleep(x.ctx, min(d, 50*time.Millisecond)) || !x.later(func() {
			x.emit("response.output_audio.delta", m{
				"response_id": r.id, "item_id": it.id, "output_index": index, "content_index": 0, "delta": soundBase64(hiss),
			})
		}) {
			return
		}
	}
}

// thought gathers what a brain may know. The items' own fields are copied: the loop goes on.
func (x *session) thought(p m, items []*item) Thought {
	t := Thought{
		Takes:        map[string]any{},
		Instructions: get[string](x.conf, "instructions"), Now: x.srv.o.Now(), About: x.srv.About(), Language: x.srv.o.Language,
	}
	t.Prompt = strings.TrimSpace(strings.TrimPrefix(get[string](p, "instructions"), t.Instructions))
	t.Prompt, t.said, t.resume = resumes(t.Prompt)
	if rest, ok := strings.CutPrefix(t.Prompt, RoomMarker); ok {
		t.InRoom, t.Guidance, t.Prompt = true, strings.TrimSpace(rest), ""
	}
	t.Talk = talkOf(items)
	tools, ok := p["tools"].([]any)
	if !ok {
		tools = get[[]any](x.conf, "tools")
	}
	choice := p["tool_choice"]
	if choice == nil {
		choice = x.conf["tool_choice"]
	}
	switch c := choice.(type) {
	case string:
		if c == "none" {
			tools = nil
		}
		t.MustCall = c == "required"
	case m:
		t.Force = get[string](c, "name")
	}
	for _, v := range tools {
		name := get[string](v.(m), "name")
		t.Tools = append(t.Tools, name)
		t.Takes[name] = v.(m)["parameters"]
	}
walk:
	for _, it := range slices.Backward(items) {
		switch {
		case it.kind == "function_call_output":
			t.Outputs = slices.Insert(t.Outputs, 0, it.output)
		case it.kind == "function_call":
		case it.role == "user":
			t.Words, t.hearing = roomLine(it.text).Text, nil
			if !it.typed {
				t.hearing, t.sound = it.hearing, it.sound
			}
			break walk
		case it.role == "system" && t.Prompt == "" && t.Outputs == nil && !t.InRoom:
			t.Prompt = it.text
			break walk
		case it.role == "assistant" && t.resume: // what broke off
		case it.role == "assistant":
			if t.Outputs == nil && t.Prompt == "" {
				t.Answered = true
			}
			break walk
		}
	}
	return t
}

// strikes is Faults.DropAfter and BlackHoleAfter.
func (x *session) strikes(r *response) bool {
	f := x.srv.Faults()
	sent := time.Duration(r.sent) * time.Second / Rate
	switch {
	case f.DropAfter > 0 && sent >= f.DropAfter:
		x.closed = errDropped
		return true
	case f.BlackHoleAfter > 0 && sent >= f.BlackHoleAfter:
		x.hole.Store(true)
		x.out.end()
		x.wg.Go(func() {
			<-x.written // what was said before gets out
			if x.gate != nil {
				x.gate.shut()
			}
		})
		return true
	}
	return false
}

// tell is emit for what a response sends, with the faults of the wire.
func (x *session) tell(r *response, kind string, e m) {
	f := x.srv.Faults()
	if r != nil {
		e["response_id"] = r.id
	}
	if f.Garbage > 0 && x.rng.Float64() < f.Garbage {
		g := garbage[x.rng.IntN(len(garbage))]
		x.send(g)
	}
	if f.Unknown > 0 && x.rng.Float64() < f.Unknown {
		x.emit("response.weather.changed", m{"response_id": "resp_unknown", "weather": m{"rain": true}})
	}
	e["type"], e["event_id"] = kind, x.newID("event")
	data := frame{1, encode(e)}
	x.send(data)
	if f.Duplicate > 0 && x.rng.Float64() < f.Duplicate {
		x.send(data)
	}
}

// garbage are frames that are no events.
var garbage = []frame{
	{1, []byte(`{"type":"response.output_audio.delta","delta":`)},
	{1, []byte(`[]`)},
	{1, []byte(`{"type":42}`)},
	{1, []byte(`{"no":"type"}`)},
	{1, []byte(``)},
	{1, []byte(`{"type":"response.output_audio.delta","response_id":{},"delta":7}`)},
	{2, []byte{0xff, 0xfe, 0, 1}},
}
