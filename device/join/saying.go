package join

import (
	"context"
	"errors"
	"sync"
	"time"

	clips "conch/audio/words"
	"conch/device/control"
	"conch/device/language"
	"conch/mqtt/pairing"
)

// What is said aloud of pairing.

// Of what pairing says. Our choices: longer than any sentence, and than a turn that is in the way takes to end.
const (
	sayingTTL   = 10 * time.Second
	sayingLimit = 20 * time.Second
)

// sentence is what pairing says now; a newer one replaces it.
type sentence struct {
	line control.PairingLine
	done chan struct{}
}

var errUnsaid = errors.New("it is no longer to be said")

// speech says how pairing goes, one sentence at a time.
type speech struct {
	host     Host
	language language.Language
	speak    func(ctx context.Context, text string) ([]int16, error) // PairingOptions.Speak
	spawn    func(func())

	mu     sync.Mutex
	saying *sentence // guarded by mu
}

// say says a line, in place of what was being said before.
func (v *speech) say(ctx context.Context, l control.PairingLine) {
	s := &sentence{l, make(chan struct{})}
	v.mu.Lock()
	v.saying = s
	v.mu.Unlock()
	if pairingClip(l) == "" {
		close(s.done)
		return
	}
	v.spawn(func() {
		defer close(s.done)
		ctx, cancel := context.WithTimeout(ctx, sayingLimit)
		defer cancel()
		v.host.Say(ctx, v.sound, sayingTTL)
	})
}

// hush: what is waiting to be said of an attempt that is over is not said.
func (v *speech) hush() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.saying = nil
}

// said waits until what is being said has sounded, or was dropped.
func (v *speech) said(ctx context.Context) {
	v.mu.Lock()
	s := v.saying
	v.mu.Unlock()
	if s == nil {
		return
	}
	select {
	case <-s.done:
	case <-ctx.Done():
	}
}

// sound is what is said of pairing when its time has come.
func (v *speech) sound(ctx context.Context) ([]int16, error) {
	v.mu.Lock()
	s := v.saying
	v.mu.Unlock()
	if s == nil {
		return nil, errUnsaid
	}
	if v.speak != nil && s.line.State == control.PairingMoved && s.line.Peer != "" {
		if pcm, err := v.speak(ctx, v.language.Phrase("say.moved", "peer", s.line.Peer)); err == nil {
			return pcm, nil
		}
	}
	if v.speak != nil && s.line.State == control.PairingPaired && s.line.Peer != "" {
		text := v.language.Phrase("say.paired", "peer", s.line.Peer)
		if s.line.Called != "" {
			text += " " + v.language.Phrase("say.called", "name", s.line.Called)
		}
		if pcm, err := v.speak(ctx, text); err == nil {
			return pcm, nil
		}
	}
	return clips.Samples(v.language, pairingClip(s.line))
}

// sayWindow says it with the name where there is a voice for that, in time for a finger (membership.AnnounceFor): whoever opened the window may
// hold the floor meanwhile, have a companion here tell a story, or open it beside somebody else's. Who is being recorded here hears it
// afterwards, even if somebody has been let in by then, but not if the window was shut.
func (v *speech) sayWindow(ctx context.Context, name string, w windowHeard) {
	v.spawn(func() {
		ctx, cancel := context.WithTimeout(ctx, pairing.WindowLength)
		defer cancel()
		v.host.Alert(ctx, "window."+w.id, func(ctx context.Context) ([]int16, error) {
			if w.refused.Load() {
				return nil, errUnsaid
			}
			if v.speak != nil && name != "" {
				if pcm, err := v.speak(ctx, v.language.Phrase("say.window", "peer", name)); err == nil {
					return pcm, nil
				}
			}
			return clips.Samples(v.language, "pair_window")
		}, pairing.WindowLength)
	})
}
