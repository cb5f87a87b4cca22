// Command house counts what a reader has to hold in the head: packages by files and lines, the longest file and function, the type
// with most methods, and the arrows between the files of a package that run back up.
//
//	house              the sums
//	house -v           each package, and what is too long, by name
//	house -binary F    the size of the program F as well
//
// The program is what `go list -deps ./cmd/conch` says; the rest is for tests, generators and tools.
//
// A file points at another where it uses a function, type, variable, constant or method that is declared there. The files of a package
// are put into the order in which fewest arrows run back (greedily: Eades, Lin, Smyth 1993); those that still do are in circles. Names
// are looked up as text, without types, so a method's name counts only where one file alone declares it.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a file, a function and a line have at most.
const (
	maxFile     = 450 // lines
	maxFunction = 90  // likewise
	tab         = 4   // columns, as the linter counts
)

// item is something with a size: a file, a function, a line, a type.
type item struct {
	name string
	size int
}

type file struct {
	item
	uses map[string]bool // names
}

type pkg struct {
	dir          string
	program      bool // it is in the program
	files        []file
	lines, tests int
	home         map[string]string // name to the file that declares it; "": several do
	methods      map[string]int    // by type
	functions    []item
	line         item // the longest
}

func main() {
	each := flag.Bool("v", false, "each package, and what is too long")
	binary := flag.String("binary", "", "a program, whose size is told")
	flag.Parse()
	all, err := read(".")
	if err == nil {
		err = program(all)
	}
	if err == nil && *each {
		packages(all)
	}
	if err == nil {
		err = sums(*each, *binary, all)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// program marks what the program is made of.
func program(all []*pkg) error {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}", "./cmd/conch").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for _, p := range all {
		dir, err := filepath.Abs(p.dir)
		if err != nil {
			return err
		}
		p.program = slices.Contains(strings.Fields(string(out)), dir)
	}
	return nil
}

// foreign are directories that are not ours to count.
var foreign = []string{"testdata", "node_modules", "bin", "build"}

func read(root string) (all []*pkg, err error) {
	of := map[string]*pkg{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains(foreign, d.Name())):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		dir := filepath.Dir(path)
		if of[dir] == nil {
			of[dir] = &pkg{dir: dir, home: map[string]string{}, methods: map[string]int{}}
			all = append(all, of[dir])
		}
		return of[dir].add(path)
	})
	return all, err
}

func (p *pkg) add(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.Count(string(text), "\n")
	if strings.HasSuffix(path, "_test.go") {
		p.tests += lines
		return nil
	}
	p.lines += lines
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) + (tab-1)*strings.Count(line, "\t")
		p.line = longer(p.line, item{fmt.Sprintf("%s:%d", path, n), width})
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := file{item{filepath.Base(path), lines}, map[string]bool{}}
	declare := func(name string) {
		if was, ok := p.home[name]; ok && was != f.name {
			p.home[name] = ""
			return
		}
		p.home[name] = f.name
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declare(d.Name.Name)
			p.functions = append(p.functions, item{f.name + " " + d.Name.Name, set.Position(d.End()).Line - set.Position(d.Pos()).Line + 1})
			if d.Recv != nil {
				p.methods[receiver(d.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					declare(s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						declare(n.Name)
					}
				}
			}
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			f.uses[id.Name] = true
		}
		return true
	})
	p.files = append(p.files, f)
	return nil
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

// backward counts the arrows that run against the best order found.
func (p *pkg) backward() (n int) {
	to := map[string]map[string]bool{}
	for _, f := range p.files {
		to[f.name] = map[string]bool{}
		for name := range f.uses {
			if home := p.home[name]; home != "" && home != f.name {
				to[f.name][home] = true
			}
		}
	}
	left := map[string]bool{}
	for f := range to {
		left[f] = true
	}
	degrees := func(f string) (in, out int) {
		for g := range left {
			if to[g][f] {
				in++
			}
			if to[f][g] {
				out++
			}
		}
		return in, out
	}
	var head, tail []string
	for len(left) > 0 {
		best, gain, sink := "", 0, false
		names := make([]string, 0, len(left))
		for f := range left {
			names = append(names, f)
		}
		slices.Sort(names)
		for _, f := range names {
			in, out := degrees(f)
			if out == 0 {
				best, sink = f, true
				break
			}
			if g := out - in; best == "" || g > gain {
				best, gain = f, g
			}
		}
		delete(left, best)
		if sink {
			tail = append(tail, best)
		} else {
			head = append(head, best)
		}
	}
	slices.Reverse(tail)
	at := map[string]int{}
	for i, f := range append(head, tail...) {
		at[f] = i
	}
	for f := range to {
		for g := range to[f] {
			if at[g] < at[f] {
				n++
			}
		}
	}
	return n
}

func longer(a, b item) item {
	if b.size > a.size || b.size == a.size && b.name < a.name {
		return b
	}
	return a
}

// longest is the longest file and function, and the type with most methods.
func (p *pkg) longest() (f, function, methods item) {
	for _, x := range p.files {
		f = longer(f, x.item)
	}
	for _, x := range p.functions {
		function = longer(function, x)
	}
	for name, n := range p.methods {
		methods = longer(methods, item{name, n})
	}
	return f, function, methods
}

// packages prints a line for each, the largest first.
func packages(all []*pkg) {
	slices.SortFunc(all, func(a, b *pkg) int { return b.lines - a.lines })
	for _, program := range []bool{true, false} {
		what := "the program"
		if !program {
			what = "for tests, generators, tools"
		}
		fmt.Printf("%-34s %6s %6s %6s %6s  %s\n", what, "files", "lines", "tests", "back", "longest file, function; most methods")
		for _, p := range all {
			if f, function, methods := p.longest(); p.program == program && p.lines > 0 {
				fmt.Printf("%-34s %6d %6d %6d %6d  %s %d, %s %d; %s %d\n", p.dir, len(p.files), p.lines, p.tests, p.backward(),
					f.name, f.size, function.name, function.size, methods.name, methods.size)
			}
		}
	}
}

// sums prints what all packages are together; names says what is too long.
func sums(names bool, binary string, all []*pkg) error {
	var lines, count [2]int // the program, the rest
	var files, functions []item
	var largest, methods, back, line item
	tests, arrows := 0, 0
	for _, p := range all {
		k := 1
		if p.program {
			k = 0
		}
		count[k]++
		lines[k] += p.lines
		tests += p.tests
		n := p.backward()
		arrows += n
		largest, back, line = longer(largest, item{p.dir, p.lines}), longer(back, item{p.dir, n}), longer(line, p.line)
		_, _, m := p.longest()
		methods = longer(methods, item{p.dir + "." + m.name, m.size})
		for _, f := range p.files {
			if f.size > maxFile {
				files = append(files, item{p.dir + "/" + f.name, f.size})
			}
		}
		for _, f := range p.functions {
			if f.size > maxFunction {
				functions = append(functions, item{p.dir + "/" + f.name, f.size})
			}
		}
	}
	if names {
		tooLong(fmt.Sprintf("files over %d lines", maxFile), files)
		tooLong(fmt.Sprintf("functions over %d lines", maxFunction), functions)
		tooLong("the longest line", []item{line})
	}
	fmt.Printf("%d files over %d lines, %d functions over %d; most methods %s (%d); arrows back up %d, at most %d in a package (%s); longest line %d\n",
		len(files), maxFile, len(functions), maxFunction, methods.name, methods.size, arrows, back.size, back.name, line.size)
	size := ""
	if binary != "" {
		info, err := os.Stat(binary)
		if err != nil {
			return err
		}
		size = fmt.Sprintf("%d bytes, ", info.Size())
	}
	fmt.Printf("the program: %s%d lines in %d packages, the largest %s (%d); for tests, generators and tools %d in %d; %d of tests\n",
		size, lines[0], count[0], largest.name, largest.size, lines[1], count[1], tests)
	return nil
}

func tooLong(what string, which []item) {
	slices.SortFunc(which, func(a, b item) int { return b.size - a.size })
	for _, x := range which {
		fmt.Printf("%-24s %s (%d)\n", what, x.name, x.size)
	}
}
