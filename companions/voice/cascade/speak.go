package cascade

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// A mouth says a piece in a language (ISO 639-1). Say may be called from several goroutines; it calls on with samples (24 kHz) as they come,
// on this one, and ends early where on returns false.
type mouth interface {
	say(ctx context.Context, text, language string, on func([]int16) bool) error
	stage
}

// mouthAt is a server that takes /audio/speech, or what its profile has in its place.
type mouthAt struct {
	*web
	model, voice string
	first, idle  time.Duration
	play         player

	mu     sync.Mutex
	format string          // that it takes
	bare   map[string]bool // fields and formats that it has refused
}

func newMouth(w *web, model, voice string, first, idle time.Duration, play player) *mouthAt {
	return &mouthAt{web: w, model: model, voice: voice, first: first, idle: idle, play: play, format: w.profile.Format, bare: map[string]bool{}}
}

// tailWait is for how long a server may keep a body open behind a WAV that is complete. Our choice.
const tailWait = 300 * time.Millisecond

// formats are what is asked for, the next where one is refused: samples first, which nobody has to wait for.
func (m *mouthAt) formats() []string {
	all := []string{m.profile.Format, map[string]string{"pcm": "wav", "wav": "pcm"}[m.profile.Format]}
	if m.play != nil {
		all = append(all, "mp3", "opus")
	}
	return all
}

// content is a request for speech, without what the server has refused before.
func (m *mouthAt) content(text, language string) ([]byte, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	voice := m.voice
	if own := m.profile.Tongues[language]; own != "" && slices.Contains(m.profile.Voices, voice) {
		voice = own // nobody chose the other one for this language
	}
	if m.profile.Text {
		q := map[string]any{"text": text}
		if voice != "" {
			q["voice"] = voice
		}
		b, _ := json.Marshal(q)
		return b, m.format
	}
	q := map[string]any{"model": m.model, "input": text, "response_format": m.format}
	if voice != "" {
		q["voice"] = voice
	}
	if m.profile.Rated && !m.bare["sample_rate"] {
		q["sample_rate"] = kit.Rate
	}
	if m.profile.Streams && !m.bare["stream"] {
		q["stream"] = true
	}
	b, _ := json.Marshal(q)
	return b, m.format
}

func (m *mouthAt) say(ctx context.Context, text, language string, on func([]int16) bool) error {
	ctx, p := patient(ctx, "speech", m.first, m.idle)
	defer p.over()
	for {
		content, format := m.content(text, language)
		path := m.profile.SpeakPath
		if m.bareField("path") {
			path = "/"
		}
		resp, err := m.post(ctx, path, "application/json", content)
		if err == nil {
			err = m.read(resp, p, on)
		}
		if err == nil {
			return nil
		}
		if err = reason(ctx, err); !m.bend(err, format) {
			return m.failed("speech", err)
		}
	}
}

// bend leaves out of later requests what this one was refused for; false: it was nothing of that kind.
func (m *mouthAt) bend(err error, format string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	var no *kit.RefusalError
	var bad *unusable
	switch {
	case errors.As(err, &no) && m.profile.Text && (no.Status == http.StatusNotFound || no.Status == http.StatusMethodNotAllowed):
		m.bare["path"] = !m.bare["path"] // releases of piper differ
		return m.bare["path"]
	case errors.As(err, &no) && (no.Status == http.StatusBadRequest || no.Status == http.StatusUnprocessableEntity):
		text := strings.ToLower(no.Text)
		for _, field := range []string{"sample_rate", "stream"} {
			if strings.Contains(text, field) && !m.bare[field] {
				m.bare[field] = true
				return true
			}
		}
		if !strings.Contains(text, "format") {
			return false
		}
	case errors.As(err, &bad) && strings.Contains(bad.text, "asked for"):
	default:
		return false
	}
	if m.profile.Text {
		return false
	}
	m.bare[format] = true
	for _, f := range m.formats() {
		if !m.bare[f] {
			m.format = f
			return true
		}
	}
	for _, f := range m.formats() { // none: it is not the format
		delete(m.bare, f)
	}
	m.format = m.profile.Format
	return false
}

// mostSaid is samples of a piece, also of one that comes in few bytes.
const mostSaid = mostSound / 2

// read plays an answer.
func (m *mouthAt) read(resp *http.Response, p *patience, on func([]int16) bool) error {
	defer resp.Body.Close()
	rate := m.profile.Rate
	if m.profile.Rated && m.bareField("sample_rate") {
		rate = 0
	}
	s, err := newSound(resp.Body, resp.Header.Get("Content-Type"), rate, m.play)
	if err != nil {
		return err
	}
	n := 0
	for {
		if b, ok := s.(*bare); ok && b.complete() {
			p.timer.Reset(tailWait)
		}
		pcm, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		p.progress()
		if n += len(pcm); n > mostSaid {
			return &unusable{turn.WordsServerError, "speech that does not end"}
		}
		if len(pcm) > 0 && !on(pcm) {
			return nil
		}
	}
	if n == 0 {
		return &unusable{turn.WordsServerError, "an answer without sound"}
	}
	return nil
}

func (m *mouthAt) bareField(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bare[name]
}

// warm has the server load its voice: it says one short word that nobody hears.
func (m *mouthAt) warm(ctx context.Context) error {
	if m.profile.Vendor {
		return m.ready(ctx)
	}
	return m.say(ctx, "Hm.", "", func([]int16) bool { return true })
}
