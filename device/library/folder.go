// Package library is the sound that a household has put into a folder of its device: what there is, and each of it opened.
//
// What there is is kept, and looked for anew only where a folder has changed since, which its time tells: so a search costs as many
// looks as there are folders. What files say of themselves is read beside that, one after the other and slowly, and kept on the disk by
// their names, sizes and times: a second start reads none of them again.
package library

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"conch/audio/decode"
	"conch/audio/stretch"
	"conch/companions/skills"
	"conch/device/pattern"
)

// Our choices. What lies behind is not found.
const (
	maxTitles  = 20000
	maxFolders = 5000
)

// Folder is one. It may be asked from any goroutine.
type Folder struct {
	path string
	kept string        // the file in which it is kept what heads say; empty: none
	wake chan struct{} // of one place: there may be other files

	mu      sync.Mutex
	heads   map[string]head
	titles  []skills.Title
	folders map[string]time.Time // as they were changed last, …
	scanned time.Time            // … when they were looked through
}

// New is the folder at a path; none where that is empty. What it finds out of files is kept in another one, if that has a name.
func New(path, kept string) *Folder {
	return &Folder{path: path, kept: kept, wake: make(chan struct{}, 1)}
}

// Library is what a skill may know of it; nil where it would have no place.
func (f *Folder) Library() *skills.Library {
	if f.path == "" {
		return nil
	}
	return &skills.Library{
		Titles: f.Titles, Open: f.open, Learn: f.learn,
		Stretch: func(percent int) skills.Stretch { return stretch.New(percent) },
	}
}

// Titles are the files that are named as sound is, by their names without ending and folder. That there is no
// such folder yet is no error.
func (f *Folder) Titles() ([]skills.Title, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	root, err := os.OpenRoot(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.titles, f.folders = nil, nil
		return nil, nil
	} else if err != nil {
		return nil, &skills.SpokenError{Say: "the library cannot be read", Err: err}
	}
	defer root.Close()
	if f.unchanged(root) {
		return f.titles, nil
	}
	began := time.Now()
	titles, folders, err := scan(root.FS())
	if err != nil {
		return nil, &skills.SpokenError{Say: "the library cannot be read", Err: err}
	}
	f.titles, f.folders, f.scanned = f.tagged(titles), folders, began
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return f.titles, nil
}

// tick is for how long the time of a folder may stay the same though it has changed: that of FAT has steps of two seconds.
const tick = 2 * time.Second

// unchanged says whether the folders are as they were.
func (f *Folder) unchanged(root *os.Root) bool {
	for dir, was := range f.folders {
		if st, err := root.Stat(dir); err != nil || !st.ModTime().Equal(was) || f.scanned.Sub(was) <= tick {
			return false
		}
	}
	return len(f.folders) > 0
}

func scan(root fs.FS) (titles []skills.Title, folders map[string]time.Time, err error) {
	folders = map[string]time.Time{}
	err = fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil, e.IsDir() && aside(e.Name()) && name != ".":
			return fs.SkipDir // one that is not ours to read takes no other with it
		case len(titles) == maxTitles, len(folders) == maxFolders:
			return fs.SkipAll
		}
		switch {
		case e.IsDir():
			if st, err := e.Info(); err == nil { // else it has gone meanwhile
				folders[name] = st.ModTime()
			}
		case Named(name) && !aside(e.Name()):
			titles = append(titles, skills.Title{File: name, Name: title(name)})
		}
		return nil
	})
	return titles, folders, err
}

// system are folders that systems and file servers keep beside a person's: what was deleted, earlier states, thumbnails.
var system = pattern.New(`(?i)^([.].*|#(recycle|snapshot)|@(eaDir|tmp|Recycle|Recently-Snapshot|Recently-Deleted|SynoEAStream)|[$]Recycle[.]Bin|` +
	`RECYCLE[RD]|found[.][0-9]{3}|lost[+]found|System Volume Information|__MACOSX|Network Trash Folder|Temporary Items|TheVolumeSettingsFolder|[$]Extend)$`)

// aside says of the name of a file or folder that it is none of a person's.
func aside(name string) bool { return system().MatchString(name) }

// Named says whether a file is one of sound by its name; whether it is, its bytes say when it is opened.
func Named(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".mp3", ".flac", ".ogg", ".oga", ".opus", ".wav", ".m4a", ".m4b", ".aac", ".wma", ".aiff", ".aif", ".ape", ".mp2", ".mka", ".weba", ".wv":
		return true
	}
	return false
}

// title is a file's name as somebody would say it.
func title(name string) string {
	return strings.NewReplacer("_", " ", "/", ", ").Replace(strings.TrimSuffix(name, path.Ext(name)))
}

// open opens a file. Links that lead out of the folder are none of it.
func (f *Folder) open(name string) (skills.Long, error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, &skills.SpokenError{Say: "the library cannot be read", Err: err}
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO must not wait for a writer
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not in the library any more", said(name))
	} else if err != nil {
		return nil, &skills.SpokenError{Say: said(name) + " cannot be played: " + unread(root, name, err), Err: err}
	}
	if why := f.refused(name, file); why != "" {
		file.Close()
		return nil, &skills.SpokenError{Say: said(name) + " cannot be played: " + why, Err: errors.New(why)}
	}
	sound, err := decode.Open(file)
	if err != nil {
		return nil, &skills.SpokenError{Say: said(name) + " cannot be played: " + decode.Words(err), Err: err}
	}
	return sound, nil
}

// refused says why a file was refused that has not changed since; empty: it was not.
func (f *Folder) refused(name string, file *os.File) string {
	st, err := file.Stat()
	f.mu.Lock()
	defer f.mu.Unlock()
	if h, ok := f.heads[name]; ok && err == nil && h.of(st) {
		return h.Why
	}
	return ""
}

// unread says why a file cannot even be opened.
func unread(root *os.Root, name string, err error) string {
	if st, e := root.Lstat(name); e == nil && st.Mode()&fs.ModeSymlink != 0 && !errors.Is(err, fs.ErrPermission) {
		return "it is a link to what is not in the library"
	}
	return decode.Words(err)
}

// said is a file's title, no longer than it can be said.
func said(name string) string { return skills.Short(title(name)) }
