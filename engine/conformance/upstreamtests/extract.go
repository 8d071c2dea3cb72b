package upstreamtests

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// extractor collects declarations of test files.
type extractor struct {
	source   Source
	fset     *token.FileSet
	declared map[string]ast.Node   // functions, types, variables and constants of test files, by name
	methods  map[string][]ast.Node // by receiver
	public   map[string]bool       // exported names of the package
	imports  map[string]string     // path by name
	used     map[string]string     // imports of the output
	written  map[string]bool
	out      bytes.Buffer
}

// program returns a main package that prints the tables in the folder's test files.
func (s Source) program(dir string) ([]byte, error) {
	x := &extractor{source: s, fset: token.NewFileSet(), declared: map[string]ast.Node{}, methods: map[string][]ast.Node{}, public: map[string]bool{},
		imports: map[string]string{}, used: map[string]string{"json": "encoding/json", "os": "os"}, written: map[string]bool{}}
	if err := x.read(dir); err != nil {
		return nil, err
	}
	for name, path := range s.Imports {
		x.used[name] = path
	}
	var body bytes.Buffer
	for _, t := range s.Tables {
		f, ok := x.declared[t.Function].(*ast.FuncDecl)
		if !ok {
			return nil, fmt.Errorf("%s has no test %s", s.Package, t.Function)
		}
		fmt.Fprintf(&body, "\ttable = %q\n", t.Function)
		if t.Variable == "" {
			fmt.Fprintf(&body, "\t%s(&recorder{})\n", t.Function)
			x.need(t.Function)
			continue
		}
		if err := x.table(&body, f, t); err != nil {
			return nil, err
		}
	}
	for _, name := range s.Needs {
		x.need(name)
	}
	for _, name := range sortedKeys(s.Stubs) {
		x.out.WriteString(s.Stubs[name] + "\n\n")
	}
	var file bytes.Buffer
	file.WriteString("package main\n\nimport (\n")
	for _, name := range sortedKeys(x.used) {
		fmt.Fprintf(&file, "\t%s %q\n", name, x.used[name])
	}
	file.WriteString(")\n" + prelude + "func main() {\n" + body.String() + "\ttable = \"\"\n\temit(map[string]any{})\n\t" + s.Last + "\n}\n\n" + x.out.String())
	return file.Bytes(), nil
}

// prelude is part of every program: emit writes rows, and recorder is a testing.T that continues after failures.
const prelude = `
var table string

func emit(row map[string]any) {
	row["Table"] = table
	if err := json.NewEncoder(os.Stdout).Encode(row); err != nil {
		panic(err)
	}
}

type recorder struct{}

func (r *recorder) Run(_ string, f func(*recorder)) bool { f(r); return true }
func (*recorder) Parallel()             {}
func (*recorder) Helper()               {}
func (*recorder) Cleanup(func())        {}
func (*recorder) Errorf(string, ...any) {}
func (*recorder) Fatalf(string, ...any) {}
func (*recorder) Error(...any)          {}
func (*recorder) Fatal(...any)          {}

`

// read parses the folder: declarations of test files, and exported names of the others.
func (x *extractor) read(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go")) // sorted
	if err != nil {
		return err
	}
	for _, name := range names {
		file, err := parser.ParseFile(x.fset, name, nil, 0)
		if err != nil {
			return err
		}
		x.file(file, strings.HasSuffix(name, "_test.go"))
	}
	return nil
}

func (x *extractor) file(f *ast.File, test bool) {
	if test {
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			name := path[strings.LastIndexByte(path, '/')+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			x.imports[name] = path
		}
	}
	declare := func(name string, n ast.Node) {
		if test {
			x.declared[name] = n
		} else if ast.IsExported(name) {
			x.public[name] = true
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				declare(d.Name.Name, d)
			} else if test {
				t := receiver(d)
				x.methods[t] = append(x.methods[t], d)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					declare(spec.Name.Name, &ast.GenDecl{Tok: token.TYPE, Specs: []ast.Spec{spec}})
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						declare(n.Name, &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{spec}})
					}
				}
			}
		}
	}
}

func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// table writes a table's variable and the loop over its rows.
func (x *extractor) table(body *bytes.Buffer, f *ast.FuncDecl, t Table) error {
	var before []ast.Stmt
	for _, s := range f.Body.List {
		assign, ok := s.(*ast.AssignStmt)
		if !ok || assign.Tok != token.DEFINE {
			if d, ok := s.(*ast.DeclStmt); ok {
				before = append(before, d)
			}
			continue
		}
		id, _ := assign.Lhs[0].(*ast.Ident)
		if id == nil || id.Name != t.Variable {
			before = append(before, s)
			continue
		}
		t.cut(assign)
		body.WriteString("\tfunc() {\n" + t.Setup + "\n")
		for _, b := range before {
			if refers(assign, b) {
				x.write(body, b)
				body.WriteByte('\n')
			}
		}
		x.write(body, assign)
		fmt.Fprintf(body, "\n\tfor _, row := range %s {\n\t\temit(map[string]any{", t.Variable)
		for _, c := range sortedKeys(t.Columns) {
			fmt.Fprintf(body, "%q: %s, ", c, t.Columns[c])
		}
		body.WriteString("})\n\t}\n\t}()\n")
		return nil
	}
	return fmt.Errorf("%s.%s has no variable %s", x.source.Package, t.Function, t.Variable)
}

// refers reports whether n uses a name that s defines.
func refers(n ast.Node, s ast.Stmt) bool {
	defined := map[string]bool{}
	if a, ok := s.(*ast.AssignStmt); ok {
		for _, l := range a.Lhs {
			if id, ok := l.(*ast.Ident); ok {
				defined[id.Name] = true
			}
		}
	}
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && defined[id.Name] {
			found = true
		}
		return !found
	})
	return found
}

// cut removes the fields that no column uses from the type and from the rows. Rows without field names keep all.
func (t Table) cut(a *ast.AssignStmt) {
	literal, ok := a.Rhs[0].(*ast.CompositeLit)
	if !ok {
		return
	}
	keep := map[string]bool{}
	for _, k := range t.Keep {
		keep[k] = true
	}
	for _, c := range t.Columns {
		for _, word := range strings.FieldsFunc(c, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.", r)
		}) {
			if field, ok := strings.CutPrefix(word, "row."); ok {
				field, _, _ = strings.Cut(field, ".")
				keep[field] = true
			}
		}
	}
	slice, _ := literal.Type.(*ast.ArrayType)
	if slice == nil {
		return
	}
	if s, ok := slice.Elt.(*ast.StructType); ok {
		var fields []*ast.Field
		for _, f := range s.Fields.List {
			var names []*ast.Ident
			for _, n := range f.Names {
				if keep[n.Name] {
					names = append(names, n)
				}
			}
			if f.Names = names; len(names) > 0 {
				f.Doc, f.Comment = nil, nil
				fields = append(fields, f)
			}
		}
		s.Fields.List = fields
	}
	for _, e := range literal.Elts {
		row, ok := e.(*ast.CompositeLit)
		if !ok || len(row.Elts) == 0 {
			continue
		}
		if _, named := row.Elts[0].(*ast.KeyValueExpr); !named {
			continue
		}
		var kept []ast.Expr
		for _, e := range row.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && keep[kv.Key.(*ast.Ident).Name] {
				kept = append(kept, e)
			}
		}
		row.Elts = kept
	}
}

// need writes a declaration of a test file, once, with its methods.
func (x *extractor) need(name string) {
	if x.written[name] || x.source.Stubs[name] != "" {
		return
	}
	x.written[name] = true
	nodes := append([]ast.Node{x.declared[name]}, x.methods[name]...)
	for _, n := range nodes {
		if g, ok := n.(*ast.GenDecl); ok {
			if v, ok := g.Specs[0].(*ast.ValueSpec); ok {
				for _, other := range v.Names {
					x.written[other.Name] = true
				}
			}
		}
		var b bytes.Buffer
		x.write(&b, n)
		x.out.Write(b.Bytes())
		x.out.WriteString("\n\n")
	}
}

// write prints a node, after everything that it refers to.
func (x *extractor) write(to *bytes.Buffer, n ast.Node) {
	keys := map[*ast.Ident]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if id, ok := kv.Key.(*ast.Ident); ok {
						if _, isMap := n.Type.(*ast.MapType); !isMap {
							keys[id] = true
						}
					}
				}
			}
		case *ast.SelectorExpr:
			keys[n.Sel] = true
			if p, ok := n.X.(*ast.Ident); ok && p.Obj == nil {
				if p.Name == "testing" {
					break
				}
				if path := x.imports[p.Name]; path != "" {
					x.used[p.Name] = path
				}
			}
		case *ast.Ident:
			if keys[n] {
				break
			}
			switch {
			case x.source.Stubs[n.Name] != "":
			case x.declared[n.Name] != nil && (n.Obj == nil || n.Obj.Decl != nil && topLevel(n.Obj.Decl)):
				x.need(n.Name)
			case n.Obj == nil && x.public[n.Name]:
				x.used["upstream"] = x.source.Package
				n.Name = "upstream." + n.Name
			}
		}
		return true
	})
	var b bytes.Buffer
	if err := printer.Fprint(&b, x.fset, n); err != nil {
		panic(err) // a parsed tree is printable
	}
	to.WriteString(strings.ReplaceAll(b.String(), "testing.T", "recorder"))
}

// topLevel reports whether the object is declared in a file and not in a function.
func topLevel(decl any) bool {
	switch decl.(type) {
	case *ast.FuncDecl, *ast.TypeSpec, *ast.ValueSpec:
		return true
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
