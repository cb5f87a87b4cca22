package rehearsal

// vad finds the turns in what a client streams (turn_detection). It hears loudness and nothing else: semantic_vad, of which
// the real one knows when a sentence is complete, waits for a silence whose length goes by its eagerness. Owned by the loop.
type vad struct {
	on                  bool
	level               float64 // dB of full scale, above which a piece is speech
	prefix, silence     int     // samples
	answers, interrupts bool

	base    int    // samples of the session before input[0]
	looked  int    // samples of input that were listened to
	loud    int    // of these, in a row, the last
	quiet   int    // likewise, while somebody speaks
	item    string // being spoken; "": nobody does
	waiting bool   // an answer is due when the live one is done
}

const (
	vadPiece = Rate / 50      // 20 ms
	vadLeast = Rate * 3 / 50  // 60 ms: less is a click
	vadSlack = Rate           // kept beyond the padding before it is cut off
	maxVAD   = 10 * 60 * 1000 // ms, of padding and silence
)

var (
	serverVAD = m{
		"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300.0, "silence_duration_ms": 500.0, "idle_timeout_ms": nil,
		"create_response": true, "interrupt_response": true,
	}
	semanticVAD = m{"type": "semantic_vad", "eagerness": "auto", "create_response": true, "interrupt_response": true}
	eagerness   = map[string]float64{"low": 1600, "medium": 800, "auto": 800, "high": 400} // ms of silence

	turnDetection = variant(map[string]rule{
		"server_vad": object(map[string]field{
			"type": must(oneOf("server_vad")), "threshold": may(number(0, 1, false)),
			"prefix_padding_ms": may(number(0, maxVAD, true)), "silence_duration_ms": may(number(0, maxVAD, true)),
			"idle_timeout_ms": clears(noIdling), "create_response": may(boolean), "interrupt_response": may(boolean),
		}),
		"semantic_vad": object(map[string]field{
			"type": must(oneOf("semantic_vad")), "eagerness": may(oneOf("low", "medium", "high", "auto")),
			"create_response": may(boolean), "interrupt_response": may(boolean),
		}),
	})
)

// noIdling: the rehearsal speaks when it is spoken to.
func noIdling(path string, _ any) *violation {
	return wrong("invalid_value", path, "The rehearsal server does not speak up by itself: leave '%s' out.", path)
}

// attend takes turn_detection as it is now in the session, completed by the defaults.
func (x *session) attend() {
	in := get[m](x.conf, "audio", "input")
	given, _ := in["turn_detection"].(m)
	if given == nil {
		x.vad.on, x.vad.item, x.vad.waiting = false, "", false
		return
	}
	full := copyOf(serverVAD).(m)
	if given["type"] == "semantic_vad" {
		full = copyOf(semanticVAD).(m)
	}
	for k, v := range given {
		full[k] = v
	}
	in["turn_detection"] = full
	e := &x.vad
	if !e.on {
		e.forget(len(x.input)) // what lies there was for a commit
		x.input = nil
	}
	ms := func(key string) int { return int(get[float64](full, key)) * Rate / 1000 }
	e.on, e.answers, e.interrupts = true, get[bool](full, "create_response"), get[bool](full, "interrupt_response")
	e.prefix, e.silence, e.level = ms("prefix_padding_ms"), ms("silence_duration_ms"), levelOf(get[float64](full, "threshold"))
	if name := get[string](full, "eagerness"); name != "" {
		e.prefix, e.silence, e.level = Rate*3/10, int(eagerness[name])*Rate/1000, levelOf(0.5)
	}
}

// levelOf maps a threshold to loudness: 0 is -50 dB of full scale, 0.5 is -40, 1 is -30.
func levelOf(threshold float64) float64 { return -50 + 20*threshold }

// forget goes past n samples, in which nobody spoke.
func (e *vad) forget(n int) {
	e.base += n
	e.looked, e.loud, e.quiet, e.item = 0, 0, 0, ""
}

// listen looks for turns in the sound that has come.
func (x *session) listen() {
	e := &x.vad
	for e.on && len(x.input)-e.looked >= vadPiece {
		loud := measure(x.input[e.looked:e.looked+vadPiece]).Level > e.level
		e.looked += vadPiece
		switch {
		case e.item == "" && loud:
			if e.loud += vadPiece; e.loud >= vadLeast {
				x.speechStarted()
			}
		case e.item == "":
			e.loud = 0
			if keep := e.prefix; e.looked > keep+vadSlack {
				x.drop(e.looked - keep)
			}
		case loud:
			e.quiet = 0
		default:
			if e.quiet += vadPiece; e.quiet >= e.silence {
				x.speechStopped()
			}
		}
	}
}

// drop cuts the beginning off the input.
func (x *session) drop(n int) {
	x.input = x.input[:copy(x.input, x.input[n:])]
	x.vad.base += n
	x.vad.looked -= n
}

func (x *session) speechStarted() {
	e := &x.vad
	x.drop(max(0, e.looked-e.loud-e.prefix))
	e.item, e.quiet = x.newID("item"), 0
	x.emit("input_audio_buffer.speech_started", m{"audio_start_ms": e.base * 1000 / Rate, "item_id": e.item})
	if !e.interrupts {
		return
	}
	e.waiting = false
	if r := x.active(); r != nil {
		x.finish(r, "cancelled", m{"type": "cancelled", "reason": "turn_detected"})
	}
}

func (x *session) speechStopped() {
	e := &x.vad
	id, n := e.item, e.looked
	rest := append([]int16(nil), x.input[n:]...)
	sound := x.input[:n:n]
	x.input = rest
	e.forget(n)
	x.emit("input_audio_buffer.speech_stopped", m{"audio_end_ms": e.base * 1000 / Rate, "item_id": id})
	x.keep(id, sound)
	if e.answers {
		e.waiting = true
		x.due()
	}
}

// due gives the answer that a turn has earned, once the one before it is done.
func (x *session) due() {
	if !x.vad.waiting || x.active() != nil || x.closed != nil {
		return
	}
	x.vad.waiting = false
	if bad := x.respond(m{}, ""); bad != nil {
		x.refuse("", bad)
	}
}
