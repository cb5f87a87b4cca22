package pattern

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each pattern of the program compiles: a mistake in one would otherwise end the program at its first use.
func TestPatterns(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == "node_modules" || d.Name() == "build" || d.Name() == "bin" || len(d.Name()) > 2 && d.Name()[0] == '.') {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			of, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || of.Sel.Name != "New" || fmt.Sprint(of.X) != "pattern" {
				return true
			}
			seen++
			if expr, err := written(call.Args[0]); err != nil {
				t.Errorf("%s: %v", path, err)
			} else if _, err := regexp.Compile(expr); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Errorf("%d patterns were found; there are more", seen)
	}
}

// written is the text of a string that is written out.
func written(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.BinaryExpr:
		left, err := written(e.X)
		if err != nil {
			return "", err
		}
		right, err := written(e.Y)
		return left + right, err
	}
	return "", fmt.Errorf("a pattern is written out, not made of %T", e)
}

// A pattern is compiled once.
func TestNew(t *testing.T) {
	digits := New(`^[0-9]+$`)
	if first, second := digits(), digits(); !first.MatchString("42") || first.MatchString("x") || first != second {
		t.Error("it does not match, or is compiled twice")
	}
}
