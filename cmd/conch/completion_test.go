package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

func model(t *testing.T) *kong.Application {
	t.Helper()
	p, err := parser(&cli{}, kong.Description("First.\n\nSecond."))
	if err != nil {
		t.Fatal(err)
	}
	return p.Model
}

func completions(t *testing.T, write func(w *bytes.Buffer, all []place) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, places(model(t).Node, "conch", nil)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "completion")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// offer is what there is after a line.
type offer struct {
	line string
	want []string
}

// What the shells themselves offer after a line, in this directory.
var offered = []offer{
	{"conch r", []string{"rehearse", "report", "room", "run"}},
	{"conch audio ", []string{"list", "pick", "test"}},
	{"conch --config run a", []string{"ask", "audio"}}, // run is the name of a file here
	{"conch -c x audio t", []string{"test"}},
	{"conch rehearse --sc", []string{"--script"}},
	{"conch rehearse --script completion_t", []string{"completion_test.go"}},
	{"conch rehearse --out testd", []string{"testdata"}},
	{"conch --set audio.per", []string{"audio.period_ms=", "audio.periods="}},
	{"conch room replay completion_t", []string{"completion_test.go"}},
	{"conch light show mu", []string{"muted"}},
	{"conch setup --board whi", []string{"whisplay"}},
	{"conch setup --language e", []string{"en", "es"}},
	{"conch setup --votes a", []string{"auto"}},
	{"conch setup v", []string{"voice", "votes"}},
	{"conch help ro", []string{"room"}},
	{"conch ma", nil}, // hidden commands stay hidden
}

func TestBashCompletes(t *testing.T) {
	file := completions(t, func(b *bytes.Buffer, all []place) error { return writeBash(b, all) })
	const script = `source "$1"; COMP_LINE=$2 COMP_POINT=${#2}; compopt() { :; }; _conch; printf '%s\n' "${COMPREPLY[@]}"`
	for _, c := range append(offered, []offer{
		{"conch --set=audio.per", []string{"audio.period_ms=", "audio.periods="}}, // behind a = bash leaves what stands there as it is
		{`conch --set "audio.per`, []string{"audio.period_ms=", "audio.periods="}},
		{"conch --set device.language=e", []string{"en", "es"}},
		{"LANG=de conch audio t", []string{"test"}},
		{`conch --config a\ b audio t`, []string{"test"}},
	}...) {
		compare(t, c.line, c.want, exec.Command("bash", "-c", script, "bash", file, c.line))
	}
}

func TestFishCompletes(t *testing.T) {
	need(t, "fish")
	file := completions(t, func(b *bytes.Buffer, all []place) error { return writeFish(b, all) })
	for _, c := range offered {
		cmd := exec.Command("fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, c.line)
		compare(t, c.line, c.want, cmd)
	}
}

// zshOffers: zsh completes only in its line editor, on a terminal; what stands in for its helpers prints what they are given.
const zshOffers = `compdef() { : }
	offer() { local w; for w in "$@"; do [[ ${w%%:*} == ${words[CURRENT]}* ]] && print -r -- ${w%%:*}; done }
	_describe() { offer ${(P)2} }
	compset() { : }
	compadd() { while [[ $1 != -- ]]; do shift; done; shift; offer "$@" }
	_files() { print -rl -- ${words[CURRENT]}*(N) }
	source "$1"; shift; words=("$@"); CURRENT=$#; _conch`

func TestZshCompletes(t *testing.T) {
	need(t, "zsh")
	file := completions(t, func(b *bytes.Buffer, all []place) error { return writeZsh(b, all) })
	for _, c := range offered {
		compare(t, c.line, c.want, exec.Command("zsh", slices.Concat([]string{"-f", "-c", zshOffers, "zsh", file}, strings.Split(c.line, " "))...))
	}
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}

func compare(t *testing.T, line string, want []string, cmd *exec.Cmd) {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, _ := cmd.Output() // the status is that of the last guess, as shells have it; what went wrong is said
	if errs.Len() > 0 {
		t.Errorf("%q: %s", line, errs.String())
	}
	got := []string{}
	for l := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(strings.TrimSpace(l), "\t") // fish puts the help behind a tab
		if word = strings.TrimSuffix(word, "/"); word != "" {
			got = append(got, word)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("after %q it offers %q; want %q", line, got, want)
	}
}

// Every command and flag is on the man page, nothing hidden is, and troff has nothing to say against it.
func TestManPage(t *testing.T) {
	var b bytes.Buffer
	m := model(t)
	if err := writeMan(&b, m, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if !strings.HasPrefix(page, `.TH CONCH 1 "1970-01-01" "conch `) {
		t.Errorf("it begins with %q", page[:60])
	}
	for _, p := range places(m.Node, "conch", nil) {
		if len(p.below) == 0 && !regexp.MustCompile(`(?m)^\.SS `+regexp.QuoteMeta(roff(p.path))+`( |$)`).MatchString(page) {
			t.Errorf("it does not name %s", p.path)
		}
		for _, f := range p.flags {
			if !strings.Contains(page, `\fB`+roff("--"+f.Name)+`\fR`) || !strings.Contains(page, roff(f.Help)) {
				t.Errorf("it does not name --%s of %s with its help", f.Name, p.path)
			}
		}
	}
	if strings.Contains(page, "conch completion") || strings.Contains(page, ".SS conch man") || strings.Contains(page, "Second") {
		t.Error("it names what is hidden, or says the exit status twice")
	}
	need(t, "groff")
	cmd := exec.Command("groff", "-man", "-Tutf8", "-ww", "-z")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v: %s", err, out)
	}
}

func TestRoffPrintsTextAsItIs(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"--set audio.volume=40", `\-\-set audio.volume=40`},
		{".5 and\n.TH", "\\&.5 and\n\\&.TH"},
		{`it's a "\n" ~ ^ here`, `it\(aqs a \(dq\en\(dq \(ti \(ha here`},
		{"'quoted", `\(aqquoted`},
	} {
		if got := roff(c.text); got != c.want {
			t.Errorf("roff(%q) = %q; want %q", c.text, got, c.want)
		}
	}
}
