package store

import (
	"fmt"
	"net/http"
	"strconv"

	"conch/companions/skills/notes"
	"conch/device/control"
)

// NotesOf is the name of the skill whose store it is.
const NotesOf = "notes"

// ServeNotes lets the person look at what companions were told to remember, and erase it:
//
//	GET    /notes                 -> control.NotesReport
//	DELETE /notes                 everything
//	DELETE /notes/COMPANION       all that one remembers
//	DELETE /notes/COMPANION/ID    one note
func (d *DB) ServeNotes(mux *http.ServeMux) {
	reply := func(w http.ResponseWriter, err error) {
		var report control.NotesReport
		if err == nil {
			report, err = d.Notes()
		}
		control.Reply(w, report, err)
	}
	mux.HandleFunc("GET /notes", func(w http.ResponseWriter, _ *http.Request) { reply(w, nil) })
	mux.HandleFunc("DELETE /notes", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, d.Erase("", ""))
	})
	mux.HandleFunc("DELETE /notes/{companion}", func(w http.ResponseWriter, r *http.Request) { reply(w, d.Erase(r.PathValue("companion"), "")) })
	mux.HandleFunc("DELETE /notes/{companion}/{id}", func(w http.ResponseWriter, r *http.Request) {
		reply(w, d.Erase(r.PathValue("companion"), r.PathValue("id")))
	})
}

// Notes are all that companions remember.
func (d *DB) Notes() (r control.NotesReport, err error) {
	if d == nil { // there is no state directory
		return r, nil
	}
	companions, err := d.Skill(NotesOf).Companions()
	for _, c := range companions {
		all, err := notes.Of(d.Skill(NotesOf), c)
		if err != nil {
			return r, err
		}
		for _, n := range all {
			r.Notes = append(r.Notes, control.NoteRow{Companion: c, ID: n.ID, Text: n.Text, At: n.At})
		}
	}
	return r, err
}

// Erase forgets one note; without its id all that a companion has, and without a companion all.
func (d *DB) Erase(companion, id string) error {
	switch {
	case d == nil && companion == "":
		return nil
	case d == nil:
		return fmt.Errorf("%w: nothing is kept: there is no state.dir", control.ErrRefused)
	case companion == "":
		all, err := d.Skill(NotesOf).Companions()
		for _, c := range all {
			if err == nil {
				err = notes.Erase(d.Skill(NotesOf), c)
			}
		}
		return err
	}
	all, err := notes.Of(d.Skill(NotesOf), companion)
	switch {
	case err != nil:
		return err
	case len(all) == 0 && id == "":
		return fmt.Errorf("%w: %s remembers nothing: conch notes lists what there is", control.ErrRefused, companion)
	case id == "":
		return notes.Erase(d.Skill(NotesOf), companion)
	}
	for _, n := range all {
		if strconv.Itoa(n.ID) == id {
			return notes.Erase(d.Skill(NotesOf), companion, n)
		}
	}
	return fmt.Errorf("%w: there is no note %s/%s: conch notes lists what there is", control.ErrRefused, companion, id)
}
