package device

import (
	"context"
	"time"

	"conch/audio"
	"conch/audio/cue"
	clips "conch/audio/words"
	"conch/companions/voice/rehearsal"
	"conch/coordinator"
	"conch/coordinator/turn"
)

// The ports of the coordinator, made of the drivers. Nothing is decided here.

// loud is the coordinator's Speaker.
type loud struct {
	*audio.Speaker
	cue    func(turn.Cue) []int16
	cues   bool // the ready cue sounds in any case (APPLIANCE.md 3)
	volume func(percent int)
}

func (l loud) Open(kind coordinator.SourceKind, generation uint64) coordinator.Source {
	switch kind {
	case coordinator.SourceContent:
		return l.Speaker.Open(audio.SourceContent, generation)
	case coordinator.SourceWords:
		return l.Speaker.Open(audio.SourceWords, generation)
	default:
		return l.Speaker.Open(audio.SourceSpeech, generation)
	}
}

// Drop leaves a Hush in force: the coordinator's own drops are not the press that the edge may become.
func (l loud) Drop() uint64 { return l.Flush() }

func (l loud) Cue(c turn.Cue, generation uint64) coordinator.Source {
	if pcm := l.cue(c); len(pcm) > 0 && (l.cues || c == turn.CueReady) {
		return l.Play(pcm, c == turn.CueThinking, generation)
	}
	return nil
}

func (l loud) StopCue(turn.Cue) { l.StopLoop() }

func (l loud) SetVolume(percent int) {
	l.Speaker.SetVolume(percent)
	l.volume(percent)
}

// ear is the coordinator's Mic.
type ear struct {
	*audio.Mic
	captured func(bool)
	ended    func(turn.ID) // its recording is over
}

func (e ear) Open(id turn.ID, at time.Duration) {
	e.captured(false) // until the first frame
	e.Mic.Open(string(id), at)
}

func (e ear) End(id turn.ID, up, tail time.Duration) {
	e.ended(id)
	e.Mic.End(string(id), up, tail)
}

func (e ear) Discard(id turn.ID) {
	e.ended(id)
	e.Mic.Discard(string(id))
}

// phrases are the coordinator's Phrases: clips that were made when conch was built, so that they need nothing installed.
type phrases struct{ d *Device }

func (p phrases) Phrase(w turn.Words) []int16 {
	pcm, err := clips.Samples(p.d.plainer(w))
	if err != nil { // every word of turn has a clip, by test
		p.d.log.Error("words.missing", "err", err)
	}
	return pcm
}

// wordsText is what a clip says, for a screen.
func wordsText(w turn.Words) string { return clips.Text(string(w)) }

// earcon maps the machine's cues to the shipped sounds.
func earcon(c turn.Cue) []int16 { return cue.Samples(c.String()) }

// localVoice says a text without the session, with the synthesizer of this machine, where there is one.
type localVoice struct{ rehearsal.Mouth }

func (v localVoice) Speak(ctx context.Context, text string) ([]int16, error) {
	return v.Say(ctx, "", text)
}
