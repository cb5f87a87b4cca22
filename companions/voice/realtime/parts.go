package realtime

import (
	"slices"
	"strings"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// What a session may be described without.

// parts are those of a session that may be left out.
type parts uint8

const (
	partTranscription parts = 1 << iota
	partVoice
	partReasoning
	partTools
	partForm  // modalities and the format of what is said
	partNamed // names that may be said
	partNoise
	partTruncation

	partsOptional = partNamed | partTranscription | partVoice | partReasoning | partNoise | partTruncation
)

var partNames = []struct {
	part parts
	name string
	says []string // in the parameter that a server names, or else in what it says
}{
	{partNamed, "names", []string{"prompt"}},
	{partTranscription, "transcription", []string{"transcription", "transcribe"}},
	{partVoice, "voice", []string{"voice"}},
	{partReasoning, "reasoning", []string{"reasoning"}},
	{partTools, "tools", []string{"tool"}},
	{partNoise, "noise reduction", []string{"noise_reduction"}},
	{partTruncation, "truncation", []string{"truncation", "retention_ratio"}},
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

// omitted is what a session had to do without.
type omitted struct {
	parts parts
	why   string
}

// final says that no session will be had, whatever is left out: the key, the quota, the model. That of the transcription is
// only a part.
func (e *wireError) final() bool {
	say := kit.WordsFor(e.Code, e.Type)
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
func (cfg *Config) used(d *Dialect, wished kit.Wishes) parts {
	p := partForm | partTools // an empty list is a list
	if cfg.TranscriptionModel != "" {
		p |= partTranscription
		if wished.Names != "" {
			p |= partNamed
		}
	}
	if cfg.Voice != "" {
		p |= partVoice
	}
	if cfg.effort(d) != "" {
		p |= partReasoning
	}
	if cfg.noise(d) != "" {
		p |= partNoise
	}
	if cfg.Retain > 0 && d.Voices {
		p |= partTruncation
	}
	return p
}

// unasked are the parts that a person did not choose, and does not miss.
func (cfg *Config) unasked() parts {
	p := partTruncation
	if cfg.Reasoning == auto {
		p |= partReasoning
	}
	if cfg.Noise == farField {
		p |= partNoise
	}
	return p
}

// scribe is what is left of a transcription.
func (p parts) scribe(tr *transcription) *transcription {
	if tr == nil || p&partTranscription != 0 {
		return nil
	}
	left := *tr
	if p&partNamed != 0 {
		left.Prompt = ""
	}
	return &left
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
		audio.Input.Transcription = p.scribe(audio.Input.Transcription)
		if p&partVoice != 0 {
			s.Voice = ""
			if audio.Output != nil {
				audio.Output.Voice = ""
			}
		}
		if p&partReasoning != 0 {
			s.Reasoning = nil
		}
		if p&partNoise != 0 {
			audio.Input.Noise = nil
		}
		if p&partTruncation != 0 {
			s.Truncation = nil
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
		s.Transcription = p.scribe(s.Transcription)
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
