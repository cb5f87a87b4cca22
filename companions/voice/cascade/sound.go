package cascade

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"slices"
	"strconv"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// A sound is a piece's, as samples of 24 kHz, as it comes.
type sound interface {
	next() ([]int16, error) // good until the next call; io.EOF behind the last
}

// player makes samples of what is compressed; nil: nothing can.
type player func(io.Reader) (voice.Stream, error)

// newSound looks at the first bytes. rate is that of bare samples; kind the Content-Type, which may know it better.
func newSound(from io.Reader, kind string, rate int, play player) (sound, error) {
	head := make([]byte, 12)
	n, err := io.ReadFull(from, head)
	if n == 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return nil, &unusable{turn.WordsServerError, "an answer without sound"}
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	head = head[:n]
	s := &bare{from: from, rate: rate, channels: 1, bits: 16, left: math.MaxInt64, buf: make([]byte, 9600)}
	if bytes.HasPrefix(head, []byte("RIFF")) && n == 12 && string(head[8:]) == "WAVE" {
		err := s.header()
		s.wav = bufio.NewReaderSize(s.from, 16<<10)
		s.from = s.wav
		return s, err
	}
	mediaType, param, _ := mime.ParseMediaType(kind)
	if what := compressed(head); what == "AAC" || what != "" && play == nil {
		return nil, &unusable{turn.WordsServerError, "sound as " + what + ", which is none of what was asked for"}
	} else if what != "" {
		return newPacked(io.MultiReader(bytes.NewReader(head), from), what, play)
	}
	if r, err := strconv.Atoi(param["rate"]); err == nil {
		s.rate = r
	}
	if mediaType == "application/json" || mediaType == "text/plain" || bytes.HasPrefix(head, []byte("{\"")) {
		rest, _ := io.ReadAll(io.LimitReader(from, mostFault)) // what came of it
		kind, code, text := kit.ReadFault(slices.Concat(head, rest))
		return nil, &kit.RefusalError{Status: 500, Kind: kind, Code: code, Text: text}
	}
	if s.rate == 0 {
		return nil, &unusable{turn.WordsServerError, "bare samples of an unknown rate, where a WAV was asked for"}
	}
	s.odd = head
	return s, s.known()
}

// compressed names a format by its first bytes; "": it is none that is known. Bare samples hardly ever begin so.
func compressed(head []byte) string {
	for _, f := range []struct {
		at         int
		mark, name string
	}{
		{0, "ID3", "MP3"}, {0, "OggS", "Ogg"}, {0, "fLaC", "FLAC"}, {0, "ADIF", "AAC"}, {4, "ftyp", "AAC"},
	} {
		if len(head) >= f.at && bytes.HasPrefix(head[f.at:], []byte(f.mark)) {
			return f.name
		}
	}
	if len(head) < 4 || head[0] != 0xff {
		return ""
	}
	switch head[1] {
	case 0xf1, 0xf9: // MPEG 4 and 2, without a sum
		return "AAC"
	case 0xfa, 0xfb, 0xf2, 0xf3: // layer 3 of MPEG 1 and 2, with a sum or without
		if rate := head[2] >> 4; rate != 0 && rate != 15 && head[2]>>2&3 != 3 {
			return "MP3"
		}
	}
	return ""
}

// bare are samples as they are: behind the header of a WAV file, which says what they are, or of a rate that is known otherwise.
type bare struct {
	from     io.Reader
	rate     int // 0: not known
	channels int
	bits     int // 16, or 32: float
	left     int64
	wav      *bufio.Reader // from, where it is a WAV, behind which another may follow; nil: it is none
	odd      []byte
	convert  *kit.Resampler
	ended    bool
	buf      []byte
}

func (s *bare) known() error {
	if s.rate < 8000 || s.rate > 48000 {
		return &unusable{turn.WordsServerError, fmt.Sprintf("sound of %d samples a second; want 8000 to 48000", s.rate)}
	}
	s.convert = kit.NewResampler(s.rate, kit.Rate)
	return nil
}

// header reads chunks up to the samples. A length that cannot be true, written before it was known, means all that comes.
func (s *bare) header() error {
	for format := false; ; {
		var chunk [8]byte
		if _, err := io.ReadFull(s.from, chunk[:]); err != nil {
			return &unusable{turn.WordsServerError, "a WAV without sound"}
		}
		size := int64(binary.LittleEndian.Uint32(chunk[4:]))
		switch string(chunk[:4]) {
		case "fmt ":
			body := make([]byte, min(size+size%2, 64))
			if _, err := io.ReadFull(s.from, body); err != nil || len(body) < 16 || size > 64 {
				return &unusable{turn.WordsServerError, "a WAV whose format cannot be read"}
			}
			code := binary.LittleEndian.Uint16(body)
			if code == 0xfffe && len(body) >= 26 { // extensible: the format is in its first bytes
				code = binary.LittleEndian.Uint16(body[24:])
			}
			s.channels, s.bits = int(binary.LittleEndian.Uint16(body[2:])), int(binary.LittleEndian.Uint16(body[14:]))
			s.rate = int(binary.LittleEndian.Uint32(body[4:]))
			if good := code == 1 && s.bits == 16 || code == 3 && s.bits == 32; !good || s.channels < 1 || s.channels > 2 {
				return &unusable{turn.WordsServerError, fmt.Sprintf("a WAV of format %d, %d channels, %d bit; want 16 bit or float, mono or stereo",
					code, s.channels, s.bits)}
			}
			format = true
		case "data":
			if !format {
				return &unusable{turn.WordsServerError, "a WAV with samples before their format"}
			}
			if s.left = size; size == 0 || size >= 0x7ffff000 {
				s.left = math.MaxInt64
			}
			if err := s.known(); err != nil || size >= int64(s.rate*s.frame()/10) {
				return err
			}
			return s.doubt(size)
		default:
			if size > mostFault {
				return &unusable{turn.WordsServerError, "a WAV with more beside the sound than sound"}
			}
			if _, err := io.CopyN(io.Discard, s.from, size+size%2); err != nil {
				return &unusable{turn.WordsServerError, "a WAV without sound"}
			}
		}
	}
}

// doubt is for a length shorter than any word: where sound follows behind it, it was written before the length was known, and what comes is
// taken. Chunks that follow are none.
func (s *bare) doubt(size int64) error {
	size += size % 2
	got := make([]byte, size+4)
	n, err := io.ReadFull(s.from, got)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	s.from = io.MultiReader(bytes.NewReader(got[:n]), s.from)
	if n == len(got) && !slices.Contains(trailing, string(got[size:])) {
		s.left = math.MaxInt64
	}
	return nil
}

// trailing are names of chunks that stand behind the sound of a WAV file.
var trailing = []string{"RIFF", "LIST", "id3 ", "ID3 ", "fact", "cue ", "smpl", "inst", "bext", "JUNK", "junk", "PEAK", "_PMX", "iXML"}

func (s *bare) next() ([]int16, error) {
	if s.ended {
		return nil, io.EOF
	}
	if s.complete() {
		if s.follows() {
			return s.another()
		}
		s.ended = true
		return s.convert.Flush(), nil
	}
	n := copy(s.buf, s.odd)
	s.odd = s.odd[:0]
	m, err := 0, error(nil)
	if n < s.frame() || s.left < math.MaxInt64 {
		room, another := min(int64(len(s.buf)-n), max(0, s.left)), false
		if s.wav != nil {
			room, another = s.before(room)
		}
		if another {
			return s.another()
		}
		m, err = s.from.Read(s.buf[n : int64(n)+room])
		if s.left < math.MaxInt64 {
			if s.left -= int64(m); s.left <= 0 && err == nil && s.wav == nil {
				err = io.EOF
			}
		}
	}
	b := s.buf[:n+m]
	whole := len(b) - len(b)%s.frame()
	pcm := s.decode(b[:whole])
	s.odd = append(s.odd, b[whole:]...)
	out := s.convert.Write(pcm)
	switch {
	case errors.Is(err, io.EOF):
		s.ended = true
		return append(append([]int16(nil), out...), s.convert.Flush()...), nil
	case err != nil:
		return nil, err
	}
	return out, nil
}

// before returns how many of the next most bytes are samples: those before the head of another WAV, which is then the next; another: it is.
func (s *bare) before(most int64) (room int64, another bool) {
	if _, err := s.wav.Peek(1); err != nil {
		return most, false
	}
	b, _ := s.wav.Peek(s.wav.Buffered())
	for at := 0; at < len(b); at++ {
		i := bytes.IndexByte(b[at:], riff[0])
		if i < 0 {
			break
		}
		if at += i; int64(at) >= most && most > 0 {
			break
		}
		head := b[at:]
		if at == 0 {
			head, _ = s.wav.Peek(12)
		}
		switch {
		case isWAV(head) && at == 0:
			return 0, true
		case isWAV(head), len(head) < 12 && at > 0 && bytes.HasPrefix([]byte(riff), head[:min(4, len(head))]):
			return min(most, int64(at)), false
		}
	}
	return min(most, int64(len(b))), false
}

const riff = "RIFF"

func isWAV(head []byte) bool {
	return len(head) >= 12 && string(head[:4]) == riff && string(head[8:12]) == "WAVE"
}

// complete says that a WAV has come in its whole length: what may still come is another one.
func (s *bare) complete() bool { return s.wav != nil && s.left <= 0 }

// follows says whether another WAV is next, behind a byte that makes the length even, and behind chunks that are no sound.
func (s *bare) follows() bool {
	for range len(trailing) {
		head, _ := s.wav.Peek(8)
		if len(head) < 8 || string(head[:4]) == riff || !slices.Contains(trailing, string(head[:4])) {
			break
		}
		size := int64(binary.LittleEndian.Uint32(head[4:]))
		if size > mostFault {
			return false
		}
		if _, err := io.CopyN(io.Discard, s.wav, 8+size+size%2); err != nil {
			return false
		}
	}
	if b, _ := s.wav.Peek(13); len(b) == 13 && b[0] == 0 && isWAV(b[1:]) {
		_, _ = s.wav.Discard(1)
	}
	head, _ := s.wav.Peek(12)
	return isWAV(head)
}

// another begins the next WAV of the body, and returns what was left of the one before.
func (s *bare) another() ([]int16, error) {
	rest := slices.Clone(s.convert.Flush())
	_, _ = s.wav.Discard(12)
	if err := s.header(); err != nil {
		return nil, err
	}
	if s.from != s.wav { // the header was looked beyond
		s.wav = bufio.NewReaderSize(s.from, 16<<10)
		s.from = s.wav
	}
	return rest, nil
}

// frame is bytes of one sample of all channels.
func (s *bare) frame() int { return s.channels * s.bits / 8 }

func (s *bare) decode(b []byte) []int16 {
	pcm := make([]int16, 0, len(b)/s.frame())
	for ; len(b) >= s.frame(); b = b[s.frame():] {
		sum := 0.0
		for c := range s.channels {
			if s.bits == 32 {
				f := float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*c:])))
				if math.IsNaN(f) {
					f = 0
				}
				sum += max(-1, min(1, f)) * 32767
			} else {
				sum += float64(int16(binary.LittleEndian.Uint16(b[2*c:])))
			}
		}
		pcm = append(pcm, int16(math.Round(sum/float64(s.channels))))
	}
	return pcm
}
