package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/printable"
	"conch/device/store"
)

// notesCmd lists what companions were told to remember.
type notesCmd struct {
	Forget    string `help:"Forget one note for good, ada/3, or all that a companion remembers, ada." placeholder:"NOTE"`
	ForgetAll bool   `help:"Forget all notes of all companions for good."`
	JSON      bool   `help:"Print JSON." name:"json"`
}

// Help is what conch notes --help says on top.
func (notesCmd) Help() string {
	return "Each companion keeps for itself what somebody here has told it to remember, until it is told to forget it, or until it is erased here. " +
		"Notes are in skills.db of state.dir, on this device alone, and listed and erased whether conch runs or not; " +
		"a companion that recalls one tells it to the voice that it speaks with."
}

func (c notesCmd) Run(e *env) error {
	method, path := "GET", "/notes"
	companion, id, one := strings.Cut(c.Forget, "/")
	switch {
	case c.ForgetAll:
		method, companion, id = "DELETE", "", ""
	case c.Forget != "":
		if companion == "" || one && id == "" {
			return fmt.Errorf("%w: %s is no note: it has to be like ada/3, or ada for all of hers", control.ErrRefused, printable.Text(c.Forget))
		}
		method, path = "DELETE", path+"/"+url.PathEscape(companion)
		if one {
			path += "/" + url.PathEscape(id)
		}
	}
	var r control.NotesReport
	err := e.request(method, path, nil, &r)
	if errors.Is(err, control.ErrNoConch) {
		r, err = e.notesKept(method == "DELETE", companion, id)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(r)
	}
	in := e.language()
	if len(r.Notes) == 0 {
		fmt.Fprintln(e.out, in.Phrase("notes.none"))
		return nil
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t%s\t%s\n", in.Phrase("notes.note"), in.Phrase("notes.since"), in.Phrase("notes.text"))
	for _, n := range r.Notes {
		fmt.Fprintf(w, "%s/%d\t%s\t%s\n", printable.Name(n.Companion), n.ID, n.At.Format("2006-01-02"), printable.Text(n.Text))
	}
	return w.Flush()
}

// notesKept looks into the database itself, where no conch runs, and erases what is to be erased.
func (e *env) notesKept(erase bool, companion, id string) (r control.NotesReport, err error) {
	cfg, err := e.loadAnyway()
	if err != nil {
		return r, err
	}
	path := filepath.Join(cfg.State.Dir, store.File)
	service := filepath.Join(config.ServiceState, store.File)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && cfg.Unset("state.dir") {
		if _, err := os.Lstat(service); !errors.Is(err, fs.ErrNotExist) { // it may also be one that this user may not see
			path = service
		}
	}
	db, err := store.Look(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && companion == "":
		return r, nil
	case errors.Is(err, fs.ErrNotExist):
		return r, fmt.Errorf("%w: nothing is remembered here: there is no %s", control.ErrRefused, path)
	case errors.Is(err, store.ErrLocked):
		return r, fmt.Errorf("%w; a conch that runs is asked at its socket: set state.runtime as it is there", err)
	case err != nil:
		return r, err
	}
	if erase {
		if err := db.Close(); err != nil {
			return r, err
		}
		db = store.New(path, condition.NewBook(slog.New(slog.DiscardHandler)), time.Now)
		err = db.Erase(companion, id)
	}
	if err == nil {
		r, err = db.Notes()
	}
	return r, errors.Join(err, db.Close())
}
