package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"conch/device/library"
)

const lookedAt = 20000 // files and folders of a library; our choice

// closed are directories that the unit closes (ProtectHome).
var closed = []string{"/home", "/root", "/run/user"}

func checkLibrary(ctx context.Context, m *Machine, s *Subject) []Finding {
	dir := s.Library
	if dir == "" {
		return nil
	}
	own := filepath.Join(s.StateDir, "library")
	copied := fmt.Sprintf("sudo mkdir -p %s && sudo cp -r %s/. %s/, and take library.folder out of the configuration", own, dir, own)
	for _, c := range closed {
		if s.Unit != "" && (dir == c || strings.HasPrefix(dir, c+"/")) {
			return bad("", dir+" cannot be read by the service", "the unit keeps it out of everybody's home (ProtectHome)", copied)
		}
	}
	a := s.account(m)
	switch can, _, err := m.may(a, dir, 5); {
	case errors.Is(err, fs.ErrNotExist) && dir == own:
		return ok("", "%s, where nothing has been put yet", dir)
	case errors.Is(err, fs.ErrNotExist):
		return warn("", dir+" is not there", "library.folder names it", "make it, or mend library.folder")
	case errors.Is(err, fs.ErrPermission):
		return unknown("", dir, "sudo conch doctor")
	case err != nil:
		return warn("", dir+": "+err.Error(), "the file system does not answer", "set library.folder to another one")
	case !can:
		return bad("", dir+" cannot be read by "+a.String(), "it belongs to somebody else", "sudo chmod -R a+rX "+dir)
	}
	sounds, foreign, seen, first := 0, 0, 0, ""
	_ = filepath.WalkDir(m.Path(dir), func(_ string, e fs.DirEntry, err error) error {
		if seen++; seen > lookedAt || ctx.Err() != nil {
			return fs.SkipAll
		}
		switch {
		case err != nil || e.IsDir():
		case library.Foreign(e.Name()):
			if foreign++; first == "" {
				first = e.Name()
			}
		case library.Named(e.Name()):
			sounds++
		}
		return nil //nolint:nilerr // one that is not ours to read takes no other with it
	})
	if foreign > 0 {
		return warn("", fmt.Sprintf("%d files of %s cannot be played, such as %s", foreign, dir, first),
			"conch plays MP3, FLAC, Ogg Vorbis, Ogg Opus and WAV", `convert each: ffmpeg -i "`+first+`" "`+strings.TrimSuffix(first, filepath.Ext(first))+`.mp3"`)
	}
	return ok("", "%s, %d files of sound", dir, sounds)
}
