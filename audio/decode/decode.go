// Package decode plays what people have, from a file or from a stream that does not end. What a thing is, its first bytes say, and not its
// name. Everything becomes samples at audio.Rate, mono.
//
//	file    Open: any sample of it can be had at once, and is the same however one came to it, so that a bookmark is exact
//	stream  Live: from where it begins, in the order in which it comes
//
// FLAC, Ogg Vorbis, Ogg Opus and WAV are decoded here. What else there is, AAC first of all, ffmpeg decodes where it is installed, in a
// process of its own that reaches nothing else; MP3 too, and where it is not installed a library does, less exactly.
//
// A file is read as it is played; no more of it is in memory than a second of its sound and, of an MP3, where its frames are. What
// is damaged is left out and decoded no further than to the next whole piece; what is cut off is played as far as it goes. A decoder
// that panics has met a damaged piece.
package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"conch/audio"
	"conch/audio/wav"
)

// Long is a sound that may be longer than memory.
type Long interface {
	// From gives the samples from one of them on, at least one and a second at most; none and io.EOF at the end.
	From(sample int) ([]int16, error)
	// Samples is how many there are, to within a few percent; 0: nobody knows.
	Samples() int
	Close() error
}

// forward decodes from one end to the other.
type forward interface {
	// next gives some mono frames, and which one of the sound the first of them is; io.EOF at the end.
	next() (pcm []int16, at int64, err error)
	// rate is that of what next gave last.
	rate() int
	close()
}

// partError says that another sound begins in a file: at which byte, and how many frames the one before it has had.
type partError struct{ offset, frames int64 }

func (p partError) Error() string { return fmt.Sprintf("another sound begins at byte %d", p.offset) }

// behind has a partError say how many frames came before it.
func behind(err error, frames int64) error {
	if p := (partError{}); errors.As(err, &p) {
		p.frames = max(0, frames)
		return p
	}
	return err
}

// container is a file whose kind is known.
type container interface {
	rate() int
	// frames is how many there are, about; 0: nobody knows.
	frames() int64
	// seek is a decoder that begins at this frame or a little before it.
	seek(frame int64) (forward, error)
}

// Our choices.
const (
	sniffed    = 4 << 20  // bytes in which the sound of a file must begin
	maxLost    = 64 << 10 // bytes in which that of a stream must begin
	maxGarbage = 16 << 20 // bytes of a file that are none of its sound, in one piece: a cover
	maxBroken  = 100      // damaged pieces in a row
	maxTag     = 256 << 20
	maxTags    = 64
	maxHours   = 200             // of a file: what says more says it wrongly
	maxParts   = 4096            // sounds one behind the other
	forever    = 1 << 60         // frames: the end is not known
	maxWait    = 4 * time.Second // of decoding for one piece, and of decoding what comes before a place: a press waits for neither
)

var (
	errBroken = errors.New("it is damaged")
	errSilent = unfitError{"there is no sound in it"}

	errUnknown = unfitError{"it is no sound that conch knows"}
	errSlow    = unfitError{"it takes conch too long to decode"}
)

// Open reads the head of f, which it closes when it is closed, or if it cannot be played: then the error says what it is, and not which.
func Open(f *os.File) (l Long, err error) {
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, unfitError{"it is no file"}
	}
	l, err = newFile(f, st.Size())
	if err == nil && l == nil {
		if l, err = wav.NewLong(f); err == nil && l.Samples() == 0 {
			err = errSilent
		}
	}
	if foreign := (ForeignError{}); (errors.As(err, &foreign) || errors.Is(err, errUnknown) || errors.Is(err, wav.ErrKind)) && ffmpeg() != "" {
		c, e := openChild(f)
		if e == nil {
			l, e = begin(&file{f: f, parts: []part{{of: c}}})
		}
		switch {
		case e == nil:
			err = nil
		case foreign.Is != "":
			err = fmt.Errorf("%w: %w", unfitError{"it is " + foreign.Is + ", which ffmpeg does not decode here"}, e)
		}
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// open finds out what a file is, from a byte on; nil: a WAV.
func open(f io.ReaderAt, at, size int64) (container, error) {
	at, err := behindTags(f, at)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 512)
	n, err := f.ReadAt(head, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch head = head[:n]; kindOf(head) {
	case kindWAV:
		if at == 0 {
			return nil, nil
		}
	case kindFLAC:
		return openFLAC(f, at, size)
	case kindOgg:
		return openOgg(f, at, size)
	case kindMP3, kindUnknown:
		c, err := openMP3(f, at, size)
		if foreign := (ForeignError{}); err != nil && kindOf(head) == kindUnknown && !errors.As(err, &foreign) {
			return nil, what(head)
		}
		return c, err
	}
	return nil, what(head)
}

// behindTags is where the tags at the beginning end.
func behindTags(f io.ReaderAt, at int64) (int64, error) {
	for range maxTags {
		var h [16]byte
		if n, err := f.ReadAt(h[:], at); n < 10 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return at, err
		}
		size, ok := tagSize(h[:])
		if !ok {
			return at, nil
		}
		if at += size; at > maxTag {
			return 0, unfitError{"its tag is of more than 256 MiB"}
		}
	}
	return 0, unfitError{"it has nothing but tags"}
}

// tagSize is the length of an ID3v2 or APEv2 tag with its head.
func tagSize(h []byte) (int64, bool) {
	if len(h) >= 16 && string(h[:8]) == "APETAGEX" {
		return 32 + int64(binary.LittleEndian.Uint32(h[12:])), true
	}
	if len(h) < 10 || string(h[:3]) != "ID3" || h[6]|h[7]|h[8]|h[9] >= 0x80 {
		return 0, false
	}
	size := 10 + int64(h[6])<<21 + int64(h[7])<<14 + int64(h[8])<<7 + int64(h[9])
	if h[5]&0x10 != 0 { // a foot
		size += 10
	}
	return size, true
}

type kind int

const (
	kindUnknown kind = iota
	kindWAV
	kindFLAC
	kindOgg
	kindMP3
	kindOther // known, and not for us
)

// names of what people have and conch does not play.
var others = []struct {
	at    int
	magic string
	name  string
}{
	{4, "ftyp", "AAC or ALAC (M4A, M4B)"},
	{0, "\xff\xf1", "AAC"}, {0, "\xff\xf9", "AAC"}, {0, "\xff\xf0", "AAC"}, {0, "\xff\xf8", "AAC"},
	{0, "ADIF", "AAC"},
	{0, "0&\xb2u\x8ef\xcf\x11", "Windows Media (WMA)"},
	{0, "FORM", "AIFF"}, {0, "MThd", "MIDI"}, {0, "MAC ", "Monkey's Audio (APE)"}, {0, "wvpk", "WavPack"},
	{0, "\x1aE\xdf\xa3", "Matroska or WebM"}, {0, "RF64", "WAV of more than 4 GB"}, {0, "riff.\x91\xcf\x11", "Wave64"}, {0, "caff", "CAF"},
	{0, "#!AMR", "AMR"}, {0, ".snd", "AU"}, {0, "DSD ", "DSF"}, {0, "TTA1", "TTA"}, {0, "MPCK", "Musepack"}, {0, "\x0bw", "AC-3"},
}

// kindOf looks at the first bytes, behind tags.
func kindOf(b []byte) kind {
	switch {
	case bytes.HasPrefix(b, []byte("RIFF")):
		return kindWAV
	case bytes.HasPrefix(b, []byte("fLaC")):
		return kindFLAC
	case bytes.HasPrefix(b, []byte("OggS")):
		return kindOgg
	}
	for _, o := range others {
		if len(b) >= o.at+len(o.magic) && string(b[o.at:o.at+len(o.magic)]) == o.magic {
			return kindOther
		}
	}
	if h, ok := mp3Header(b); ok && h.layer == 3 {
		return kindMP3
	} else if ok {
		return kindOther
	}
	return kindUnknown
}

// ForeignError is sound that ffmpeg decodes, which is not installed.
type ForeignError struct{ Is string }

func (f ForeignError) Error() string {
	return "it is " + f.Is + ", for which ffmpeg has to be installed (" + install + ")"
}

const install = "sudo apt install ffmpeg"

// unfitError is a sound, or no sound, that cannot be played as it is.
type unfitError struct{ say string }

func (n unfitError) Error() string { return n.say }

// Words are why a file cannot be played as a person wants to hear it, without numbers, paths and commands.
func Words(err error) string {
	var (
		foreign ForeignError
		not     unfitError
	)
	switch {
	case errors.As(err, &foreign):
		return "it is " + foreign.Is + ", for which ffmpeg has to be installed"
	case errors.As(err, &not):
		return not.say
	case errors.Is(err, wav.ErrKind):
		return "it is a WAV file of a rare kind, for which ffmpeg has to be installed"
	case errors.Is(err, fs.ErrPermission):
		return "conch may not read it"
	case ended(err):
		return "it ends before its sound begins"
	case errors.Is(err, syscall.EIO):
		return "the disk does not give it back"
	}
	return errBroken.Error()
}

// Remedy is a command after which a file can be played; empty: none is known.
func Remedy(err error) string {
	if foreign := (ForeignError{}); errors.As(err, &foreign) || errors.Is(err, wav.ErrKind) && ffmpeg() == "" {
		return install
	}
	return ""
}

// what says what that is which cannot be played.
func what(b []byte) error {
	for _, o := range others {
		if len(b) >= o.at+len(o.magic) && string(b[o.at:o.at+len(o.magic)]) == o.magic {
			return ForeignError{o.name}
		}
	}
	switch text := bytes.ToLower(bytes.TrimLeft(b, " \t\r\n\ufeff")); {
	case len(b) == 0:
		return unfitError{"it is empty"}
	case bytes.HasPrefix(text, []byte("<!doctype html")), bytes.HasPrefix(text, []byte("<html")):
		return unfitError{"it is a page of the web, and no sound"}
	}
	if h, ok := mp3Header(b); ok && h.layer != 3 {
		return ForeignError{fmt.Sprintf("MPEG sound of layer %d", h.layer)}
	}
	return errUnknown
}

// safely has a panic of somebody else's decoder be an error: it has met what nobody thought of.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w (%v)", errBroken, p)
		}
	}()
	return f()
}

// ended says that there is no more, which is no fault of what there was.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// mean is the middle of so many channels, of values between -1 and 1.
func mean(dst []int16, in []float32, channels int) []int16 {
	for ; len(in) >= channels; in = in[channels:] {
		var sum float32
		for _, x := range in[:channels] {
			sum += x
		}
		if sum != sum { // not a number: a decoder has met what is damaged
			sum = 0
		}
		dst = append(dst, audio.Saturate(32768*sum/float32(channels)))
	}
	return dst
}
