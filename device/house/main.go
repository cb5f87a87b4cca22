// Command house counts what a reader has to hold in the head: packages by files and lines, the longest file and function, the type
// with most methods, and the arrows between the files of a package that run back up.
//
//	house          the sums, on one line
//	house -v       each package, and what is longest
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
	"path/filepath"
	"slices"
	"strings"
)

type file struct {
	name  string
	lines int
	uses  map[string]bool // names
}

type pkg struct {
	dir          string
	files        []file
	lines, tests int
	home         map[string]string // name to the file that declares it; "": several do
	methods      map[string]int    // by type
	longest      string            // function
	most         int
}

func main() {
	each := flag.Bool("v", false, "each package")
	flag.Parse()
	all, err := read(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	report(*each, all)
}

func read(root string) (all []*pkg, err error) {
	of := map[string]*pkg{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "bin" || d.Name() == "build"):
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
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := file{name: filepath.Base(path), lines: lines, uses: map[string]bool{}}
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
			if n := set.Position(d.End()).Line - set.Position(d.Pos()).Line + 1; n > p.most {
				p.most, p.longest = n, f.name+" "+d.Name.Name
			}
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

func report(each bool, all []*pkg) {
	slices.SortFunc(all, func(a, b *pkg) int { return b.lines - a.lines })
	lines, tests, back, worst := 0, 0, 0, 0
	longFiles, longFuncs, typeMost, typeName := 0, 0, 0, ""
	if each {
		fmt.Printf("%-34s %6s %6s %6s %6s  %s\n", "package", "files", "lines", "tests", "back", "longest file, function; most methods")
	}
	for _, p := range all {
		lines, tests = lines+p.lines, tests+p.tests
		b := p.backward()
		back, worst = back+b, max(worst, b)
		longest, most, of := file{}, 0, ""
		for _, f := range p.files {
			if f.lines > longest.lines {
				longest = f
			}
			if f.lines > 450 {
				longFiles++
			}
		}
		for t, n := range p.methods {
			if n > most || n == most && t < of {
				most, of = n, t
			}
		}
		if most > typeMost {
			typeMost, typeName = most, p.dir+"."+of
		}
		if p.most > 90 {
			longFuncs++
		}
		if each && p.lines > 0 {
			fmt.Printf("%-34s %6d %6d %6d %6d  %s %d, %s %d; %s %d\n", p.dir, len(p.files), p.lines, p.tests, b, longest.name, longest.lines, p.longest, p.most, of, most)
		}
	}
	fmt.Printf("%d packages, %d lines and %d of tests; largest %s (%d); %d files over 450 lines, %d packages with a function over 90; most methods %s (%d); arrows back up %d, at most %d in a package\n",
		len(all), lines, tests, all[0].dir, all[0].lines, longFiles, longFuncs, typeName, typeMost, back, worst)
}
