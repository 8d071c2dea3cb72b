package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reference is what go doc shows of a package: its names, and the comments about them.
type reference struct {
	name     string
	members  map[string][]string // the fields and methods of each type; for another name, an empty list
	embedded map[string][]string // the types in the structs of the package, by type
	aliases  map[string]string   // directory and name of the type that an alias is: internal/tree.Text
	comments map[string]string   // by name, with those of members; "" is the package
}

// references are the packages that were read, by their directory below engine.
type references map[string]*reference

// of reads the package in a directory, once.
func (all references) of(t *testing.T, dir string) *reference {
	t.Helper()
	if all[dir] != nil {
		return all[dir]
	}
	r := &reference{
		members: map[string][]string{}, embedded: map[string][]string{}, aliases: map[string]string{}, comments: map[string]string{},
	}
	all[dir] = r
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		r.name = file.Name.Name
		r.comments[""] += file.Doc.Text()
		for _, d := range file.Decls {
			r.add(file, d)
		}
	}
	return r
}

func (r *reference) add(file *ast.File, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		of, name := "", d.Name.Name
		if d.Recv != nil {
			of = typeName(d.Recv.List[0].Type)
		}
		switch {
		case !ast.IsExported(name):
		case of == "":
			r.members[name] = []string{}
			r.comments[name] += d.Doc.Text()
		default:
			r.members[of] = append(r.members[of], name)
			r.comments[of] += d.Doc.Text()
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					r.members[name.Name] = []string{}
					r.comments[name.Name] += d.Doc.Text() + s.Doc.Text() + s.Comment.Text()
				}
			case *ast.TypeSpec:
				r.comments[s.Name.Name] += d.Doc.Text() + s.Doc.Text()
				r.addType(file, s)
			}
		}
	}
}

func (r *reference) addType(file *ast.File, s *ast.TypeSpec) {
	name, fields := s.Name.Name, &ast.FieldList{}
	members := r.members[name] // the methods in files before this one
	switch of := s.Type.(type) {
	case *ast.StructType:
		fields = of.Fields
	case *ast.InterfaceType:
		fields = of.Methods
	case *ast.SelectorExpr:
		if s.Assign != 0 {
			r.aliases[name] = directoryOf(file, typeName(of.X)) + "." + of.Sel.Name
		}
	}
	for _, f := range fields.List {
		for _, n := range f.Names {
			members = append(members, n.Name)
		}
		if f.Names == nil {
			members = append(members, typeName(f.Type))
			r.embedded[name] = append(r.embedded[name], typeName(f.Type))
		}
		r.comments[name] += f.Doc.Text() + f.Comment.Text()
	}
	r.members[name] = members
}

// typeName returns the name of a type without its package.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return typeName(e.X)
	}
	return ""
}

// directoryOf returns the directory of an imported package of the engine, "" for another one.
func directoryOf(file *ast.File, name string) string {
	for _, i := range file.Imports {
		p, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"engine/")
		if ok && path.Base(p) == name {
			return p
		}
	}
	return ""
}

// has returns the members of a name of a package. It follows aliases.
func (all references) has(t *testing.T, dir, name string) (members []string, ok bool) {
	t.Helper()
	r := all.of(t, dir)
	if from, original, isAlias := strings.Cut(r.aliases[name], "."); isAlias && from != "" {
		return all.has(t, from, original)
	}
	members, ok = r.members[name]
	for _, of := range r.embedded[name] {
		members = slices.Concat(members, r.members[of])
	}
	return members, ok
}

// readPublic reads the public packages.
func readPublic(t *testing.T) references {
	t.Helper()
	all := references{}
	err := fs.WalkDir(os.DirFS("."), ".", func(dir string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
			return err
		case slices.Contains([]string{"internal", "conformance", "testenv", "testdata"}, e.Name()):
			return fs.SkipDir
		}
		all.of(t, dir)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAliases: go doc shows neither the fields nor the methods of an alias, so the comment names them. Methods of the
// interfaces error and fmt.Stringer are not named.
func TestAliases(t *testing.T) {
	all, checked := readPublic(t), 0
	for _, dir := range slices.Sorted(maps.Keys(all)) { // without those that has reads
		r := all[dir]
		for name, of := range r.aliases {
			from, original, _ := strings.Cut(of, ".")
			if !strings.HasPrefix(from, "internal/") {
				continue
			}
			members, _ := all.has(t, from, original)
			for _, member := range members {
				if !ast.IsExported(member) || slices.Contains([]string{"Error", "Unwrap", "String"}, member) {
					continue
				}
				if checked++; !regexp.MustCompile(`\b` + member + `\b`).MatchString(r.comments[name]) {
					t.Errorf("%s.%s: the comment does not name %s", dir, name, member)
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d fields and methods were found", checked)
	}
}

var (
	qualified = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	ofType    = regexp.MustCompile(`(?:^|[^\w.])([A-Z]\w*[a-z]\w*)\.([A-Z]\w*[a-z]\w*)`)
)

// TestCitations: the names that comments cite exist: package.Name and package.Type.Member of public packages, and
// Type.Member of the package itself.
func TestCitations(t *testing.T) {
	all, dirs, checked := readPublic(t), map[string]string{}, 0
	for dir, r := range all {
		dirs[r.name] = dir
	}
	check := func(by, dir, name, member string) {
		checked++
		if members, ok := all.has(t, dir, name); !ok || member != "" && !slices.Contains(members, member) {
			t.Errorf("the comment of %s cites %s.%s", by, name, member)
		}
	}
	for _, dir := range dirs {
		for name, comment := range all[dir].comments {
			by := dir + "." + name
			for _, m := range qualified.FindAllStringSubmatch(comment, -1) {
				if of, public := dirs[m[1]]; public {
					check(by, of, m[2], m[3])
				}
			}
			for _, m := range ofType.FindAllStringSubmatch(comment, -1) {
				check(by, dir, m[1], m[2])
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d citations were found", checked)
	}
}
