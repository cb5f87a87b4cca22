package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"conch/device/library"
	"conch/device/printable"
)

// Our choices.
const (
	lookFor    = 3 * time.Second // at files that nobody has looked at yet
	namedFiles = 5               // that cannot be played
)

// closed are directories that the unit closes (ProtectHome).
var closed = []string{"/home", "/root", "/run/user"}

func checkLibrary(ctx context.Context, m *Machine, s *Subject) []Finding {
	dir := s.Library
	if dir == "" {
		return nil
	}
	own := filepath.Join(s.StateDir, "library")
	copied := fmt.Sprintf("sudo mkdir -p %s && sudo cp -r %s/. %s/, and take library.folder out of the configuration", own, printable.Arg(dir), own)
	for _, c := range closed {
		if s.Unit != "" && (dir == c || strings.HasPrefix(dir, c+"/")) {
			return bad("", dir+" cannot be read by the service", "the unit keeps it out of everybody's home (ProtectHome)", copied)
		}
	}
	if info, err := os.Stat(m.Path(dir)); err == nil && !info.IsDir() {
		return warn("", dir+" is a file, not a folder", "library.folder names it", "mend library.folder")
	}
	a := s.account(m)
	switch can, _, err := m.may(a, dir, 5); {
	case errors.Is(err, fs.ErrNotExist) && dir == own:
		return ok("", "%s, where nothing has been put yet", dir)
	case errors.Is(err, fs.ErrNotExist):
		return warn("", dir+" is not there", "library.folder names it", "sudo mkdir -p "+printable.Arg(dir)+", or mend library.folder")
	case errors.Is(err, fs.ErrPermission):
		return unknown("", dir, "sudo conch doctor")
	case err != nil:
		return warn("", dir+": "+err.Error(), "the file system does not answer", "set library.folder to another one")
	case !can:
		return bad("", dir+" cannot be read by "+a.String(), "it belongs to somebody else", "sudo chmod -R a+rX "+printable.Arg(dir))
	}
	return s.examineLibrary(ctx, m, a, dir)
}

// examineLibrary looks at the head of each file, by what the appliance has found out already, and says which cannot be played.
func (s *Subject) examineLibrary(ctx context.Context, m *Machine, a Account, dir string) []Finding {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	playable, unread, all, err := library.New(m.Path(dir), m.Path(filepath.Join(s.StateDir, library.Kept))).Examine(ctx)
	if err != nil {
		return warn("", dir+" cannot be looked through: "+errnoOf(err), "the file system does not answer", "set library.folder to another one")
	}
	more := ""
	if unread > 0 {
		more = fmt.Sprintf("; %s not looked at yet", printable.Count(unread, "file"))
	}
	var broken []library.Broken
	for _, b := range all {
		if can, _, err := m.may(a, filepath.Join(dir, b.File), 4); b.Denied && err == nil && can {
			playable++ // who asks may not read it, and the service may
			continue
		}
		broken = append(broken, b)
	}
	if len(broken) == 0 {
		return ok("", "%s, %s of sound%s", dir, printable.Count(playable, "file"), more)
	}
	slices.SortStableFunc(broken, func(x, y library.Broken) int { return cmp.Compare(x.Why, y.Why) })
	var named []string
	for _, b := range broken[:min(len(broken), namedFiles)] {
		named = append(named, printable.Text(b.File)+" ("+b.Why+")")
	}
	if n := len(broken) - len(named); n > 0 {
		named = append(named, fmt.Sprintf("and %d more", n))
	}
	first := broken[0]
	do := "copy it there anew, or remove it"
	switch {
	case first.Denied:
		do = "sudo chmod -R a+rX " + printable.Arg(dir)
	case first.Do != "":
		do = first.Do
	}
	return warn("", fmt.Sprintf("%s of %s cannot be played: %s; %s can%s", printable.Count(len(broken), "file"), dir, strings.Join(named, ", "),
		printable.Count(playable, "file"), more),
		"conch plays what is whole: MP3, FLAC, Ogg and WAV by itself, the rest with ffmpeg", do)
}
