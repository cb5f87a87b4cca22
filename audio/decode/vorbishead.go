package decode

import (
	"bytes"
	"math"
	"math/bits"
)

// The library allocates what a Vorbis file declares, before it looks whether the file has as much. A book of zero entries, or a residue that
// ends before it begins, wraps to gigabytes. In a book without words it searches for ever. An allocation that fails is no panic. So the head
// is read here first, as strictly as the specification has it (Vorbis I, 4.2), by the same steps as the library: both see the same numbers.

// Our choices: some ten times what encoders make. The library allocates 9 bytes for an entry, 12 for a value.
const (
	maxVorbisEntries = 1 << 17 // of all books
	maxVorbisValues  = 1 << 19 // entries times dimensions, of all books
)

var (
	errVorbis     = unfitError{"its Vorbis head is damaged, or of a kind that conch does not decode"}
	errVorbisMuch = unfitError{"its Vorbis head asks for more memory than a sound needs"}
	errVorbisRare = ForeignError{"Vorbis of a rare kind"}
	errVorbisOld  = ForeignError{"Vorbis from before 2002 (floor 0)"}
)

// vorbisHead is what a packet says that names a stream.
type vorbisHead struct {
	channels int
	blocks   [2]int
}

func readVorbisHead(packet []byte) (h vorbisHead, err error) {
	body, ok := bytes.CutPrefix(packet, []byte("\x01vorbis"))
	if !ok || len(body) < 23 || body[0]|body[1]|body[2]|body[3] != 0 || body[22]&1 == 0 {
		return h, errVorbis
	}
	h = vorbisHead{int(body[4]), [2]int{1 << (body[21] & 15), 1 << (body[21] >> 4)}}
	switch {
	case h.channels < 1 || h.channels > 8:
		return h, unfitError{"it has no channels, or more than eight"}
	case h.blocks[0] < 64 || h.blocks[1] < h.blocks[0] || h.blocks[1] > 8192:
		return h, errVorbis
	}
	return h, nil
}

// vorbisBits reads numbers from the lowest bit on, until something is wrong; from there on all is zero.
type vorbisBits struct {
	b   []byte
	at  int // bits
	err error
}

func (r *vorbisBits) take(n int) (x int64) {
	if r.ask(r.at+n <= 8*len(r.b)); r.err != nil {
		return 0
	}
	for i := range min(n, 32) { // of more there is nothing to know
		x |= int64(r.b[(r.at+i)>>3]>>((r.at+i)&7)&1) << i
	}
	r.at += n
	return x
}

// ask refuses a packet where something is not as it must be.
func (r *vorbisBits) ask(ok bool) {
	if !ok && r.err == nil {
		r.err = errVorbis
	}
}

// checkVorbisSetup says why the library may not read a packet of books, floors, residues, mappings and modes; nil: it may.
func checkVorbisSetup(packet []byte, of vorbisHead) error {
	body, ok := bytes.CutPrefix(packet, []byte("\x05vorbis"))
	r := &vorbisBits{b: body}
	r.ask(ok)
	books, entries, values := int(r.take(8))+1, int64(0), int64(0)
	for range books {
		n, v := r.book()
		if entries, values = entries+n, values+v; r.err == nil && (entries > maxVorbisEntries || values > maxVorbisValues) {
			r.err = errVorbisMuch
		}
	}
	for range r.take(6) + 1 {
		r.ask(r.take(16) == 0)
	}
	floors := r.take(6) + 1
	for range floors {
		kind := r.take(16)
		if r.ask(kind <= 1); kind == 0 && r.err == nil {
			r.err = errVorbisOld
		}
		r.floor(books)
	}
	residues := r.take(6) + 1
	for range residues {
		r.residue(books)
	}
	mappings := r.take(6) + 1
	for range mappings {
		r.mapping(of.channels, floors, residues)
	}
	for range r.take(6) + 1 { // modes
		r.take(1)
		r.ask(r.take(32) == 0)
		r.ask(r.take(8) < mappings)
	}
	r.ask(r.take(1) == 1)
	return r.err
}

// book reads a codebook, and says how many entries and values the library makes of it.
func (r *vorbisBits) book() (entries, values int64) {
	r.ask(r.take(24) == 0x564342)
	dimensions := r.take(16)
	entries = r.take(24)
	if r.ask(dimensions > 0 && entries > 0); r.err == nil && (entries > maxVorbisEntries || dimensions*entries > maxVorbisValues) {
		r.err = errVorbisMuch
	}
	if r.err != nil {
		return 0, 0
	}
	r.lengths(entries)
	lookup := r.take(4)
	r.ask(lookup <= 2)
	if lookup == 0 || r.err != nil {
		return entries, 0
	}
	r.take(32)
	r.take(32)
	width := int(r.take(4)) + 1
	r.take(1)
	values = entries * dimensions
	read := values
	if lookup == 1 { // as the library has it, which is wrong of some: it takes the third root of 8 for less than 2
		read = int64(math.Floor(math.Pow(float64(entries), 1/float64(dimensions))))
		if r.err == nil && !(read > 0 && within(read, dimensions, entries) && !within(read+1, dimensions, entries)) {
			r.err = errVorbisRare
		}
	}
	r.take(int(read) * width)
	return entries, values
}

// within says whether x to the n is at most a number.
func within(x, n, most int64) bool {
	if x == 1 {
		return true
	}
	p := x // x is 2 at least: it is over soon
	for ; p <= most && n > 1; n-- {
		p *= x
	}
	return p <= most
}

// lengths reads those of a book's words, which have to leave no word unused; only a book of one word may.
func (r *vorbisBits) lengths(entries int64) {
	const whole = 1 << 32
	used, sum := 0, int64(0)
	word := func(length, n int64) {
		if r.ask(length <= 32); r.err != nil {
			return
		}
		used, sum = used+int(n), sum+n<<(32-length)
		r.ask(sum <= whole)
	}
	if r.take(1) == 1 { // in order
		for at, length := int64(0), r.take(5)+1; at < entries && r.err == nil; length++ {
			n := r.take(bits.Len64(uint64(entries - at)))
			at += n
			r.ask(at <= entries)
			word(length, n)
		}
	} else {
		sparse := r.take(1) == 1
		for range entries {
			if !sparse || r.take(1) == 1 {
				word(r.take(5)+1, 1)
			}
		}
	}
	r.ask(sum == whole || used == 1)
}

func (r *vorbisBits) floor(books int) {
	classes, highest := make([]int64, r.take(5)), int64(0)
	for i := range classes {
		classes[i] = r.take(4)
		highest = max(highest, classes[i])
	}
	if len(classes) == 0 && r.err == nil { // that of a deep channel: the library reads a class too many
		r.err = errVorbisRare
	}
	sizes := make([]int64, highest+1)
	for i := range sizes {
		sizes[i] = r.take(3) + 1
		subclass := r.take(2)
		if subclass > 0 {
			r.ask(r.take(8) < int64(books))
		}
		for range 1 << subclass {
			r.ask(r.take(8) <= int64(books)) // 0: none
		}
	}
	r.take(2)
	width := int(r.take(4))
	for _, c := range classes {
		r.take(int(sizes[c]) * width)
	}
}

func (r *vorbisBits) residue(books int) {
	r.ask(r.take(16) <= 2)
	begin, end := r.take(24), r.take(24)
	r.ask(begin <= end)
	r.take(24)
	cascade := make([]int64, r.take(6)+1)
	r.ask(r.take(8) < int64(books))
	for i := range cascade {
		cascade[i] = r.take(3)
		if r.take(1) == 1 {
			cascade[i] |= r.take(5) << 3
		}
	}
	for _, c := range cascade {
		for range bits.OnesCount64(uint64(c)) {
			r.ask(r.take(8) < int64(books))
		}
	}
}

func (r *vorbisBits) mapping(channels int, floors, residues int64) {
	r.ask(r.take(16) == 0)
	submaps := int64(1)
	if r.take(1) == 1 {
		submaps = r.take(4) + 1
	}
	if r.take(1) == 1 {
		width := bits.Len(uint(channels - 1))
		for range r.take(8) + 1 {
			magnitude, angle := r.take(width), r.take(width)
			r.ask(magnitude != angle && magnitude < int64(channels) && angle < int64(channels))
		}
	}
	r.ask(r.take(2) == 0)
	if submaps > 1 {
		for range channels {
			r.ask(r.take(4) < submaps)
		}
	}
	for range submaps {
		r.take(8)
		r.ask(r.take(8) < floors)
		r.ask(r.take(8) < residues)
	}
}
