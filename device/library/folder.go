// Package library is the sound that a household has put into a folder of its device.
package library

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"conch/audio/decode"
	"conch/companions/skills"
)

// Folder is where a household's own sound lies, in files and folders of its own (library.folder).
type Folder string

// maxTitles is how many of them are known; our choice. What lies behind is not found.
const maxTitles = 10000

// Library is what a skill may know of it; nil where it would have no place.
func (f Folder) Library() *skills.Library {
	if f == "" {
		return nil
	}
	return &skills.Library{Where: string(f), Titles: f.titles, Open: f.open}
}

// titles are the files without their ending, with the folders that they are in. That there is no such folder yet is no error.
func (f Folder) titles() (all []string, err error) {
	root, err := os.OpenRoot(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("the library cannot be read: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil, e.IsDir() && strings.HasPrefix(e.Name(), ".") && name != ".":
			return fs.SkipDir // one that is not ours to read takes no other with it
		case len(all) == maxTitles:
			return fs.SkipAll
		case !e.IsDir() && sounds(name) && !strings.HasPrefix(e.Name(), "."):
			all = append(all, title(name))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the library cannot be read: %w", err)
	}
	slices.Sort(all)
	return all, nil
}

// sounds says whether a file is one of sound by its name; whether it is, its bytes say when it is opened.
func sounds(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".mp3", ".flac", ".ogg", ".oga", ".opus", ".wav", ".m4a", ".m4b", ".aac", ".wma":
		return true
	}
	return false
}

// title is a file's name as somebody would say it.
func title(name string) string {
	return strings.NewReplacer("_", " ", "/", ", ").Replace(strings.TrimSuffix(name, path.Ext(name)))
}

// open finds the file of a title.
func (f Folder) open(of string) (skills.Long, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, fmt.Errorf("the library cannot be read: %w", err)
	}
	defer root.Close()
	name := ""
	_ = fs.WalkDir(root.FS(), ".", func(n string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && sounds(n) && title(n) == of {
			name = n
			return fs.SkipAll
		}
		return nil
	})
	if name == "" {
		return nil, fmt.Errorf("%s is not in the library any more", of)
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO must not wait for a writer
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", of, err)
	}
	sound, err := decode.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be played: %w", of, err)
	}
	return sound, nil
}
