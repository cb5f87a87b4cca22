package rehearsal

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// session is one connection and its one conversation. The loop owns it.
type session struct {
	srv    *Server         // fixed after newSession
	id     string          // fixed
	log    *slog.Logger    // fixed
	life   time.Duration   // fixed
	ctx    context.Context // fixed; its end is the session's
	cancel context.CancelCauseFunc

	frames  chan frame  // reader to loop
	calls   chan func() // recognizers and timers to loop
	steps   chan step   // answers to loop
	out     *outbox
	written chan struct{}  // closed when the writer is through
	wg      sync.WaitGroup // reader, writer, recognizers, answers
	hole    atomic.Bool    // Faults.BlackHoleAfter has struck, where the connection cannot be stopped itself

	// owned by the loop
	rng    *rand.Rand
	conn   *websocket.Conn
	gate   *gate // nil when the listener is not ours
	conf   m     // the session object, as sent
	spoke  bool  // the voice cannot change any more
	input  []int16
	vad    vad
	talk   conversation
	live   []*response
	closed error // errExpired or errDropped: no more events
}

var (
	errClientGone = errors.New("the client closed the connection")
	errDropped    = errors.New("dropped on demand")
	errExpired    = errors.New("expired")
	errOutbox     = errors.New("the client does not read")
)

func newSession(s *Server, model string, rng *rand.Rand) *session {
	x := &session{
		srv: s, life: s.o.Life, rng: rng, out: newOutbox(), written: make(chan struct{}),
		frames: make(chan frame), calls: make(chan func()), steps: make(chan step),
	}
	x.ctx, x.cancel = context.WithCancelCause(context.Background())
	x.id = x.newID("sess")
	x.talk.id = x.newID("conv")
	x.log = s.o.Log.With("session", x.id)
	x.conf = m{
		"type": "realtime", "model": model, "output_modalities": []any{"audio"},
		"instructions": "", "tools": []any{}, "tool_choice": "auto", "max_output_tokens": "inf",
		"tracing": nil, "truncation": "auto", "prompt": nil, "include": nil,
		"audio": m{
			"input": m{
				"format": m{"type": "audio/pcm", "rate": Rate}, "transcription": nil, "noise_reduction": nil, "turn_detection": copyOf(serverVAD),
			},
			"output": m{"format": m{"type": "audio/pcm", "rate": Rate}, "voice": "marin", "speed": 1.0},
		},
	}
	x.attend()
	return x
}

func (x *session) newID(kind string) string {
	return fmt.Sprintf("%s_%016x%04x", kind, x.rng.Uint64(), x.rng.Uint32()&0xffff)
}

// run is the loop; it returns when the session is over and nothing of it runs any more.
func (x *session) run(conn *websocket.Conn) {
	x.conn = conn
	x.log.Info(logSessionBegin, "model", x.conf["model"])
	x.wg.Go(func() { x.cancel(x.read()) })
	x.wg.Go(func() {
		defer close(x.written)
		if err := x.out.write(x.ctx, conn); err != nil {
			x.cancel(err)
		}
	})
	life := time.NewTimer(x.life)
	defer life.Stop()
	x.emit("session.created", m{"session": x.sessionObject()})
	for x.ctx.Err() == nil && x.closed == nil {
		steps := x.steps
		if x.out.full() {
			steps = nil
		}
		select {
		case f := <-x.frames:
			x.take(f)
		case f := <-x.calls:
			f()
		case st := <-steps:
			x.step(st)
		case <-x.out.room:
		case <-life.C:
			x.expire()
		case <-x.ctx.Done():
		}
	}
	// Farewell in order where there is somebody to say it to, at once where not.
	reason := context.Cause(x.ctx)
	for _, r := range x.live {
		r.cancel()
	}
	x.out.end()
	if x.closed != nil {
		reason = x.closed
		select {
		case <-x.written:
		case <-time.After(time.Second):
		}
	}
	if errors.Is(reason, errExpired) {
		_ = conn.Close(websocket.StatusNormalClosure, "session expired")
	}
	x.cancel(reason)
	_ = conn.CloseNow()
	x.wg.Wait()
	x.log.Info(logSessionEnd, "reason", reason, "items", len(x.talk.items))
}

// read is the reader goroutine.
func (x *session) read() error {
	for {
		// The session's context, never one with a deadline: an expired one would close the connection.
		kind, data, err := x.conn.Read(x.ctx)
		if err != nil {
			if s := websocket.CloseStatus(err); s == websocket.StatusNormalClosure || s == websocket.StatusGoingAway {
				return errClientGone
			}
			return fmt.Errorf("read: %w", err)
		}
		if x.hole.Load() {
			continue
		}
		select {
		case x.frames <- frame{kind, data}:
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		}
	}
}

// later runs f on the loop; false when the session is over.
func (x *session) later(f func()) bool {
	select {
	case x.calls <- f:
		return true
	case <-x.ctx.Done():
		return false
	}
}

// emit sends one event.
func (x *session) emit(kind string, e m) {
	e["type"], e["event_id"] = kind, x.newID("event")
	x.send(frame{websocket.MessageText, encode(e)})
}

func (x *session) send(f frame) {
	if x.hole.Load() || x.closed != nil {
		return
	}
	if !x.out.put(f) {
		x.cancel(errOutbox)
	}
}

// refuse answers a violation with an error event; cause is the client's id of the offending event.
func (x *session) refuse(cause string, v *violation) {
	kind := cmp.Or(v.kind, "invalid_request_error")
	x.log.Warn(logViolation, "code", v.code, "param", v.param, "text", v.message)
	x.emit("error", m{"error": m{
		"type": kind, "code": v.code, "message": v.message, "param": orNull(v.param), "event_id": orNull(cause),
	}})
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (x *session) take(f frame) {
	if f.kind != websocket.MessageText {
		x.refuse("", wrong("invalid_message", "", "Events are text messages; this one was binary."))
		return
	}
	ev, id, bad := decode(f.data)
	if bad == nil {
		bad = x.handle(ev, id)
	}
	if bad != nil {
		x.refuse(id, bad)
	}
}

// handle does what a checked event asks for.
func (x *session) handle(ev m, id string) *violation {
	switch get[string](ev, "type") {
	case "session.update":
		return x.update(ev["session"].(m))
	case "input_audio_buffer.append":
		return x.append(get[string](ev, "audio"))
	case "input_audio_buffer.commit":
		return x.commit()
	case "input_audio_buffer.clear":
		x.vad.forget(len(x.input))
		x.input = nil
		x.emit("input_audio_buffer.cleared", m{})
	case "conversation.item.create":
		return x.createItem(ev)
	case "conversation.item.retrieve":
		it := x.talk.find(get[string](ev, "item_id"))
		if it == nil {
			return noItem("retrieve", get[string](ev, "item_id"))
		}
		x.emit("conversation.item.retrieved", m{"item": it.wire(true)})
	case "conversation.item.delete":
		it := x.talk.remove(get[string](ev, "item_id"))
		if it == nil {
			return noItem("delete", get[string](ev, "item_id"))
		}
		x.emit("conversation.item.deleted", m{"item_id": it.id})
	case "conversation.item.truncate":
		return x.truncate(get[string](ev, "item_id"), int(get[float64](ev, "audio_end_ms")))
	case "response.create":
		return x.respond(ev, id)
	case "response.cancel":
		return x.cancelResponse(get[string](ev, "response_id"))
	case "output_audio_buffer.clear":
		return wrong("invalid_value", "type", "output_audio_buffer.clear is for WebRTC: on a WebSocket the client plays the sound and flushes it itself.")
	}
	return nil
}

func (x *session) update(up m) *violation {
	if model := get[string](up, "model"); model != "" && model != x.conf["model"] {
		return wrong("invalid_value", "session.model", "The model of a session cannot change: connect again with model=%s.", clip(model, 100))
	}
	if out := get[m](up, "audio", "output"); out["voice"] != nil && x.spoke && voiceOf(out["voice"]) != x.voiceFor(nil) {
		return wrong("cannot_update_voice", "session.audio.output.voice", "The voice cannot change once it has been heard.")
	}
	merge(x.conf, up)
	x.attend()
	x.emit("session.updated", m{"session": x.sessionObject()})
	return nil
}

// sessionObject is the session as the official types have it (the service adds an id and an expiry they do not know).
func (x *session) sessionObject() m { return copyOf(x.conf).(m) }

// append takes sound. Nothing answers it (GA reference), except an error, or a turn that was found in it.
func (x *session) append(b64 string) *violation {
	pcm, bad := x.samples(b64, len(x.input))
	if bad != nil {
		return bad
	}
	x.input = append(x.input, pcm...)
	x.listen()
	return nil
}

// samples are those of an event, of which there may be no more than fit behind so many.
func (x *session) samples(b64 string, behind int) ([]int16, *violation) {
	raw, err := base64.StdEncoding.DecodeString(b64)
	switch {
	case err != nil:
		return nil, wrong("invalid_value", "audio", "Invalid 'audio': not base64 (%s).", err)
	case len(raw)%2 != 0:
		return nil, wrong("invalid_value", "audio", "Invalid 'audio': %d bytes are no whole 16 bit samples.", len(raw))
	case behind+len(raw)/2 > maxInput:
		return nil, wrong("input_audio_buffer_full", "audio", "The input buffer holds %d minutes at most: commit or clear it.", maxInput/Rate/60)
	}
	pcm := make([]int16, len(raw)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(raw[2*i:]))
	}
	return pcm, nil
}

func (x *session) commit() *violation {
	if x.srv.Faults().RefuseCommit {
		return &violation{"server_error", "commit_failed", "", "The commit was refused on demand."}
	}
	if len(x.input) < minCommit {
		return wrong("input_audio_buffer_commit_empty", "", "The input buffer holds %.2f ms of sound: at least 100 ms are needed.",
			1000*float64(len(x.input))/Rate)
	}
	sound := x.input
	x.input = nil
	x.vad.forget(len(sound))
	x.keep(x.newID("item"), sound)
	return nil
}

// keep makes sound an entry of the conversation.
func (x *session) keep(id string, sound []int16) {
	it := &item{id: id, kind: "message", role: "user", status: "completed", sound: sound, samples: len(sound)}
	prev := x.talk.add(it, nil)
	x.emit("input_audio_buffer.committed", m{"item_id": it.id, "previous_item_id": orNull(prev)})
	x.added(it, prev)
	x.hear(it)
}

// hear starts the recognizer on an item; the transcript comes when it comes, before or after the answer.
func (x *session) hear(it *item) {
	it.hearing = &hearing{done: make(chan struct{})}
	pcm := it.sound
	names := maySay(get[string](x.conf, "audio", "input", "transcription", "prompt"))
	x.wg.Go(func() {
		h, err := x.srv.o.Recognizer.Hear(x.ctx, pcm, names)
		it.hearing.heard, it.hearing.err = h, err
		close(it.hearing.done)
		x.later(func() { x.transcribed(it, h, err) })
	})
}

// quote is a text for the log.
func (x *session) quote(text string) string {
	if x.srv.o.Discreet {
		return fmt.Sprintf("(%d letters)", utf8.RuneCountInString(text))
	}
	return text
}

func (x *session) transcribed(it *item, h Heard, err error) {
	x.log.Debug(logHeard, "item", it.id, "text", x.quote(h.Text), "length_ms", h.Length.Milliseconds(), "level_db", int(h.Level), "err", err)
	it.text = h.Text
	if get[m](x.conf, "audio", "input", "transcription") == nil {
		return
	}
	const event = "conversation.item.input_audio_transcription."
	if err != nil {
		x.log.Error(logTrouble, "err", err)
		x.emit(event+"failed", m{"item_id": it.id, "content_index": 0, "error": m{
			"type": "server_error", "code": "transcription_failed", "message": err.Error(), "param": nil,
		}})
		return
	}
	if h.Text != "" {
		x.emit(event+"delta", m{"item_id": it.id, "content_index": 0, "delta": h.Text})
	}
	x.emit(event+"completed", m{
		"item_id": it.id, "content_index": 0, "transcript": h.Text,
		"usage": m{"type": "duration", "seconds": h.Length.Seconds()},
	})
}

// expire ends the session as the service does after an hour.
func (x *session) expire() {
	x.refuse("", wrong("session_expired", "", "The session has lasted its %s: connect again.", x.life))
	x.closed = errExpired
}
