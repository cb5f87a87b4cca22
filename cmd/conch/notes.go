package main

import (
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"

	"conch/device/control"
	"conch/device/printable"
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
		"Notes are in skills.db of state.dir, on this device alone; a companion that recalls one tells it to the voice that it speaks with."
}

func (c notesCmd) Run(e *env) error {
	method, path := "GET", "/notes"
	switch {
	case c.ForgetAll:
		method = "DELETE"
	case c.Forget != "":
		companion, id, one := strings.Cut(c.Forget, "/")
		if companion == "" || one && id == "" {
			return fmt.Errorf("%w: %s is no note: it has to be like ada/3, or ada for all of hers", control.ErrRefused, printable.Text(c.Forget))
		}
		method, path = "DELETE", path+"/"+url.PathEscape(companion)
		if one {
			path += "/" + url.PathEscape(id)
		}
	}
	var r control.NotesReport
	if err := e.request(method, path, nil, &r); err != nil {
		return err
	}
	if c.JSON {
		return e.json(r)
	}
	if len(r.Notes) == 0 {
		fmt.Fprintln(e.out, "Nothing is remembered.")
		return nil
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NOTE\tSINCE\tTEXT")
	for _, n := range r.Notes {
		fmt.Fprintf(w, "%s/%d\t%s\t%s\n", printable.Name(n.Companion), n.ID, n.At.Format("2006-01-02"), printable.Text(n.Text))
	}
	return w.Flush()
}
