package main

import (
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"conch/device/control"
	"conch/device/printable"
	"conch/device/web"
)

// webCmd is the subcommands of conch web.
type webCmd struct {
	Link     webLinkCmd     `cmd:"" help:"Print a link that lets one more browser in, with its picture for a camera."`
	Sessions webSessionsCmd `cmd:"" help:"List the browsers that were let in, or end that."`
}

// Help is what conch web --help says on top.
func (webCmd) Help() string {
	return "conch status says where the page is. On this machine, whoever may use conch may open it; every other browser needs a link."
}

type webLinkCmd struct {
	Look bool `help:"Whoever opens it may look, and change nothing."`
	JSON bool `help:"Print JSON." name:"json"`
}

// Help is what conch web link --help says on top.
func (webLinkCmd) Help() string {
	return "It counts once, and for two minutes. Whoever opens it may do by the page what conch does for this user, except for keys, settings and " +
		"pairing, for 30 days since the last visit. Where the page is not encrypted (web.cert, web.authority), it is only looked at from elsewhere."
}

func (c webLinkCmd) Run(e *env) error {
	var l web.Link
	if err := e.request("POST", "/web/link", web.LinkRequest{Look: c.Look}, &l); err != nil {
		return err
	}
	if c.JSON {
		return e.json(l)
	}
	v := &pairingView{out: e.out, terminal: e.terminal()}
	if width, height := v.size(); v.terminal {
		const below = 6 // lines
		if picture := qrLines(l.URL); len(picture) > 0 && qrWidth(picture[0]) <= width && len(picture)+below <= height {
			e.out.Steer(strings.Join(picture, "\n") + "\n")
		}
	}
	fmt.Fprint(e.out, linkText(l))
	return nil
}

// linkText is a link for people.
func linkText(l web.Link) string {
	var b strings.Builder
	fmt.Fprintln(&b, printable.Text(l.URL))
	for _, other := range l.Others {
		fmt.Fprintln(&b, "or", printable.Text(other))
	}
	what := "opens the page"
	if l.Rights != web.All || l.Reach == web.ReachReadable {
		what = "opens the page to look at"
	}
	fmt.Fprintf(&b, "%s, once, within %.0f s", what, l.Seconds)
	switch l.Reach {
	case web.ReachMachine:
		b.WriteString("; on this machine alone (web.listen)")
	case web.ReachReadable:
		b.WriteString("; it is not encrypted: web.authority = true, or web.cert and web.key, also let it talk and be turned")
	case web.ReachEncrypted:
	}
	b.WriteByte('\n')
	if l.Authority != "" {
		fmt.Fprintf(&b, "where the browser does not know its certificate: %s\nSHA-256 %s\n", printable.Text(l.Explained), printable.Text(l.Authority))
	}
	return b.String()
}

// webSessionsCmd is the list, and its end.
type webSessionsCmd struct {
	List   webListCmd   `cmd:"" default:"withargs" help:"List them."`
	Revoke webRevokeCmd `cmd:"" help:"End one session, or all: the browser needs a new link."`
}

type webListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c webListCmd) Run(e *env) error {
	var s web.Sessions
	if err := e.request("GET", "/web/sessions", nil, &s); err != nil {
		return err
	}
	if c.JSON {
		return e.json(s)
	}
	if len(s.Sessions) == 0 {
		fmt.Fprintln(e.out, "Nobody: no browser was let in by a link (conch web link). On this machine none is needed.")
		return nil
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tLET IN\tLAST SEEN\tMAY\tBY\tFROM\tBROWSER")
	for _, r := range s.Sessions {
		agent := "-"
		if r.Agent != "" {
			agent = printable.Text(r.Agent)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", printable.Name(r.ID), r.Made.Local().Format(time.DateTime), r.Seen.Local().Format(time.DateTime),
			printable.Name(string(r.Rights)), printable.Name(r.Way), printable.Name(r.Address), agent)
	}
	return w.Flush()
}

type webRevokeCmd struct {
	ID   string `arg:"" optional:"" name:"id" help:"Of a session; conch web sessions lists them."`
	All  bool   `help:"All of them."`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Help is what conch web sessions revoke --help says on top.
func (webRevokeCmd) Help() string { return "It counts at once, for pages that are open as well." }

func (c webRevokeCmd) Run(e *env) error {
	if (c.ID == "") != c.All {
		return fmt.Errorf("%w: web sessions revoke: say which: an id, or --all", control.ErrRefused)
	}
	path := "/web/sessions"
	if !c.All {
		path += "/" + url.PathEscape(c.ID)
	}
	var r web.Revoked
	if err := e.request("DELETE", path, nil, &r); err != nil {
		return err
	}
	if c.JSON {
		return e.json(r)
	}
	fmt.Fprintf(e.out, "%s ended\n", printable.Count(r.Revoked, "session"))
	if r.Unkept != "" {
		return fmt.Errorf("that could not be written down: after a restart it would count again: %s (conch doctor; then once more)", r.Unkept)
	}
	return nil
}
