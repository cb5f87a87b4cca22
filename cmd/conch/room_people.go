package main

import (
	"fmt"
	"net/url"
	"text/tabwriter"

	"conch/device/control"
	"conch/device/printable"
)

// roomPeopleCmd lists whose names are known here.
type roomPeopleCmd struct {
	Forget string `help:"Forget who has said this name here." placeholder:"NAME"`
	JSON   bool   `help:"Print JSON." name:"json"`
}

// Help is what conch room people --help says on top.
func (roomPeopleCmd) Help() string {
	return "Names stand in room.people, or somebody has said \"I am Max\" here and yes to being asked whether it may be kept (room.people_learn). " +
		"Who is called by such a name is no companion: these keep out."
}

func (c roomPeopleCmd) Run(e *env) error {
	var r control.PeopleReport
	method, path := "GET", "/room/people"
	if c.Forget != "" {
		method, path = "DELETE", path+"/"+url.PathEscape(c.Forget)
	}
	if err := e.request(method, path, nil, &r); err != nil {
		return err
	}
	if c.JSON {
		return e.json(r)
	}
	if len(r.People) == 0 {
		fmt.Fprintln(e.out, "Nobody: room.people names nobody, and nobody has said a name here that was kept.")
		return nil
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tUSUALLY AT\tFROM")
	for _, p := range r.People {
		at, from := "-", "room.people"
		if p.Device != "" {
			at = printable.Name(p.Device)
		}
		if p.Learned {
			from = "said here"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", printable.Name(p.Name), at, from)
	}
	return w.Flush()
}
