package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestLimitsAreNamed: every limit has a name of its own, which callers find in the documentation.
func TestLimitsAreNamed(t *testing.T) {
	quirks, err := os.ReadFile("../docs/quirks.md")
	if err != nil {
		t.Fatal(err)
	}
	const published = " max_document_bytes max_document_depth max_alias_bytes " // those of GetServerInfo, about reading a document
	found := 0
	look := func(at string, name ast.Expr) {
		lit, ok := name.(*ast.BasicLit)
		if !ok {
			t.Errorf("%s: a limit without a name", at)
			return
		}
		text, _ := strconv.Unquote(lit.Value)
		found++
		if !strings.Contains(string(quirks), "`"+text+"`") && !strings.Contains(published, " "+text+" ") {
			t.Errorf("%s: docs/quirks.md does not have %s", at, text)
		}
	}
	walk := func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "conformance":
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			made, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			at := set.Position(made.Pos()).String()
			switch typ := made.Type.(type) {
			case *ast.SelectorExpr:
				if typ.Sel.Name == "LimitError" {
					look(at, named(made))
				}
			case *ast.Ident:
				switch {
				case typ.Name == "LimitError":
					look(at, named(made))
				case typ.Name == "most" && strings.HasPrefix(path, filepath.Join("internal", "rule")):
					look(at, made.Elts[0])
				}
			}
			return true
		})
		return nil
	}
	for _, root := range []string{"."} {
		if err := filepath.WalkDir(root, walk); err != nil {
			t.Fatal(err)
		}
	}
	if found < 25 {
		t.Errorf("%d limits: this test looks for them in the wrong places", found)
	}
}

// named is the Name of a LimitError; m.name of a call's limits in rules counts as one.
func named(made *ast.CompositeLit) ast.Expr {
	for _, e := range made.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Name" {
				if _, ok := pair.Value.(*ast.SelectorExpr); ok {
					return &ast.BasicLit{Kind: token.STRING, Value: `"max_rule_text_bytes"`}
				}
				return pair.Value
			}
		}
	}
	return nil
}
