package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"conch/device"
)

// manCmd prints the man page; the package is built with it.
type manCmd struct{}

func (manCmd) Run(e *env, k *kong.Context) error {
	when := time.Now()
	// Reproducible builds: a page made from the same commit has the same date (reproducible-builds.org, SOURCE_DATE_EPOCH).
	if s, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		when = time.Unix(s, 0)
	}
	return writeMan(e.out, k.Model, when.UTC())
}

// manAfter is what the parser does not know.
const manAfter = `.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
something failed
.TP
.B 2
a flag, file, device or value was refused; nothing was started
.SH FILES
.TP
.I /etc/conch/conch.toml
The configuration. An empty file is a good one; what comes with the package names every setting with its default.
.TP
.I /etc/conch/companions/
Cards of companions, one TOML file each.
.TP
.I /etc/conch/credentials/
Keys, which systemd hands to the service; \fBconch key\fR writes there.
.TP
.I /var/lib/conch/
What survives a restart: volume, conversation, the room's ledger, this device's identity.
.TP
.I /run/conch/control.sock
The running appliance. Root and members of the group \fBconch\fR may talk to it.
.SH ENVIRONMENT
.TP
.B OPENAI_API_KEY
The key of the voice, for a conch that is run by hand.
.TP
.BI CONCH_ SECTION _ KEY
A setting, stronger than the file: \fBCONCH_AUDIO_VOLUME=40\fR.
.SH SERVICE
.TP
.B systemctl status conch
whether it runs, and what troubles it
.TP
.B systemctl reload conch
read the configuration again
.TP
.B journalctl \-u conch
what it logged; what people say is not in there
.PP
The service starts with a configuration that is refused as well, says what is wrong with it, and takes the file by itself once that is mended. Until then what was refused has its default, and what guards money, privacy or access its strictest value.
.SH EXAMPLES
.TP
.B sudo conch key
store the key of the voice and restart the service
.TP
.B conch doctor
look for what could be wrong, and what to do about it
.TP
.B conch rehearse
a room of three companions on virtual hardware; type questions
.SH SEE ALSO
.BR systemctl (1),
.BR journalctl (1)
`

func writeMan(w io.Writer, app *kong.Application, when time.Time) error {
	var b strings.Builder
	version := strings.Fields(device.Version() + " ?")[1]
	fmt.Fprintf(&b, ".TH CONCH 1 %q %q \"User Commands\"\n", when.Format(time.DateOnly), roff("conch "+version))
	b.WriteString(".SH NAME\nconch \\- talking appliance that a button silences\n.SH SYNOPSIS\n.B conch\n[\\fIflags\\fR] \\fIcommand\\fR " +
		"[\\fIargument\\fR ...]\n")
	description, _, _ := strings.Cut(app.Help, "\n\n") // what follows is the exit status, which has its own section
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(description))
	b.WriteString(".SH FLAGS OF ALL COMMANDS\n")
	all := places(app.Node, "conch", nil)
	for _, f := range all[0].flags {
		manFlag(&b, f)
	}
	b.WriteString(".SH COMMANDS\n")
	for _, p := range all[1:] {
		if len(p.below) > 0 {
			continue // it does nothing by itself; what is below it follows
		}
		fmt.Fprintf(&b, ".SS %s\n%s\n", roff(synopsis(p)), roff(p.help))
		if p.node.Detail != "" {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(p.node.Detail))
		}
		for _, arg := range p.node.Positional {
			fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(argument(arg)), roff(arg.Help))
		}
		for _, f := range p.node.Flags {
			if !f.Hidden {
				manFlag(&b, f)
			}
		}
		if len(examples[p.path]) > 0 {
			b.WriteString(".PP\nExamples:\n")
		}
		for _, x := range examples[p.path] {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(x.line), roff(x.about))
		}
	}
	b.WriteString(manAfter)
	_, err := io.WriteString(w, b.String())
	return err
}

func synopsis(p place) string {
	s := p.path
	for _, arg := range p.node.Positional {
		s += " " + arg.Summary()
	}
	for _, f := range p.node.Flags {
		if !f.Hidden {
			return s + " [flags]"
		}
	}
	return s
}

func argument(arg *kong.Positional) string { return strings.ToUpper(arg.Name) }

func manFlag(b *strings.Builder, f *kong.Flag) {
	b.WriteString(".TP\n")
	if f.Short != 0 {
		fmt.Fprintf(b, "\\fB\\-%c\\fR, ", f.Short)
	}
	fmt.Fprintf(b, "\\fB%s\\fR", roff("--"+f.Name))
	if takesValue(f) {
		fmt.Fprintf(b, "=\\fI%s\\fR", roff(f.FormatPlaceHolder()))
	}
	fmt.Fprintf(b, "\n%s\n", roff(f.Help))
}

// roff is text that troff prints as it is: a hyphen that can be copied, no line that begins with a request, no macro of ours
// ended by a quote (groff_char(7), man(7)).
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
