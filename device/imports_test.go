package device

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	pathpkg "path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "conch/"

// imports says who may import whom of ours. The longest pattern that fits a package counts; "/…" stands for
// everything below. What is not in the table is not in the architecture. A package of the standard library or of somebody
// else's is free, unless it is in owners.
var imports = map[string][]string{
	"coordinator/turn":               {},
	"companions/words":               {"device/spelling"},
	"companions/round":               {"companions/round/because", "companions/words", "device/printable"},
	"companions/round/because":       {"companions/words", "device/printable"},
	"companions/voice/cascade/aloud": {patterns},
	"companions/skills":              {},
	"companions/talk":                {"companions/round", "coordinator/turn"},
	"gpio":                           {"device/system"},
	"gpio/twin":                      {"gpio"},
	"gpio/light":                     {"gpio", "device/system"},
	"gpio/light/gen":                 {"gpio/light"},
	"audio":                          {"device/spelling"},
	"audio/…":                        {"audio", "audio/…"},
	"audio/decode":                   {"audio", "audio/wav", "device/system"},
	"audio/mixer":                    {"device/system"},
	"audio/stretch":                  {},
	"audio/words":                    {"audio", "audio/decode", "device/language"},
	"audio/words/gen":                {"audio", "audio/…", "device/language"},
	"audio/twin":                     {"audio"},
	"coordinator":                    {"coordinator/alert", "coordinator/focus", "coordinator/inject", "coordinator/turn"},
	"coordinator/alert":              {},
	"coordinator/focus":              {},
	"coordinator/inject":             {},
	"companions/voice":               {"coordinator/turn"},
	"companions/voice/…":             {"coordinator/turn", "companions/voice", "companions/voice/…", "companions/words", "device/language", "device/printable", "device/system"},
	"companions/skills/…":            {"companions/skills", "device/printable"},
	"companions":                     {"coordinator/turn", "companions/…", "device/language", "device/printable", "device/spelling", "device/system"},
	"companions/chattest":            {},
	"companions/recorded":            {"companions/round", "companions/words"},
	"companions/roomtest":            {"companions", "companions/round"},
	"mqtt":                           {"companions/round", "device/printable", "device/system"},
	"mqtt/…":                         {"companions/round", "mqtt", "device/printable", "device/system"},
	"mqtt/broker":                    {"companions/round", "mqtt"},
	"mqtt/cpace":                     {},
	"mqtt/membership":                {"companions/round", "mqtt", "mqtt/broker", "device/printable", "device/system"},
	"mqtt/pairing":                   {"companions/round", "mqtt", "mqtt/cpace", "device/printable"},
	"device/condition":               {patterns},
	"device/language":                {},
	"device/printable":               {"device/system"},
	"device/control":                 {"audio/words", "device/mcp", "companions", "companions/round", "coordinator", "coordinator/inject", "coordinator/turn", "device/condition", "device/config", "mqtt", "device/printable", "device/language", "device/system"},
	"device/config":                  {"companions/round", "companions/voice", "companions/voice/kinds", "device/condition", "gpio", "device/spelling", "mqtt", "device/printable", "device/language", "device/system"}, // voices and their keys, boards, and what an id of a device looks like
	"device":                         {"companions/words", "device/announce", "device/buttons", "device/cards", "device/condition", "device/config", "device/control", "device/join", "device/lights", "device/metrics", "device/provider", "device/reload", "device/room", "device/service", "device/sound", "device/state", "device/store", "device/terminal", "device/usage", "device/wait", "device/world", "gpio", "gpio/…", "audio", "audio/…", "coordinator", "coordinator/…", "companions", "companions/…", "mqtt", "mqtt/…", "systemd", "device/printable", "device/language", "device/mcp", "device/library", "device/intercom", "device/knob", "device/tuner", "device/again", "device/web", "device/homeassistant"},
	"device/web":                     {"device/condition", "device/config", "device/control", "device/language", "device/printable", "device/system"},
	"device/announce":                {"companions/skills", "coordinator", "coordinator/inject", "coordinator/turn", "device/language", "device/printable"},
	"device/buttons":                 {"device/config", "device/control", "device/terminal", "gpio"},
	"device/cards":                   {"companions", "companions/round", "companions/words", "device/config"},
	"device/mcp":                     {"companions/skills", "device/config", "device/printable", "device/system"},
	"device/mcp/mcptest":             {},
	"device/metrics":                 {"audio", "companions", "companions/round", "device/condition", "device/control", "mqtt"},
	"device/reload":                  {"device/condition", "device/config"},
	"device/tuner":                   {"audio/decode", "companions/skills", "companions/voice/kit", "device/config"}, // certificates are judged once
	"device/usage":                   {"companions/round", "companions/voice", "coordinator/turn", "device/condition", "device/config", "device/control", "device/state"},
	"device/provider":                {"audio/decode", "companions", "companions/voice", "companions/voice/cascade", "companions/voice/either", "companions/voice/kinds", "coordinator/turn", "device/config", "device/control", "device/language"},
	"device/sound":                   {"audio", "audio/detect", "audio/mixer", "device/condition", "device/config", "device/control", "device/wait", "gpio"},
	"device/benchtest":               {},
	"device/benchtest/…":             {"device/benchtest"},
	"device/doctor":                  {"device/web", "device/mcp", "audio", "audio/mixer", "audio/words", "companions/round", "companions/voice", "coordinator/turn", "device/cards", "device/config", "device/control", "device/library", "device/provider", "device/sound", "device/state", "device/usage", "gpio", "mqtt", "mqtt/…", "device/printable", "device/language", "device/system"},
	"device/homeassistant":           {"companions/round", "device/condition", "device/config", "device/control", "device/language", "device/printable"},
	"device/house":                   {},
	"device/library":                 {"audio/decode", "audio/stretch", "companions/skills"},
	"device/intercom":                {"audio/call", "companions/round", "device/language", "mqtt", "mqtt/pairing"},
	"device/join":                    {"audio", "audio/tones", "audio/words", "companions/round", "device/condition", "device/config", "device/control", "device/state", "device/wait", "mqtt", "mqtt/…", "device/printable", "device/language"},
	"device/again":                   {"coordinator", "coordinator/turn"},
	"device/knob":                    {"device/config", "gpio"},
	"device/lights":                  {"companions/round", "coordinator", "coordinator/turn", "device/condition", "device/config", "device/control", "device/wait", "gpio", "gpio/…"},
	"device/testlog":                 {},
	"device/terminal":                {"gpio", "device/printable", "device/language", "device/system"},
	"device/wait":                    {},
	"device/terminal/screens":        {},
	"device/world":                   {"coordinator/turn", "device/condition", "device/config", "device/provider", "device/system"},
	"device/bench":                   {"audio", "audio/…", "companions/voice", "companions/voice/rehearsal", "device/cards", "device/provider", "coordinator", "coordinator/…", "device", "device/config", "device/control", "device/sound", "device/state", "device/tone", "device/wait", "gpio", "gpio/…"},
	"device/service":                 {"device/config", "device/control", "device/wait", "device/printable", "device/system"},
	"device/spelling":                {patterns},
	"device/state":                   {"audio", "companions", "device/condition", "device/config", "device/control", "mqtt", "device/system"},
	"device/system":                  {},
	"device/tone":                    {"audio", "companions/voice", "coordinator", "coordinator/turn"},
	"device/store":                   {"companions/skills", "companions/skills/notes", "device/condition", "device/control", "device/system"},
	"device/room":                    {"audio/words", "companions", "companions/…", "coordinator", "coordinator/turn", "device/cards", "device/condition", "device/config", "device/control", "device/wait", "mqtt", "device/printable", "device/language"},
	leaf:                             {patterns},
	patterns:                         {},
	"device/rehearse":                {"device/web", "audio", "audio/…", "companions", "companions/…", "coordinator", "coordinator/…", "device", "device/condition", "device/config", "device/control", "device/join", "device/room", "device/terminal", "device/wait", "gpio", "gpio/…", "mqtt", "mqtt/…", "device/printable", "device/language"},
	"device/setup":                   {"audio", "device/cards", "device/config", "device/control", "device/doctor", "device/homeassistant", "device/printable", "device/provider", "device/sound", "gpio", "mqtt", "mqtt/membership", "device/language", "device/system"},
	"systemd":                        {},
	"systemd/vm":                     {},
	"systemd/vm/…":                   {},
	"systemd/vm/tone":                {"audio", "gpio"}, // what a guest runs to be measured: the real parts, and no more of them
	"cmd/conch":                      {"device", "device/…"},
}

// owners says which one file (or its parts, or one of several) may import what drives hardware, so that it can be swapped.
var owners = map[string]string{
	"github.com/hajimehoshi/":    "audio/decode/mp3.go",
	"github.com/mewkiz/":         "audio/decode/flac.go",
	"github.com/jfreymuth/":      "audio/decode/vorbis.go",
	"github.com/pion/opus":       "audio/decode/opus.go",
	"periph.io/":                 "gpio/light/apa102.go gpio/periph.go",
	"github.com/gen2brain/malgo": "audio/malgo*.go", // contexts, opening, streams
	"C":                          "audio/malgo.go",
	"github.com/BurntSushi/toml": "device/spelling/toml.go companions/words/lexicon.go device/language/language.go", // elsewhere a file is bounded first
}

// pure are the packages and files that only compute: no goroutine or channel of their own, no clock, no chance,
// no world.
var pure = []string{
	"coordinator/turn", "coordinator/alert", "coordinator/focus", "coordinator/inject", "companions/round", "companions/talk", "companions/words",
	"gpio/debounce.go", "gpio/gesture.go", "device/terminal/keys.go", "device/terminal/page.go", "device/terminal/text.go", "gpio/learn.go", "gpio/boards.go", "audio/pcm.go", "audio/call",
	"mqtt/pairing/window_step.go", "mqtt/pairing/joiner_step.go", "device/join/events.go", "device/join/way.go",
	"device/homeassistant/command.go", "device/homeassistant/entities.go", "device/homeassistant/messages.go", "device/homeassistant/view.go", "device/join/way_code.go", "device/join/way_room.go", "device/join/way_step.go",
}

var (
	impureImports = []string{"log", "log/slog", "os", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "sync", "sync/atomic", "syscall", "context"}
	impureTime    = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
)

type goPackage struct {
	Dir, ImportPath                   string
	Imports                           []string
	GoFiles, CgoFiles, IgnoredGoFiles []string
}

// listed is every package of the module, as the go command sees it.
func listed(t *testing.T) []goPackage {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 5 {
		t.Fatalf("go list found %d packages; this test would prove nothing", len(all))
	}
	return all
}

var list = sync.OnceValues(func() (all []goPackage, _ error) {
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,Imports,GoFiles,CgoFiles,IgnoredGoFiles", "./...")
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

func fits(pattern, name string) bool {
	if below, ok := strings.CutSuffix(pattern, "/…"); ok {
		return strings.HasPrefix(name, below+"/")
	}
	return pattern == name
}

// leaf takes secrets out: the writers at the border import it, and no pure package does.
const leaf = "device/redact"

// patterns compiles regular expressions late: a package that imports anything of ours may import it.
const patterns = "device/pattern"

// rule is the line of the table that counts for a package.
func rule(name string) (allowed []string, ok bool) {
	best := ""
	for pattern, list := range imports {
		if fits(pattern, name) && len(pattern) > len(best) {
			best, allowed, ok = pattern, list, true
		}
	}
	return allowed, ok
}

func importProblem(from, to string) string {
	allowed, ok := rule(from)
	switch {
	case !ok:
		return fmt.Sprintf("%s is not in the table of imports: find its room, then add it here", from)
	case to == "" || (to == leaf || to == patterns) && (len(allowed) > 0 || from == "device/printable") ||
		slices.ContainsFunc(allowed, func(p string) bool { return fits(p, to) }):
		return ""
	case len(allowed) == 0:
		return fmt.Sprintf("%s imports %s; it may import nothing of ours: facts go in, orders come out, nobody is called back", from, to)
	}
	return fmt.Sprintf("%s imports %s; it may import only %s", from, to, strings.Join(allowed, ", "))
}

func TestImportsPointInward(t *testing.T) {
	for _, p := range listed(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if problem := importProblem(name, ""); problem != "" {
			t.Error(problem)
			continue
		}
		for _, path := range p.Imports {
			if to, ours := strings.CutPrefix(path, module); ours {
				if problem := importProblem(name, to); problem != "" {
					t.Error(problem)
				}
			}
		}
	}
}

// testOnly says that a package is imported by tests alone.
func testOnly(name string) bool { return strings.HasSuffix(pathpkg.Base(name), "test") }

// What stands in for hardware and ships is called twin; what only tests need is not in the program.
func TestTheProgramHasNoTestPackages(t *testing.T) {
	all := map[string]goPackage{}
	for _, p := range listed(t) {
		all[p.ImportPath] = p
	}
	by := map[string]string{module + "cmd/conch": ""}
	for next := []string{module + "cmd/conch"}; len(next) > 0; next = next[1:] {
		for _, path := range all[next[0]].Imports {
			if _, done := by[path]; done || !strings.HasPrefix(path, module) {
				continue
			}
			by[path] = next[0]
			next = append(next, path)
			if testOnly(path) {
				t.Errorf("%s imports %s, and is in the program", next[0], path)
			}
		}
	}
	if len(by) < 20 {
		t.Errorf("%d packages in the program; this test would prove nothing", len(by))
	}
}

func TestImportTableCanFail(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"coordinator/turn", "audio", "coordinator/turn imports audio; it may import nothing of ours: facts go in, orders come out, nobody is called back"},
		{"coordinator", "companions", "coordinator imports companions; it may import only coordinator/alert, coordinator/focus, coordinator/inject, coordinator/turn"},
		{"companions/voice/realtime", "companions/skills", "companions/voice/realtime imports companions/skills; " +
			"it may import only coordinator/turn, companions/voice, companions/voice/…, companions/words, device/language, device/printable, device/system"},
		{"companions/skills/timers", "companions/skills/home",
			"companions/skills/timers imports companions/skills/home; it may import only companions/skills, device/printable"},
		{"cmd/conch", "audio", "cmd/conch imports audio; it may import only device, device/…"},
		{"util", "", "util is not in the table of imports: find its room, then add it here"},
	} {
		if got := importProblem(c.from, c.to); got != c.want {
			t.Errorf("%s -> %s\n got %s\nwant %s", c.from, c.to, got, c.want)
		}
	}
	if got := importProblem("device", "companions/voice/realtime"); got != "" {
		t.Errorf("device may import every voice; got %s", got)
	}
}

// sources calls see with every Go file of the module that is not a test, whatever its build tags.
func sources(t *testing.T, see func(name string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range listed(t) {
		dir, err := filepath.Rel(root, p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, base := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(base, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, base), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			see(filepath.ToSlash(filepath.Join(dir, base)), set, file)
		}
	}
}

func TestHardwareHasOneFileEach(t *testing.T) {
	seen := make(map[string]bool)
	sources(t, func(name string, _ *token.FileSet, file *ast.File) {
		for _, imported := range file.Imports {
			path, _ := strconv.Unquote(imported.Path.Value)
			for owned, owner := range owners {
				if path != owned && !(strings.HasSuffix(owned, "/") && strings.HasPrefix(path, owned)) {
					continue
				}
				seen[owned] = true
				if !slices.ContainsFunc(strings.Fields(owner), func(o string) bool { fits, err := pathpkg.Match(o, name); return err == nil && fits }) {
					t.Errorf("%s imports %q; only %s may, so that everything else builds and tests without it", name, path, owner)
				}
			}
		}
	})
	for owned := range owners {
		if !seen[owned] {
			t.Errorf("nobody imports %s: is the table still true?", owned)
		}
	}
}

func TestPureCodeIsPure(t *testing.T) {
	checked := 0
	sources(t, func(name string, set *token.FileSet, file *ast.File) {
		if !slices.Contains(pure, name) && !slices.Contains(pure, filepath.ToSlash(filepath.Dir(name))) {
			return
		}
		checked++
		for _, problem := range impurities(set, file) {
			if slices.Contains(remembering, name) && strings.HasSuffix(problem, "imports sync") {
				continue
			}
			t.Errorf("%s, though this code only computes: what it needs of the world comes in as an event", problem)
		}
	})
	if checked < 5 {
		t.Errorf("%d pure files found; is the table still true?", checked)
	}
}

// remembering are files of pure code that keep what they have computed, of files of the program and of words without endings: the same for
// everybody, whoever asks first.
var remembering = []string{"companions/words/embedded.go", "companions/words/stems.go"}

func impurities(set *token.FileSet, file *ast.File) (problems []string) {
	found := func(n ast.Node, what string) {
		at := set.Position(n.Pos())
		problems = append(problems, fmt.Sprintf("%s:%d: %s", filepath.Base(at.Filename), at.Line, what))
	}
	for _, imported := range file.Imports {
		if path, _ := strconv.Unquote(imported.Path.Value); slices.Contains(impureImports, path) {
			found(imported, "imports "+path)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found(n, "starts a goroutine")
		case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
			found(n, "uses a channel")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(impureTime, n.Sel.Name) {
				found(n, "reads the clock (time."+n.Sel.Name+")")
			}
		}
		return true
	})
	return problems
}

func TestPurityCheckCanFail(t *testing.T) {
	const impure = `package p
import ("log"; "time")
func f(c chan int) { go f(c); c <- 1; select {}; _ = time.Now(); log.Print(); time.Sleep(1) }`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", impure, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(impurities(set, file), "\n")
	const want = "p.go:2: imports log\np.go:3: uses a channel\np.go:3: starts a goroutine\np.go:3: uses a channel\np.go:3: uses a channel\n" +
		"p.go:3: reads the clock (time.Now)\np.go:3: reads the clock (time.Sleep)"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
