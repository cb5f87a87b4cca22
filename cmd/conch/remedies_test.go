package main

import (
	"encoding/json"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"conch/device/config"
	"conch/device/doctor"
	"conch/mqtt"
)

// A remedy is what a person is told to do. What only the running program knows of it is "…".
type remedy struct{ where, text string }

// remedies are those of the whole source: what is handed to where a remedy is, and what Remedy, do and GiveKey return.
func remedies(t *testing.T) (all []remedy) {
	t.Helper()
	const root = "../.."
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "testdata", "vm"}, d.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := goparser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		known := constants(file)
		add := func(e ast.Expr) {
			text := literal(e, known)
			if strings.Trim(text, "… ") != "" {
				all = append(all, remedy{strings.TrimPrefix(files.Position(e.Pos()).String(), root+"/"), text})
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, e := range told(n) {
				add(e)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	phrases, _ := filepath.Glob(root + "/device/language/*.toml")
	for _, path := range phrases {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if _, value, is := strings.Cut(line, "= "); is && strings.Contains(value, "sudo ") {
				all = append(all, remedy{filepath.Base(path) + ":" + strconv.Itoa(i+1), strings.Trim(value, `"`)})
			}
		}
	}
	if len(all) < 250 {
		t.Fatalf("%d remedies: they are elsewhere than this test looks", len(all))
	}
	return all
}

// told are the expressions of a node that are remedies.
func told(n ast.Node) (all []ast.Expr) {
	last := func(x *ast.CallExpr) []ast.Expr { return x.Args[len(x.Args)-1:] }
	switch x := n.(type) {
	case *ast.CallExpr:
		switch f := x.Fun.(type) {
		case *ast.Ident:
			if slices.Contains([]string{"bad", "warn", "tip", "unknown", "say"}, f.Name) && len(x.Args) > 2 {
				return last(x)
			}
		case *ast.SelectorExpr:
			if slices.Contains([]string{"Set", "Note", "Warn", "Bad"}, f.Sel.Name) && len(x.Args) > 2 {
				return last(x)
			}
		}
	case *ast.CompositeLit:
		if id, is := x.Type.(*ast.Ident); is && id.Name == "unfitError" && len(x.Elts) == 2 {
			return x.Elts[1:]
		}
	case *ast.KeyValueExpr:
		if id, is := x.Key.(*ast.Ident); is && id.Name == "Do" {
			return []ast.Expr{x.Value}
		}
	case *ast.FuncDecl:
		if !slices.Contains([]string{"Remedy", "remedy", "do", "GiveKey", "rights", "addLine", "busyRemedy"}, x.Name.Name) {
			return nil
		}
		ast.Inspect(x, func(n ast.Node) bool {
			if r, is := n.(*ast.ReturnStmt); is && len(r.Results) == 1 {
				all = append(all, r.Results[0])
			}
			return true
		})
	case *ast.AssignStmt:
		for i, l := range x.Lhs {
			name := ""
			switch l := l.(type) {
			case *ast.Ident:
				name = l.Name
			case *ast.SelectorExpr:
				name = l.Sel.Name
			}
			if strings.EqualFold(name, "do") && len(x.Lhs) == len(x.Rhs) {
				all = append(all, x.Rhs[i])
			}
		}
	}
	return all
}

// constants are those of a file, wherever in it.
func constants(file *ast.File) map[string]string {
	known := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, is := n.(*ast.ValueSpec); is {
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					known[name.Name] = literal(spec.Values[i], nil)
				}
			}
		}
		return true
	})
	return known
}

var verb = regexp.MustCompile(`%(?:\[\d\])?[a-z]`)

// literal is the text of an expression, as far as the source has it.
func literal(e ast.Expr, known map[string]string) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(x.Value)
		return text
	case *ast.BinaryExpr:
		return literal(x.X, known) + literal(x.Y, known)
	case *ast.ParenExpr:
		return literal(x.X, known)
	case *ast.Ident:
		if text, is := known[x.Name]; is {
			return text
		}
	case *ast.CallExpr:
		if f, is := x.Fun.(*ast.SelectorExpr); is && strings.HasSuffix(f.Sel.Name, "f") && len(x.Args) > 0 {
			return verb.ReplaceAllString(literal(x.Args[0], known), "…")
		}
	}
	return "…"
}

// programs are those besides conch that a remedy may name behind sudo, and the package of Raspberry Pi OS that has them.
var programs = map[string]string{
	"alsactl": "alsa-utils", "apt": "apt", "chmod": "coreutils", "chown": "coreutils", "cp": "coreutils", "du": "coreutils", "fuser": "psmisc",
	"iw": "iw", "journalctl": "systemd", "kill": "procps", "mkdir": "coreutils", "mount": "mount", "nmtui": "network-manager",
	"raspi-config": "raspi-config", "reboot": "systemd-sysv", "rm": "coreutils", "ss": "iproute2", "systemctl": "systemd",
	"systemd-sysusers": "systemd", "tee": "coreutils", "timedatectl": "systemd", "touch": "coreutils", "udevadm": "udev", "usermod": "passwd",
	"vcgencmd": "raspi-utils",
}

// files are those outside of conch that a remedy may name: of the system, or made by the command itself.
var files = []string{
	"/boot/firmware", "/dev/gpiochip", "/etc/NetworkManager/conf.d/", "/etc/security/limits.d/", "/etc/systemd/", "/forcefsck", "/sys/class/leds", "/usr/share/",
	"/var/lib/conch", "/etc/conch", "/usr/bin/conch", "/v1",
}

// Each remedy names commands, flags, settings and files that there are.
func TestRemediesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	p, err := parser(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	packaged := sources(t, "../../systemd")
	ours, typed := regexp.MustCompile(`(?:^|[^\w/.…-])conch ([^;,()"']*)`), regexp.MustCompile(`sudo conch ([a-z][^;,()"']*)`)
	empty := filepath.Join(t.TempDir(), "conch.toml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`(^|[^\w/.…-])([a-z]+)\.([a-z0-9_]+)`)
	set := regexp.MustCompile(`([a-z]+\.[a-z0-9_]+) = ("[^"…]*"|[a-z0-9_]+)`)
	path := regexp.MustCompile(`(?:^|[\s"'=])(/[a-zA-Z][\w/.-]*)`)
	keys, sections := settingsNamed()
	for _, r := range remedies(t) {
		named := ours
		if strings.Contains(r.where, ".toml:") { // a sentence of another language
			named = typed
		}
		for _, m := range named.FindAllStringSubmatch(r.text, -1) {
			if wrong := misnamed(p.Model.Node, strings.Fields(m[1])); wrong != "" {
				t.Errorf("%s: %s\n\t%s", r.where, wrong, r.text)
			}
		}
		for _, m := range regexp.MustCompile(`sudo ([a-z-]+)`).FindAllStringSubmatch(r.text, -1) {
			if programs[m[1]] == "" && m[1] != "conch" {
				t.Errorf("%s: there is no program %s\n\t%s", r.where, m[1], r.text)
			}
		}
		for _, m := range key.FindAllStringSubmatch(r.text, -1) {
			name := m[2] + "." + m[3]
			if sections[m[2]] && !keys[name] && !strings.Contains(r.text, "condition "+name) && !strings.Contains(r.text, "grep "+name) &&
				!strings.HasSuffix(name, ".key") && !strings.HasSuffix(name, ".json") {
				t.Errorf("%s: there is no setting %s\n\t%s", r.where, name, r.text)
			}
		}
		for _, m := range set.FindAllStringSubmatch(r.text, -1) {
			if !keys[m[1]] {
				continue
			}
			if _, err := config.Load(config.LoadOptions{File: empty, Environ: []string{"HOME=" + t.TempDir()}, Keyless: true,
				Flags: map[string]string{m[1]: strings.Trim(m[2], `"`)}}); err != nil {
				t.Errorf("%s: %v\n\t%s", r.where, err, r.text)
			}
		}
		for _, m := range path.FindAllStringSubmatch(r.text, -1) {
			switch is := func(f string) bool { return strings.HasPrefix(m[1], f) }; {
			case !slices.ContainsFunc(files, is):
				t.Errorf("%s: nobody makes %s\n\t%s", r.where, m[1], r.text)
			case strings.Contains(m[1], "conch") && !strings.Contains(packaged, strings.TrimRight(m[1], "/.")):
				t.Errorf("%s: no package has %s\n\t%s", r.where, m[1], r.text)
			}
		}
	}
}

// settingsNamed are all keys, and their sections.
func settingsNamed() (keys, sections map[string]bool) {
	keys, sections = map[string]bool{}, map[string]bool{}
	c := config.Default()
	for _, r := range c.Describe() {
		section, _, _ := strings.Cut(r.Key, ".")
		keys[r.Key], sections[section] = true, section != "mcp" && section != "home"
	}
	return keys, sections
}

// sources are all files below a directory, as one text.
func sources(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// misnamed says what of a command line of conch there is not; empty: all of it is there, as far as it is no text.
func misnamed(at *kong.Node, words []string) string {
	for i, w := range words {
		w = strings.TrimRight(w, ".:?")
		var below *kong.Node
		for _, c := range at.Children {
			if c.Name == w {
				below = c
			}
		}
		switch {
		case i == 0 && (slices.Contains(prose, w) || !regexp.MustCompile(`^[a-z]`).MatchString(w)):
			return ""
		case strings.HasPrefix(w, "--"):
			has := false
			for n := at; n != nil; n = n.Parent {
				has = has || slices.ContainsFunc(n.Flags, func(f *kong.Flag) bool { return "--"+f.Name == w })
			}
			if !has {
				return "conch has no flag " + w + " there"
			}
		case below != nil:
			at = below
		case len(at.Children) > 0 && (i == 0 || at.DefaultCmd == nil):
			return "conch has no command " + strings.Join(words[:i+1], " ")
		}
	}
	if len(at.Children) > 0 && at.DefaultCmd == nil {
		return "conch " + strings.Join(words, " ") + " is no whole command"
	}
	return ""
}

// prose is what may stand behind the name of conch where a remedy tells of it.
var prose = []string{"runs", "running", "is", "has", "as", "again"}

// Each of these remedies is taken by a shell out of what doctor says of a home with that fault, and the fault is gone.
func TestRemediesAreCarriedOut(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, config, check string
		level               doctor.Level
		breaks              func(t *testing.T, home string)
		command             string // of the finding, as a regular expression; with "=": a setting
	}{
		{name: "the device key is open to others", check: "identity", level: doctor.Bad, command: `(?:sudo )?chmod 600 \S+/identity\.key`,
			breaks: func(t *testing.T, home string) {
				id, err := mqtt.OpenIdentity(home)
				if err == nil {
					err = os.Chmod(filepath.Join(home, "identity.key"), 0o644)
				}
				if err != nil || id.ID() == "" {
					t.Fatal(err)
				}
			}},
		{name: "there is no device key", check: "identity", level: doctor.Note, command: `conch room id`},
		{name: "others may write the configuration", check: "config", level: doctor.Warn, command: `(?:sudo )?chmod 644 \S+`,
			breaks: func(t *testing.T, home string) {
				if err := os.Chmod(filepath.Join(home, "conch.toml"), 0o666); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "others may read the key", check: "config", level: doctor.Warn, config: "[voice]\nkey_file = \"HOME/key\"\n", command: `(?:sudo )?chmod 600 \S+`,
			breaks: func(t *testing.T, home string) {
				if err := os.WriteFile(filepath.Join(home, "key"), []byte(storyKey), 0o644); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "there is no library", check: "library", level: doctor.Warn, config: "[library]\nfolder = \"HOME/my books\"\n", command: `sudo mkdir -p '.*'`},
		{name: "a server that votes, and rules", check: "votes", level: doctor.Note, command: `room.votes = "auto"`,
			config: "[room]\nvotes = \"rules\"\nvote_url = \"http://127.0.0.1:9/v1\"\n"},
	} {
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			at := filepath.Join(home, "conch.toml")
			text := strings.ReplaceAll("[state]\ndir = \"HOME\"\n"+x.config, "HOME", home)
			if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if x.breaks != nil {
				x.breaks(t, home)
			}
			f, has := found(t, home, x.check, x.level)
			if !has {
				t.Fatalf("doctor finds no %s of %s", x.level, x.check)
			}
			do := regexp.MustCompile(x.command).FindString(f.Text + "\n" + f.Do)
			switch key, value, setting := strings.Cut(do, " = "); {
			case do == "":
				t.Fatalf("no %s in %q, %q", x.command, f.Text, f.Do)
			case setting:
				edited, err := config.Apply(text, []config.Edit{{Key: key, Value: value}})
				if err == nil {
					err = os.WriteFile(at, []byte(edited), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			default:
				shell(t, home, do)
			}
			if left, has := found(t, home, x.check, x.level); has && left.Text == f.Text {
				t.Errorf("after %s: %s", do, left.Text)
			}
		})
	}
}

// shell runs a command of a remedy in a home, by a user that needs no sudo there.
func shell(t *testing.T, home, command string) string {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "sudo"), []byte("#!/bin/sh\nexec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "sh", "-c", command)
	c.Dir = home
	c.Env = []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "CONCH_AUDIO_BACKEND=null", "CONCH_STATE_DIR=" + home, "XDG_RUNTIME_DIR=" + home}
	var wrong strings.Builder
	c.Stderr = &wrong
	out, err := c.Output()
	if err != nil && !strings.Contains(command, "doctor") { // which tells of a fault by its exit status
		t.Fatalf("%s: %v\n%s%s", command, err, out, wrong.String())
	}
	return string(out)
}

// found is what doctor says of one thing in a home.
func found(t *testing.T, home, check string, level doctor.Level) (doctor.Finding, bool) {
	t.Helper()
	var all []doctor.Finding
	if out := shell(t, home, "conch --config "+filepath.Join(home, "conch.toml")+" doctor --json"); json.Unmarshal([]byte(out), &all) != nil {
		t.Fatalf("doctor: %s", out)
	}
	i := slices.IndexFunc(all, func(f doctor.Finding) bool { return f.Check == check && f.Level == level })
	if i < 0 {
		return doctor.Finding{}, false
	}
	return all[i], true
}
