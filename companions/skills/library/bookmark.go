package library

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"conch/companions/skills"
)

// Our choices.
const (
	again    = 20 * time.Second // what is heard once more where somebody goes on: who stopped has lost the thread
	patience = 30 * time.Minute
	often    = 15 * time.Second // of heard sound, between two bookmarks: a card wears
	short    = 10 * time.Minute // a file that is no longer is music, and begins at its beginning
)

// place is one in a work.
type place struct {
	Work string `json:"work"`           // its file or folder
	File string `json:"file"`           // which of its files
	At   int    `json:"at"`             // the sample of it that is heard next
	Over bool   `json:"over,omitempty"` // it came to its end

	Music bool `json:"music,omitempty"` // it begins at its beginning the next time that it is asked for
}

// Keys of the store. What was played last is a place of its own, since music has no bookmark.
const (
	lastKey  = "last"
	workKeys = "work/"
)

// bookmarks are what is kept of places. Where nothing can be kept, it lasts as long as the program.
type bookmarks struct {
	store skills.Store // nil: none

	mu    sync.Mutex
	here  place // played last; without a file: nothing
	known bool  // here was read
	works map[string]place

	percent int // the speed of books; 0: it was not read yet
}

func newBookmarks(s skills.Store) *bookmarks { return &bookmarks{store: s, works: map[string]place{}} }

// last is where somebody was last.
func (b *bookmarks) last() (place, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known && b.store != nil {
		p, err := b.read(lastKey)
		if err != nil {
			return place{}, err
		}
		b.here = p
	}
	b.known = true
	return b.here, nil
}

// of is the bookmark of a work; without a file: there is none.
func (b *bookmarks) of(work string) (place, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.store == nil {
		return b.works[work], nil
	}
	return b.read(workKeys + work)
}

func (b *bookmarks) read(key string) (p place, err error) {
	v, err := b.store.Get("", key)
	if err != nil {
		return place{}, fmt.Errorf("the bookmark cannot be read: %w", err)
	}
	if bad := json.Unmarshal(v, &p) != nil || p.At < 0; bad { // of another kind, or none
		p = place{}
	}
	return p, nil
}

// keep has a place be the bookmark of its work, or forgets that where it is over, and the last one, if it is that. What where gives is
// asked for when nothing else is written, so that the later place is the one that stays.
func (b *bookmarks) keep(where func() place, last bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := where()
	v, err := json.Marshal(p)
	if err != nil {
		return err
	}
	values := map[string][]byte{workKeys + p.Work: v}
	if last {
		values[lastKey], b.here, b.known = v, p, true
	}
	if p.Over || p.Music {
		values[workKeys+p.Work] = nil
		delete(b.works, p.Work)
	} else {
		b.works[p.Work] = p
	}
	if b.store == nil {
		return nil
	}
	if err := b.store.Put("", values); err != nil {
		return fmt.Errorf("the bookmark was not kept: %w", err)
	}
	return nil
}
