package cascade

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"conch/companions/voice"
	"conch/companions/voice/cascade/aloud"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
	"conch/device/language"
)

// answer is one, from the question to the last sample that was handed over.
type answer struct {
	id     turn.ResponseID
	turn   turn.ID
	order  *asked
	cancel context.CancelFunc
	spoken *spoken
	pump   *kit.Pump

	// owned by Run
	stopped bool // by us: nobody waits for it
	calls   int

	// owned by the goroutine that asks
	parts aloud.Parts
	plain aloud.Plain
	cut   cutter
	queue chan piece
	times times

	started, worded atomic.Bool // ResponseStarted was told; and that there are words
}

// times are of the stages, since the answer was wanted.
type times struct {
	mu                  sync.Mutex
	words, asked, sound time.Duration // the first text, the first request for speech, the first sound
}

// spoken is what was said of an item, piece by piece, in samples.
type spoken struct {
	turn turn.ID
	item turn.ItemID
	cut  bool // owned by Run: how much was heard is known

	mu    sync.Mutex
	parts []part
}

type part struct {
	text    string
	samples int
	whole   bool // no more of it comes
}

// slowest is letters a second that somebody says who speaks slowly: of a piece whose sound still comes, no more words than that can have
// been heard.
const slowest = 12

// begin notes that a piece is heard from here on.
func (s *spoken) begin(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, part{text: text})
}

// add counts samples of the latest piece; whole: it ends with them.
func (s *spoken) add(n int, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.parts[len(s.parts)-1]
	p.samples, p.whole = p.samples+n, whole
}

// heard is what was said in the first samples of an item.
func (s *spoken) heard(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, p := range s.parts {
		if n >= p.samples && p.whole {
			all = append(all, p.text)
			n -= p.samples
			continue
		}
		of := p.samples
		if !p.whole {
			of = max(of, len([]rune(p.text))*kit.Rate/slowest)
		}
		if text := turn.HeardText(p.text, max(0, n), of); text != "" && n > 0 {
			all = append(all, text)
		}
		break
	}
	return strings.Join(all, " ")
}

// total is its samples, and how many pieces were begun.
func (s *spoken) total() (samples, pieces int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		samples += p.samples
	}
	return samples, len(s.parts)
}

// text is all of it.
func (s *spoken) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, p := range s.parts {
		all = append(all, p.text)
	}
	return strings.Join(all, " ")
}

// mostSpoken is how many items can still be cut.
const mostSpoken = 16

// begin asks for an answer.
func (r *conversation) begin(order *asked) {
	order.tries++
	id := turn.ResponseID(r.next("answer"))
	ctx, cancel := context.WithCancel(context.WithValue(r.ctx, turnKey{}, order.Turn))
	a := &answer{id: id, turn: order.Turn, order: order, cancel: cancel, queue: make(chan piece, mostPieces),
		spoken: &spoken{turn: order.Turn, item: turn.ItemID(r.next("said"))}}
	a.parts.Begin(r.c.mind.early.Load())
	a.pump = kit.NewPump(ctx, a.turn, id, samples(r.cfg.MaxAnswer))
	r.answers[id] = a
	if r.spoken = append(r.spoken, a.spoken); len(r.spoken) > mostSpoken {
		r.spoken = r.spoken[1:]
	}
	messages, tools := r.messages(order), r.c.Wished().Tools
	if order.NoTools {
		tools = nil
	}
	r.history.At(a.spoken.item, a.turn, "assistant") // its place
	r.wg.Go(func() {
		defer cancel()
		e, err := r.answering(ctx, a, messages, tools)
		r.later(func() { r.answered(a, e, err) })
	})
}

// mostPieces of an answer wait to be spoken: more than mostText has.
const mostPieces = 2 * mostText

// answering has the mind and the mouth do their parts at the same time, and the speaker take it.
func (r *conversation) answering(ctx context.Context, a *answer, messages []openai.ChatCompletionMessage, tools []turn.ToolSpec) (e ended, err error) {
	var both sync.WaitGroup
	var mute error
	speaking, hush := context.WithCancel(ctx)
	defer hush()
	both.Go(func() {
		if mute = r.speak(speaking, a); mute != nil {
			hush() // what the mind still writes nobody will hear
		}
	})
	both.Go(func() { a.pump.Run(r.out) })
	e, err = r.think(speaking, a, messages, tools)
	close(a.queue)
	both.Wait()
	if mute != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = mute
	}
	return e, err
}

// think asks the mind, again as long as nothing came.
func (r *conversation) think(ctx context.Context, a *answer, messages []openai.ChatCompletionMessage, tools []turn.ToolSpec) (e ended, err error) {
	some := false
	began := func() {
		if a.started.CompareAndSwap(false, true) {
			r.out.Post(turn.ResponseStarted{At: r.out.Now(), Turn: a.turn, Response: a.id})
		}
	}
	head, broken, bytes := "", false, 0
	thinks := r.thinks(a)
	speak := func(all []aloud.Part) {
		for _, w := range all {
			text := w.Text
			if w.Call != nil {
				calls := spelled(*w.Call, tools)
				for _, c := range calls {
					r.later(func() { r.called(a, c) })
				}
				if len(calls) > 0 || w.Hard {
					broken = broken || len(calls) == 0
					continue
				}
			}
			if text = a.plain.Write(text); strings.TrimSpace(text) != "" {
				bytes += len(text)
				text, head = head+text, ""
				if a.worded.CompareAndSwap(false, true) {
					a.times.mark(&a.times.words, a.order.at)
					r.out.Post(turn.DeltaArrived{At: r.out.Now(), Turn: a.turn, Response: a.id, Item: a.spoken.item})
				}
			}
			a.say(a.cut.write(text))
		}
	}
	on := func(s said) bool {
		if s.forgot {
			if r.forgot.CompareAndSwap(false, true) {
				head = language.Language(r.cfg.Language).Phrase("say.forgotten") + " "
			}
			return true
		}
		some = true
		if s.call != nil {
			r.later(func() { r.called(a, *s.call) })
			return true
		}
		if speak(a.parts.Write(s.text, false)); !a.worded.Load() {
			thinks()
		}
		return bytes <= mostText
	}
	for try := (tries{}); ; {
		e, err = r.c.mind.answer(ctx, messages, tools, began, on)
		if err == nil || ctx.Err() != nil || some {
			break
		}
		wait, ok := try.again(err)
		if !ok {
			break
		}
		r.log.Info(logAgain, "turn", a.turn, "stage", "chat", "err", err, "in", wait)
		if !pause(ctx, wait) {
			break
		}
	}
	if err == nil {
		a.parts.Whole = e.why != "length"
		if speak(a.parts.Write("", true)); broken && !a.parts.Said() {
			speak([]aloud.Part{{Text: language.Language(r.cfg.Language).Phrase("say.no_tools")}})
		}
		r.c.mind.early.Store(a.parts.Early())
		a.say(a.cut.write(a.plain.Flush(a.cut.n == 0 && strings.TrimSpace(a.cut.text) == "")))
		a.say(a.cut.flush())
	}
	return e, err
}

// mostThought is how long a model's thoughts keep its turn alive.
const mostThought = 20 * time.Second

// thinks says once a second that an answer without a word goes on, up to mostThought after the first thought.
func (r *conversation) thinks(a *answer) func() {
	var first, last time.Time
	return func() {
		now := time.Now()
		if first.IsZero() {
			first = now
		}
		if now.Sub(first) <= mostThought && (last.IsZero() || now.Sub(last) >= time.Second) {
			last = now
			r.out.Post(turn.DeltaArrived{At: r.out.Now(), Turn: a.turn, Response: a.id})
		}
	}
}

func (t *times) mark(at *time.Duration, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *at == 0 {
		*at = time.Since(since)
	}
}

// say hands pieces to the mouth. There is room for all that an answer may have.
func (a *answer) say(pieces []piece) {
	for _, p := range pieces {
		select {
		case a.queue <- p:
		default:
		}
	}
}

// stop closes the requests of an answer.
func (r *conversation) stop(a *answer) {
	a.stopped = true
	a.cancel()
	a.pump.Stop()
}

// called tells of a tool call.
func (r *conversation) called(a *answer, c call) {
	if a.stopped {
		return
	}
	a.calls++
	if c.id == "" || slices.ContainsFunc(r.history.Entries, func(e kit.Entry) bool { return e.Item == callOf(c.id) }) { // some count from zero each time
		c.id = turn.CallID(r.next("call"))
	}
	r.keepWords(a)
	r.history.Add(kit.Entry{Turn: a.turn, Item: callOf(c.id), Role: roleCall, Text: c.name + "\n" + c.args})
	r.out.Post(turn.ToolCalled{At: r.out.Now(), Turn: a.turn, Response: a.id, Call: c.id, Name: c.name, Args: c.args})
}

// keepWords makes what was said so far the item's words.
func (r *conversation) keepWords(a *answer) { r.history.Replace(a.spoken.item, a.spoken.text()) }

// answered is the end of an answer, however it came about. All of its speech was handed over.
func (r *conversation) answered(a *answer, e ended, err error) {
	delete(r.answers, a.id)
	total, pieces := a.spoken.total()
	if r.ctx.Err() != nil {
		return
	}
	if a.worded.Load() || a.calls > 0 || a.started.Load() {
		r.count(a, e, total)
	}
	if a.stopped {
		if !a.spoken.cut { // its orders are on their way, or all of it was heard
			r.history.Replace(a.spoken.item, a.spoken.heard(total))
		}
		r.tidy(a)
		if a.started.Load() {
			r.out.Post(turn.ResponseDone{At: r.out.Now(), Turn: a.turn, Response: a.id, Status: turn.ResponseCancelled})
		}
		return
	}
	if err != nil {
		r.broke(a, err, total)
		return
	}
	r.keepWords(a)
	r.tidy(a)
	status, say := turn.ResponseCompleted, turn.Words("")
	switch {
	case e.why == "length":
		status, say = turn.ResponseIncomplete, turn.WordsCutShort
	case e.why == "content_filter":
		status, say = turn.ResponseIncomplete, turn.WordsFiltered
	case total == 0 && a.calls == 0:
		status, say = turn.ResponseFailed, turn.WordsNoAnswer
	}
	t := &a.times
	r.log.Info(logAnswer, "turn", a.turn, "words_ms", t.words.Milliseconds(), "speech_ms", t.asked.Milliseconds(), "sound_ms", t.sound.Milliseconds(),
		"pieces", pieces, "calls", a.calls, "ended", e.why)
	if say == turn.WordsNoAnswer {
		r.log.Warn(logFailed, "turn", a.turn, "response", a.id, "err", "an answer in which there is nothing to say", "bytes", e.bytes, "say", say)
	} else if say != "" {
		r.log.Warn(logFailed, "turn", a.turn, "response", a.id, "say", say)
	}
	r.out.Post(turn.ResponseDone{At: r.out.Now(), Turn: a.turn, Response: a.id, Status: status, Say: say})
}

// tidy forgets the place of an answer that has no words.
func (r *conversation) tidy(a *answer) {
	if r.history.Words(a.spoken.item) == "" {
		r.history.Remove(a.spoken.item)
	}
}

// broke tells of an answer that failed, or asks again when there is somebody to ask.
func (r *conversation) broke(a *answer, err error, total int) {
	lost := r.lostBy(err)
	midway := a.worded.Load() || a.calls > 0
	r.log.Warn(logFailed, "turn", a.turn, "response", a.id, "err", err, "say", lost.Say, "samples", total)
	switch {
	case !midway && r.waits(err, lost.Say) && a.order.tries < mostTries:
		r.tidy(a)
		r.lose(lost, err) // before it is asked again: what had begun is forgotten with it
		r.asked = append(r.asked, a.order)
		return
	case !a.started.Load():
		r.tidy(a)
		r.refuse(a.turn, lost.Say)
	default:
		r.history.Replace(a.spoken.item, a.spoken.heard(total))
		r.tidy(a)
		say := lost.Say
		if midway && (r.waits(err, say) || say == turn.WordsNoAnswer) {
			say = turn.WordsLostMidway
		}
		r.out.Post(turn.ResponseDone{At: r.out.Now(), Turn: a.turn, Response: a.id, Status: turn.ResponseFailed, Say: say})
	}
	if !midway || !errors.Is(err, cutOffError{}) { // a stream that broke says little of the next
		r.lose(lost, err)
	}
}

// count counts an answer. What the server does not count is estimated by the letters.
func (r *conversation) count(a *answer, e ended, total int) {
	c := voice.Counts{Responses: 1, TextIn: e.in, TextCached: min(e.cached, e.in), TextOut: e.out, SaidSeconds: float64(total) / kit.Rate}
	if e.in == 0 {
		letters := len(r.cfg.Instructions)
		for _, h := range r.history.Entries {
			letters += len(h.Text)
		}
		c.TextIn, c.Estimated = kit.TextTokens(letters), 1
	}
	if said := max(e.bytes, len(a.spoken.text())); e.out == 0 && said > 0 {
		c.TextOut, c.Estimated = kit.TextTokens(said), 1
	}
	c.Cost = r.cfg.Prices.Of(c)
	r.c.usage.Count(a.turn, c)
}
