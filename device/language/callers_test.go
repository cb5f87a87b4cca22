package language

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// translated are the files whose every sentence, but for errors, is for people, and so comes from a language's file.
var translated = []string{"device/join/words.go", "device/join/saying.go"}

// spoken is a folder all of whose sentences do, errors as well: somebody sits there, and reads them; but for these files, which make a
// table for programs, and a block in a file of the machine.
const spoken = "device/setup/"

var unspoken = []string{"boards.go", "boot.go"}

// names are not translated: of makers, of commands, and of what others say.
var names = []string{"Raspberry Pi", "conch itself", "gpio learn", "sudo systemctl start conch"}

// sentencesOf says whether a file's sentences have to come from a language's file, and whether its errors have to.
func sentencesOf(name string) (strict, errors bool) {
	rest, in := strings.CutPrefix(name, spoken)
	errors = in && !slices.Contains(unspoken, rest)
	return errors || slices.Contains(translated, name), errors
}

// caller collects what one file asks for.
type caller struct {
	asked    map[string]bool // keys, and beginnings of keys with a dot at the end
	errors   bool            // they are for people, too
	problems []string
}

// file looks at the calls of Phrase, and with strict at each string.
func (c *caller) file(name string, set *token.FileSet, file *ast.File, english *table, strict bool) {
	found := func(n ast.Node, format string, args ...any) {
		c.problems = append(c.problems, fmt.Sprintf("%s:%d: ", name, set.Position(n.Pos()).Line)+fmt.Sprintf(format, args...))
	}
	logged := token.NoPos // the end of an error that is for the log
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && strict && lit.Pos() >= logged && lit.Kind == token.STRING && sentence.MatchString(lit.Value) &&
			!slices.Contains(names, strings.Trim(lit.Value, `"`)) {
			found(n, "%s is in no language's file", lit.Value)
		}
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		fun, ok := call.Fun.(*ast.SelectorExpr)
		if ok && !c.errors && (fun.Sel.Name == "Errorf" || fun.Sel.Name == "New") {
			logged = max(logged, call.End())
		}
		if ok && fun.Sel.Name == "Retell" {
			if lit, ok := call.Args[0].(*ast.BasicLit); ok {
				section, _ := strconv.Unquote(lit.Value)
				c.asked[section+"."] = true
			}
		}
		if !ok || fun.Sel.Name != "Phrase" && fun.Sel.Name != "phrase" || ofClips(fun.X) {
			return true
		}
		switch key := call.Args[0].(type) {
		case *ast.BasicLit:
			name, _ := strconv.Unquote(key.Value)
			c.asked[name] = true
			p, ok := english.phrases[name]
			if !ok {
				found(n, "there is no sentence %q", name)
				break
			}
			var given []string
			for i := 1; i < len(call.Args); i += 2 {
				lit, ok := call.Args[i].(*ast.BasicLit)
				if !ok || i+1 == len(call.Args) {
					found(n, "%q: the name of an argument is written out, and a value follows", name)
					break
				}
				arg, _ := strconv.Unquote(lit.Value)
				given = append(given, arg)
			}
			slices.Sort(given)
			if want := arguments(p.as(other)); !slices.Equal(given, want) {
				found(n, "%q gets the arguments %v; it has %v", name, given, want)
			}
		case *ast.BinaryExpr: // "failed." + why
			lit, ok := key.X.(*ast.BasicLit)
			prefix := ""
			if ok {
				prefix, _ = strconv.Unquote(lit.Value)
			}
			if !strings.HasSuffix(prefix, ".") && name != "device/language/retell.go" {
				found(n, "the section of a key is written out")
			}
			c.asked[prefix] = true
		default:
			found(n, "the key is written out, or its section and a dot")
		}
		return true
	})
}

// sentence: words with a space between them.
var sentence = regexp.MustCompile(`[A-Za-z,.] [A-Za-z]`)

// ofClips: the coordinator's Phrases have a method of that name.
func ofClips(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name == "Phrases"
	case *ast.CompositeLit:
		return true
	}
	return false
}

// Whoever asks for a sentence asks for one that there is, with the arguments that it has; each sentence has somebody who asks for it.
func TestSentencesAndThoseWhoAsk(t *testing.T) {
	c, english := caller{asked: map[string]bool{}}, read(t, English)
	root := filepath.Join("..", "..")
	strict, said := 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		name, _ := filepath.Rel(root, path)
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil //nolint:nilerr // not of this module's build
		}
		var must bool
		if must, c.errors = sentencesOf(filepath.ToSlash(name)); must && !c.errors {
			strict++
		} else if must {
			said++
		}
		c.file(filepath.ToSlash(name), set, file, english, must)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.problems {
		t.Error(p)
	}
	if strict != len(translated) {
		t.Errorf("%d of %v are there", strict, translated)
	}
	if said < 5 {
		t.Errorf("%d files of %s were looked at", said, spoken)
	}
	for key := range english.phrases {
		section, _, _ := strings.Cut(key, ".")
		if !c.asked[key] && !c.asked[section+"."] {
			t.Errorf("nobody asks for %q", key)
		}
	}
}

func TestCallerCheckCanFail(t *testing.T) {
	const text = `package p
func f(l L, key string) {
	l.Phrase("pair.paired"); l.Phrase("failed." + key); l.Phrase("pair.moved", "peer", key)
	l.Phrase("no.such"); l.Phrase(key); l.Phrase("pair.moved"); l.Phrase("pair.moved", key, 1); l.Phrase("pair.paired", "peer", 1)
	println("Nothing is said.")
	errors.New("Nothing is wrong.")
}`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := caller{asked: map[string]bool{}}
	c.file("p.go", set, file, read(t, English), true)
	got := strings.Join(c.problems, "\n")
	for _, want := range []string{`no sentence "no.such"`, "the key is written out", `"pair.moved" gets the arguments []; it has [peer]`,
		`"pair.moved": the name of an argument`, `"pair.paired" gets the arguments [peer]; it has []`, "Nothing is said"} {
		if !strings.Contains(got, want) {
			t.Errorf("no problem %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "is wrong") {
		t.Errorf("an error is a sentence where it need not be:\n%s", got)
	}
	c = caller{asked: map[string]bool{}, errors: true}
	if c.file("p.go", set, file, read(t, English), true); !strings.Contains(strings.Join(c.problems, "\n"), "is wrong") {
		t.Errorf("an error is no sentence where it is one: %v", c.problems)
	}
	if n := strings.Count(got, "p.go:3:"); n != 0 {
		t.Errorf("%d problems of line 3:\n%s", n, got)
	}
}
