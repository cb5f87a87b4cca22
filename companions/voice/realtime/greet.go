package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"conch/coordinator/turn"
)

// A session is described, and bends where the server refuses a part of it that conversation does not need:
//
//	session.created ──> session.update ──> session.updated                                     a session
//	     error that names it, or that nothing follows for refusalWait ──> again, without …     at most bends times
//
// … the part that is named; then every part that is optional; then all but who it is and that the button decides.

// parts are those of a session that may be left out.
type parts uint8

const (
	partTranscription parts = 1 << iota
	partVoice
	partReasoning
	partTools
	partForm // modalities and the format of what is said

	partsOptional = partTranscription | partVoice | partReasoning
)

var partNames = []struct {
	part parts
	name string
	says []string // in the parameter that a server names, or else in what it says
}{
	{partTranscription, "transcription", []string{"transcription", "transcribe"}},
	{partVoice, "voice", []string{"voice"}},
	{partReasoning, "reasoning", []string{"reasoning"}},
	{partTools, "tools", []string{"tool"}},
	{partForm, "format", []string{"modalities", "output.format", "output_audio_format"}},
}

// names lists them for people.
func (p parts) names() (all []string) {
	for _, n := range partNames {
		if p&n.part != 0 {
			all = append(all, n.name)
		}
	}
	return all
}

// bent is what a session had to do without.
type bent struct {
	parts parts
	why   string
}

// final says that no session will be had, whatever is left out: the key, the quota, the model. That of the transcription is
// only a part.
func (e *wireError) final() bool {
	say := wordsFor(e.Code, e.Type)
	if say == turn.WordsModelRefused && strings.Contains(strings.ToLower(e.Param+" "+e.Message), "transcri") {
		return false
	}
	return say != turn.WordsServerError || e.is(codeExpired)
}

// beyond is the next thing to leave out after an error; false: nothing is left that could be.
func (p parts) beyond(e *wireError, used parts) (parts, bool) {
	left := used &^ p
	if left == 0 {
		return p, false
	}
	for _, text := range []string{e.Param, e.Message} {
		for _, n := range partNames {
			if left&n.part != 0 && slices.ContainsFunc(n.says, func(s string) bool { return strings.Contains(strings.ToLower(text), s) }) {
				return p | n.part, true
			}
		}
	}
	if left&partsOptional != 0 {
		return p | left&partsOptional, true
	}
	return p | left, true
}

// used are the parts that this configuration has at all.
func (cfg *Config) used() parts {
	p := partForm | partTools // an empty list is a list
	if cfg.TranscriptionModel != "" {
		p |= partTranscription
	}
	if cfg.Voice != "" {
		p |= partVoice
	}
	if cfg.Reasoning != "" {
		p |= partReasoning
	}
	return p
}

// strip takes parts out of a session.update.
func (p parts) strip(up any) any {
	if p == 0 {
		return up
	}
	update, ok := up.(wireSessionUpdate)
	if !ok {
		return up
	}
	switch s := update.Session.(type) {
	case sessionGA:
		audio := *s.Audio
		s.Audio = &audio
		if audio.Output != nil {
			out := *audio.Output
			audio.Output = &out
		}
		if p&partTranscription != 0 {
			audio.Input.Transcription = nil
		}
		if p&partVoice != 0 {
			s.Voice = ""
			if audio.Output != nil {
				audio.Output.Voice = ""
			}
		}
		if p&partReasoning != 0 {
			s.Reasoning = nil
		}
		if p&partTools != 0 {
			s.Tools = nil
		}
		if p&partForm != 0 {
			s.Modalities = nil
			if audio.Output != nil {
				audio.Output.Format = formatGA{}
			}
		}
		update.Session = s
	case sessionBeta:
		if p&partTranscription != 0 {
			s.Transcription = nil
		}
		if p&partVoice != 0 {
			s.Voice = ""
		}
		if p&partTools != 0 {
			s.Tools = nil
		}
		if p&partForm != 0 {
			s.Modalities, s.OutputFormat = nil, ""
		}
		update.Session = s
	}
	return update
}

// greet waits for the first event, which may tell the dialect, describes the session and waits for session.updated.
func (cfg *Config) greet(ctx context.Context, l *link, specs []turn.ToolSpec, without parts) error {
	used := cfg.used()
	without &= used
	l.bent.parts = without
	d, id, described, others := cfg.Dialect, "", false, 0
	var last *wireError // since the session was described the last time
	describe := func() error {
		id = fmt.Sprintf("conch_session_%d", without)
		b, err := json.Marshal(without.strip(cfg.session(&d, id, specs)))
		if err == nil {
			select {
			case l.out <- b:
			case <-l.ctx.Done():
				err = context.Cause(l.ctx)
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			return fmt.Errorf("describe the session: %w", err)
		}
		described, last = true, nil
		return nil
	}
	var answered *refused // what the present description answers: who hangs up all the same may take it from the beginning
	// bend describes it again with less, or gives up.
	bend := func(e *wireError, onlyNext bool) error {
		no := &refused{code: e.Code, kind: e.Type, text: e.Message}
		more, ok := without.beyond(e, used)
		if !ok || !described || e.final() {
			return no
		}
		no.bend = more
		if onlyNext { // the connection is gone
			return no
		}
		without, answered = more, no
		l.bent = bent{more, strings.TrimSpace(e.code() + " " + e.Message)}
		if err := describe(); l.ctx.Err() == nil {
			return err
		}
		return no
	}
	patience := time.NewTimer(handshakeTimeout)
	defer patience.Stop()
	for {
		var m message
		select {
		case m = <-l.in:
		case <-ctx.Done():
			return fmt.Errorf("wait for the session: %w", ctx.Err())
		case <-patience.C:
			if last == nil {
				continue
			}
			if err := bend(last, false); err != nil {
				return err
			}
			continue
		case <-l.ctx.Done():
			select {
			case m = <-l.in: // its last words
			default:
				if last != nil {
					return bend(last, true)
				}
				if answered != nil {
					return answered
				}
				if no := closing(context.Cause(l.ctx)); no != nil {
					return no
				}
				return fmt.Errorf("wait for the session: %w", context.Cause(l.ctx))
			}
		}
		ev := m.ev
		if m.err == nil && !described && slices.Contains(d.FirstEvents, ev.Type) {
			d = d.guessed(m.buf)
			if err := describe(); err != nil {
				return err
			}
			putBuf(m.buf)
			continue
		}
		putBuf(m.buf)
		switch {
		case m.err == nil && ev.Type == "error":
			e := ev.Error
			if e == nil {
				e = &wireError{}
			}
			if others++; others > maxGarbage {
				return &refused{code: e.Code, kind: e.Type, text: e.Message}
			}
			switch {
			case e.final():
				return &refused{code: e.Code, kind: e.Type, text: e.Message}
			case described && e.EventID == id:
				if err := bend(e, l.ctx.Err() != nil); err != nil {
					return err
				}
			case last == nil: // it may be about anything: what follows tells
				last = e
				patience.Reset(refusalWait)
			}
		case m.err == nil && described && ev.Type == "session.updated":
			l.dialect = d
			return nil
		default:
			if others++; others > maxGarbage {
				return errors.New("wait for the session: the server talks of other things")
			}
		}
	}
}
