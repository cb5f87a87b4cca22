package library

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"conch/audio/decode"
	"conch/companions/skills"
)

// head is what is known of a file, for as long as it has this size and was changed last at that time.
type head struct {
	Size   int64
	Time   int64
	Why    string      `json:",omitempty"` // it cannot be played; empty: it can
	Do     string      `json:",omitempty"` // a command after which it can
	Denied bool        `json:",omitempty"` // this user may not read it
	Tags   skills.Tags `json:",omitzero"`
}

// Our choices.
const (
	edition   = 3           // of what is looked at: with another one each file is looked at anew
	rest      = 10          // times as long as a look takes nothing is done: nobody is to notice
	longest   = time.Second // … but no longer
	settles   = time.Minute // for so long a file may still be written to by who copies it
	maxOfKept = 64 << 20    // bytes of what is kept
)

// of says whether it is known of a file as it is. What lacked a decoder has to be looked at again when there is one.
func (h head) of(st fs.FileInfo) bool {
	return h.Size == st.Size() && h.Time == st.ModTime().UnixNano() && (h.Do == "" || !decode.CanDecodeAll())
}

// learn looks at the heads of files, again when there are more, and tells when it has changed what Titles gives.
func (f *Folder) learn(ctx context.Context, changed func()) error {
	f.load()
	for ctx.Err() == nil {
		more, fresh := f.pass(ctx, rest)
		if more {
			changed()
			f.save()
		}
		var again <-chan time.Time
		if fresh {
			again = time.After(settles)
		}
		select {
		case <-f.wake:
		case <-again:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// pass looks at each file that is not known as it is, and rests between them. more: something is known that was not; fresh: something was
// written to just now.
func (f *Folder) pass(ctx context.Context, rest int) (more, fresh bool) {
	titles, err := f.Titles()
	if err != nil || len(titles) == 0 {
		return false, false
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return false, false
	}
	defer root.Close()
	if rest > 0 {
		defer idle()()
	}
	f.mu.Lock()
	known := f.heads
	f.mu.Unlock()
	heads := make(map[string]head, len(titles))
	for _, t := range titles {
		was, ok := known[t.File]
		if ctx.Err() != nil { // what is known is kept
			if ok {
				heads[t.File] = was
			}
			continue
		}
		st, err := root.Stat(t.File)
		if err != nil { // a link to somewhere else
			if st, err = root.Lstat(t.File); err != nil {
				continue
			}
		}
		if age := time.Since(st.ModTime()); age >= 0 && age < settles {
			fresh = true
		}
		if ok && was.of(st) {
			heads[t.File] = was
			continue
		}
		began := time.Now()
		h := look(root, t.File)
		h.Size, h.Time = st.Size(), st.ModTime().UnixNano()
		heads[t.File], more = h, true
		if rest > 0 {
			pause(ctx, min(longest, time.Duration(rest)*time.Since(began)))
		}
	}
	more = more || len(heads) != len(known)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heads = heads
	if more {
		f.titles = f.tagged(f.titles)
	}
	return more, fresh
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// tagged are the titles with what is known of them.
func (f *Folder) tagged(titles []skills.Title) []skills.Title {
	titles = slices.Clone(titles)
	for i := range titles {
		h := f.heads[titles[i].File]
		titles[i].Tags, titles[i].Unfit = h.Tags, h.Why != ""
	}
	return titles
}

// look reads the head of a file: whether it can be played, and what it says of itself.
func look(root *os.Root, name string) (h head) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return head{Why: unread(root, name, err), Denied: errors.Is(err, fs.ErrPermission)}
	}
	tags := decode.ReadTags(file)
	h.Tags = skills.Tags{Title: tags.Title, Artist: tags.Artist, Album: tags.Album, Disc: tags.Disc, Track: tags.Track}
	for _, c := range tags.Chapters {
		h.Tags.Marks = append(h.Tags.Marks, skills.Mark{At: int(c.At.Milliseconds()) * skills.Rate / 1000, Name: c.Title})
	}
	sound, err := decode.Open(file)
	if err != nil {
		h.Why, h.Do = decode.Words(err), decode.Remedy(err)
		return h
	}
	sound.Close()
	return h
}

// Broken is a file that cannot be played.
type Broken struct {
	File, Why string
	Do        string // a command after which it can be played; empty: none is known
	Denied    bool   // to who looks
}

// Examine says how many files can be played, and which cannot, by what the appliance keeps of them and a look at the others, until ctx
// ends: unread is how many are left. It changes nothing.
func (f *Folder) Examine(ctx context.Context) (playable, unread int, broken []Broken, err error) {
	f.load()
	titles, err := f.Titles()
	if err != nil {
		return 0, 0, nil, err
	}
	f.pass(ctx, 0)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range titles {
		switch h, ok := f.heads[t.File]; {
		case !ok:
			unread++
		case h.Why == "":
			playable++
		default:
			broken = append(broken, Broken{t.File, h.Why, h.Do, h.Denied})
		}
	}
	return playable, unread, broken, nil
}

// Kept is the name of the file in the state directory.
const Kept = "library.heads"

// kept is a line of what is kept; the first one has the edition alone.
type kept struct {
	Edition int    `json:",omitempty"`
	File    string `json:",omitempty"`
	Head    head   `json:",omitzero"`
}

// load reads what an earlier process has found out. What cannot be read is looked at anew.
func (f *Folder) load() {
	file, err := os.OpenFile(f.kept, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer file.Close()
	lines := json.NewDecoder(bufio.NewReader(io.LimitReader(file, maxOfKept)))
	heads := map[string]head{}
	for first := true; len(heads) < maxTitles; first = false {
		var k kept
		if err := lines.Decode(&k); err != nil || first && k.Edition != edition {
			break
		}
		if !first {
			heads[k.File] = k.Head
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heads = heads
}

// save keeps what is known. That it cannot costs a look at each file after the next start, and nobody needs to hear of it.
func (f *Folder) save() {
	if f.kept == "" {
		return
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.kept), filepath.Base(f.kept)+".*")
	if err != nil {
		return
	}
	defer os.Remove(tmp.Name())
	f.mu.Lock()
	heads := f.heads // nobody changes it any more
	f.mu.Unlock()
	w := bufio.NewWriter(tmp)
	lines := json.NewEncoder(w)
	err = lines.Encode(kept{Edition: edition})
	for name, h := range heads {
		if err == nil {
			err = lines.Encode(kept{File: name, Head: h})
		}
	}
	if err = errors.Join(err, w.Flush(), tmp.Close()); err == nil {
		_ = os.Rename(tmp.Name(), f.kept)
	}
}
