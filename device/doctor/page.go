package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"conch/device/web"
)

// checkPage looks at what would keep the page closed, as the page does when it opens. One that is open tells of itself, as a condition.
func checkPage(ctx context.Context, m *Machine, s *Subject) (out []Finding) {
	if s.Refused != nil {
		return nil // nobody knows what it would be
	}
	w, a := s.Web, s.account(m)
	if w.Listen == "" {
		return ok("", "off: web.listen is empty")
	}
	for _, f := range []struct{ key, path string }{{"web.cert", w.Cert}, {"web.key", w.Key}} {
		if can, _, err := m.may(a, f.path, 4); f.path != "" && err == nil && !can {
			out = append(out, bad("", f.key+": "+f.path+" cannot be read by "+a.String(), "it belongs to somebody else",
				"let it read that file, or set "+f.key+" to a copy that it may read")...)
		}
	}
	if len(out) > 0 {
		return out
	}
	if _, here, err := s.running(ctx); here && err == nil {
		return ok("", "conch runs: what is wrong with its page is a condition")
	}
	dir := ""
	if s.StateDir != "" {
		dir = filepath.Join(m.Path(s.StateDir), web.AuthorityDir)
	}
	address, encryption := web.Examine(web.DoorOptions{Web: w, AuthorityDir: dir, Now: m.Now, Group: -1})
	switch {
	case errors.Is(address, syscall.EADDRINUSE):
		out = m.pageTaken(w.Listen, address)
	case address != nil:
		out = bad("", strings.TrimPrefix(address.Error(), "web: "), "conch would run without its page", "mend web.listen, or leave it out")
	}
	switch {
	case errors.Is(encryption, fs.ErrPermission) && m.UID != 0 && !a.Caller:
		out = append(out, unknown("", "what encrypts the page", "sudo conch doctor")...)
	case encryption != nil:
		out = append(out, bad("", encryption.Error(), "the page would be on this machine alone",
			"mend it as that says; what is changed in [web] counts from the next start")...)
	case address == nil && w.Cert == "" && !w.Authority:
		out = ok("", "it can be opened at %s, not encrypted", w.Listen)
	case address == nil:
		out = ok("", "it can be opened at %s, encrypted", w.Listen)
	}
	return out
}

// pageTaken says who has the page's port: a conch that does not answer the caller is none that is in the way.
func (m *Machine) pageTaken(at string, err error) []Finding {
	_, text, _ := net.SplitHostPort(at)
	port, _ := strconv.Atoi(text) // the loader has refused what is none
	switch who := m.holds("tcp", port); {
	case who == "conch":
		return ok("", "%s: conch has it", at)
	case who == "" && m.UID != 0:
		return unknown("", "who listens at "+at, "sudo conch doctor")
	default:
		return bad("", strings.TrimPrefix(err.Error(), "web: "), strings.TrimSpace(who+" has the port, and conch would run without its page"),
			"end it, or set web.listen to another port")
	}
}
