package device

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	walkTitle = regexp.MustCompile(`^## .*: (\d+ hops?, \d+ hand-offs?)$`)
	walkLine  = regexp.MustCompile(`^    (\S+\.go) +(⇒ )?([\w.]+)(?: \((\w+)\))?(?: .*|$)`)
)

// WALKS.md says what is: each function is there, is called by one above it, and they are as many as it says. A hop more is a reason to
// ask what for, and not only another number in the page.
func TestWalks(t *testing.T) {
	page, err := os.ReadFile("WALKS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range walkProblems(string(page)) {
		t.Error(problem)
	}
}

func TestWalksCanFail(t *testing.T) {
	const title, from, to = "## A: 1 hop, 0 hand-offs\n", "    coordinator/coordinator.go  Coordinator.Post\n", "    coordinator/inbox.go  inbox.post  why\n"
	for page, want := range map[string]string{
		title + from + to: "",
		title + from + strings.Replace(to, "  inbox", "  ⇒ inbox", 1): "counted 1 hops, 1 hand-offs",
		title + from + from + to: "nothing above calls it",
		title + from + strings.Replace(to, "inbox.post", "inbox.pot", 1): "there is no such function",
		title + from + "    coordinator/inbox.go inbox.put\n":            "nothing above calls it",
	} {
		if got := strings.Join(walkProblems(page), "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q; want %q", page, got, want)
		}
	}
}

func walkProblems(page string) (problems []string) {
	files := token.NewFileSet()
	asts := map[string]*ast.File{}
	var title, says string
	var functions, handoffs int
	var above []string // what the functions since the last hand-off mention
	closed := func() {
		if counted := fmt.Sprintf("%d hops, %d hand-offs", functions-1, handoffs); title != "" && strings.ReplaceAll(says, "hop,", "hops,") != counted {
			problems = append(problems, title+": counted "+counted)
		}
	}
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if m := walkTitle.FindStringSubmatch(line); m != nil {
			closed()
			title, says, functions, handoffs, above = line, m[1], 0, 0, nil
			continue
		}
		if !strings.HasPrefix(line, "    ") {
			continue
		}
		m := walkLine.FindStringSubmatch(line)
		if m == nil {
			problems = append(problems, line+": not a line of a walk")
			continue
		}
		path, handoff, name, as := m[1], m[2] != "", m[3], m[4]
		if asts[path] == nil {
			file, err := parser.ParseFile(files, filepath.Join("..", path), nil, parser.SkipObjectResolution)
			if err != nil {
				problems = append(problems, err.Error())
				continue
			}
			asts[path] = file
		}
		if as == "" {
			as = name[strings.LastIndex(name, ".")+1:]
		}
		body := functionNamed(asts[path], name)
		switch {
		case body == nil:
			problems = append(problems, line+": there is no such function")
			continue
		case handoff:
			handoffs++
			above = nil
		case functions > 0 && !slices.Contains(above, as):
			problems = append(problems, line+": nothing above calls it")
		}
		functions++
		ast.Inspect(body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				above = append(above, id.Name)
			}
			return true
		})
	}
	closed()
	return problems
}

// functionNamed is the body of a function, or of a method with its type before it; nil: it is not there.
func functionNamed(f *ast.File, name string) ast.Node {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		full := fn.Name.Name
		if fn.Recv != nil {
			of := fn.Recv.List[0].Type
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			full = fmt.Sprint(of) + "." + full
		}
		if full == name {
			return fn.Body
		}
	}
	return nil
}
