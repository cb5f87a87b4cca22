package web

import (
	"fmt"
	"net"
	"net/http"
	"strings"

	"rsc.io/qr"

	"conch/device/control"
)

// A page that may do all invites another browser: it shows what conch web link prints.

// Invitation is a link and its picture (POST /api/link).
type Invitation struct {
	Link
	Picture []string `json:"picture,omitempty"` // a QR code of the URL, a string a row, 1 is dark; none: a telephone could not open it
	Do      string   `json:"do,omitempty"`      // what to set: so that one could, or where the network may only look, so that it may do more
}

// Invited is what has become of an invitation (GET /api/link?id=ID).
type Invited struct {
	State LinkState `json:"state"`
}

// invite makes a link for another browser. The door has refused whoever may only look.
func (s *Server) invite(w http.ResponseWriter, r *http.Request) {
	var q LinkRequest
	if !control.Decode(w, r, &q) {
		return
	}
	i, err := s.o.Door.invitation(q.Look)
	control.Reply(w, i, err)
}

// invited says whether a link was opened, so that the page that shows it takes it away.
func (s *Server) invited(w http.ResponseWriter, r *http.Request) {
	if VisitFrom(r.Context()).Rights != All {
		http.Error(w, "this page may only look", http.StatusForbidden)
		return
	}
	control.Reply(w, Invited{s.o.Door.links.state(r.URL.Query().Get("id"))}, nil)
}

func (d *Door) invitation(look bool) (Invitation, error) {
	l, err := d.Link(look)
	if err != nil {
		return Invitation{}, err
	}
	i := Invitation{Link: l}
	switch l.Reach {
	case ReachMachine:
		i.Do = d.toNetwork()
		return i, nil
	case ReachReadable:
		i.Do = "web.authority = true"
	case ReachEncrypted:
	}
	i.Picture, err = picture(l.URL)
	return i, err
}

// toNetwork is what has to be set so that the page is there for the network. Empty: it is to be there, and what is wrong is a condition, or
// it cannot be, as in a rehearsal.
func (d *Door) toNetwork() string {
	d.mu.Lock()
	wished := d.open.network.IsValid()
	d.mu.Unlock()
	_, port, err := net.SplitHostPort(d.o.Web.Listen)
	if wished || d.o.Setting != "" || err != nil {
		return ""
	}
	return fmt.Sprintf(`web.listen = "0.0.0.0:%s"`, port)
}

// picture is the QR code of a text.
func picture(text string) (rows []string, _ error) {
	code, err := qr.Encode(text, qr.M) // on a screen nothing is torn; glare and a dirty lens are
	if err != nil {
		return nil, fmt.Errorf("web: the picture of a link: %w (open it as text)", err)
	}
	for y := range code.Size {
		var row strings.Builder
		for x := range code.Size {
			if code.Black(x, y) {
				row.WriteByte('1')
			} else {
				row.WriteByte('0')
			}
		}
		rows = append(rows, row.String())
	}
	return rows, nil
}
