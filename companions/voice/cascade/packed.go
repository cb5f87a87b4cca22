package cascade

import (
	"errors"
	"io"

	"conch/companions/voice"
	"conch/coordinator/turn"
)

// packed is sound that comes compressed: some servers make no other, whatever they are asked for.
type packed struct {
	from   *faulty
	name   string
	stream voice.Stream
	some   bool // was played
}

func newPacked(from io.Reader, name string, play player) (sound, error) {
	p := &packed{from: &faulty{from: from}, name: name}
	var err error
	if p.stream, err = play(p.from); err != nil {
		return nil, p.wrong(err)
	}
	return p, nil
}

func (p *packed) next() ([]int16, error) {
	pcm, err := p.stream.Next()
	if err != nil {
		return nil, p.wrong(err)
	}
	p.some = true
	return pcm, nil
}

// wrong is what became of it: what the network did, the end, or what is wrong with the sound. One whose last frame is not whole has ended.
func (p *packed) wrong(err error) error {
	switch {
	case p.from.err != nil:
		return p.from.err
	case p.some && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &unusable{turn.WordsServerError, p.name + " without sound"}
	}
	return &unusable{turn.WordsServerError, p.name + " that cannot be played: " + err.Error()}
}

// faulty remembers why there was no more, where that was not the end.
type faulty struct {
	from io.Reader
	err  error
}

func (f *faulty) Read(b []byte) (int, error) {
	n, err := f.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
