package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// pages looks at a database before the library does, which takes what it finds for its own: of a page that a worn card has changed it
// panics on goroutines of its own, reads where no memory is, or takes all there is. The format (version 2, since 2013) is as the machine
// that wrote it orders its bytes:
//
//	page      id 8, flags 2, count 2, overflow 4 (pages behind it that belong to it), then by its flags
//	meta      magic 4, version 4, page size 4, flags 4, root page 8, sequence 8, free list's page 8, pages in all 8, transaction 8, sum 8
//	branch    count of: place of the key 4 (from here), its length 4, page 8
//	leaf      count of: flags 4, place of the key 4 (from here), its length 4, length of the value behind it 4
//	free list its pages, 8 each; 0xffff of them: the first is how many there are
//
// A value whose leaf's flag is 1 is a bucket: its root page 8, sequence 8; page 0: the page is the rest of the value.
type pages struct {
	file  []byte
	size  uint64 // of a page
	metas int    // how many of the two are whole
	all   uint64
	free  uint64 // page of the free list
	root  uint64
	used  []bool
}

var order = binary.NativeEndian

const (
	magic, format                            = 0xED0CDAED, 2
	head                                     = 16
	flagBranch, flagLeaf, flagMeta, flagFree = 1, 2, 4, 16
	metaLength                               = 64
	deepest                                  = 32 // our choice: more than 16 MiB can be deep
)

func damaged(text string, args ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(text, args...))
}

// look says whether a database is whole; half: but for one of the two pages that say what is newest.
func look(file []byte) (half bool, err error) {
	p := pages{file: file}
	if err := p.meta(); err != nil {
		return false, err
	}
	p.used = make([]bool, p.all)
	p.used[0], p.used[1] = true, true
	if err := p.tree(p.root, nil, nil, 0); err != nil {
		return false, err
	}
	return p.metas < 2, p.freed()
}

// meta takes the newer one of two: of a power cut within a write the other remains.
func (p *pages) meta() error {
	var newest uint64
	var err error
	for at := uint64(0); at+head+metaLength <= uint64(len(p.file)); at = max(1024, 2*at) {
		b := p.file[at+head:][:metaLength]
		sum := fnv.New64a()
		_, _ = sum.Write(b[:metaLength-8]) // it never fails
		size := uint64(order.Uint32(b[8:]))
		switch {
		case order.Uint32(b) != magic || order.Uint64(b[metaLength-8:]) != sum.Sum64():
			continue
		case order.Uint32(b[4:]) > format:
			err = fmt.Errorf("%w: its format is %d, and this one knows %d", errNewer, order.Uint32(b[4:]), format)
			continue
		case order.Uint32(b[4:]) != format || size < 1024 || size > 64<<10 || size&(size-1) != 0 || at != 0 && at != size:
			continue
		}
		p.metas++
		if n := order.Uint64(b[48:]); p.size == 0 || n > newest {
			p.size, p.root, p.free, p.all, newest = size, order.Uint64(b[16:]), order.Uint64(b[32:]), order.Uint64(b[40:]), n
		}
	}
	switch {
	case p.size == 0:
		return cmp.Or(err, damaged("neither of its two first pages is whole"))
	case p.all > uint64(len(p.file))/p.size:
		return damaged("%d of its %d pages are there", uint64(len(p.file))/p.size, p.all)
	}
	return nil
}

// page gives a page with what belongs to it, once.
func (p *pages) page(id uint64) (b []byte, err error) {
	if id < 2 || id >= p.all {
		return nil, damaged("there is no page %d", id)
	}
	b = p.file[id*p.size:]
	more := uint64(order.Uint32(b[12:]))
	if order.Uint64(b) != id || more >= p.all-id {
		return nil, damaged("page %d is another", id)
	}
	for i := id; i <= id+more; i++ {
		if p.used[i] {
			return nil, damaged("page %d is used twice", i)
		}
		p.used[i] = true
	}
	return b[:(more+1)*p.size], nil
}

// tree looks at a page and all below it, whose keys are from one on and before another; nil: any.
func (p *pages) tree(id uint64, from, before []byte, depth int) error {
	b, err := p.page(id)
	if err != nil {
		return err
	}
	if order.Uint16(b[8:]) == flagLeaf {
		return p.leaf(b, from, before, depth)
	}
	count := uint64(order.Uint16(b[10:]))
	if order.Uint16(b[8:]) != flagBranch || count == 0 || head+16*count > uint64(len(b)) || depth == deepest {
		return damaged("page %d is no part of a tree", id)
	}
	keys, below := make([][]byte, count+1), make([]uint64, count)
	for i := range count {
		at := b[head+16*i:]
		if keys[i], err = cut(at, order.Uint32(at), order.Uint32(at[4:])); err != nil {
			return err
		}
		below[i] = order.Uint64(at[8:])
	}
	keys[count] = before
	for i, id := range below {
		if i > 0 && bytes.Compare(keys[i-1], keys[i]) >= 0 {
			return damaged("page %d is out of order", id)
		}
		if err := p.tree(id, keys[i], keys[i+1], depth+1); err != nil {
			return err
		}
	}
	return nil
}

// leaf looks at entries, and at the buckets among them.
func (p *pages) leaf(b, from, before []byte, depth int) error {
	count := uint64(order.Uint16(b[10:]))
	if head+16*count > uint64(len(b)) || depth == deepest {
		return damaged("%d entries do not fit into a page", count)
	}
	var last []byte
	for i := range count {
		at := b[head+16*i:]
		flags, place, length := order.Uint32(at), order.Uint32(at[4:]), order.Uint32(at[8:])
		key, err := cut(at, place, length)
		if err != nil {
			return err
		}
		value, err := cut(at[length:], place, order.Uint32(at[12:]))
		switch {
		case err != nil:
			return err
		case len(key) == 0 || flags > 1 || i > 0 && bytes.Compare(last, key) >= 0 || bytes.Compare(key, from) < 0 ||
			before != nil && bytes.Compare(key, before) >= 0:
			return damaged("an entry is out of order")
		}
		last = key
		if flags == 1 {
			if err := p.bucket(value, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pages) bucket(value []byte, depth int) error {
	if len(value) < 16 {
		return damaged("a bucket has %d bytes", len(value))
	}
	if root := order.Uint64(value); root != 0 {
		return p.tree(root, nil, nil, depth+1)
	}
	if value = value[16:]; len(value) < head || order.Uint16(value[8:]) != flagLeaf {
		return damaged("a bucket has no page")
	}
	return p.leaf(value, nil, nil, depth+1)
}

// freed says whether each page is either used or free.
func (p *pages) freed() error {
	b, err := p.page(p.free)
	if err != nil {
		return err
	}
	count, at := uint64(order.Uint16(b[10:])), b[head:]
	if count == 0xffff {
		count, at = order.Uint64(at), at[8:]
	}
	if order.Uint16(b[8:]) != flagFree || count > uint64(len(at))/8 {
		return damaged("it has no list of free pages")
	}
	for i := range count {
		id := order.Uint64(at[8*i:])
		if id < 2 || id >= p.all || p.used[id] {
			return damaged("page %d is not free", id)
		}
		p.used[id] = true
	}
	for id, used := range p.used {
		if !used {
			return damaged("page %d is nobody's", id)
		}
	}
	return nil
}

// cut is a part of b.
func cut(b []byte, from, length uint32) ([]byte, error) {
	if uint64(from)+uint64(length) > uint64(len(b)) {
		return nil, damaged("an entry goes beyond its page")
	}
	return b[from:][:length:length], nil
}
