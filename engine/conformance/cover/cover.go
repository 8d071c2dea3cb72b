// Package cover reports which statements of upstream a run executed. Agreement means little if the cases execute half
// of the code. Therefore the run is built with coverage of upstream's packages, and prints one line per package.
package cover

import (
	"bufio"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// Package is a package of upstream.
type Package struct {
	Path string
	// Bar is true if the package must reach Share.
	Bar bool
}

// Share is the percentage of reachable statements that a run must execute.
const Share = 95.0

// Packages are those that a run measures. Packages that evaluate objects and CRDs have a bar; the schemas of CRDs are
// only printed.
var Packages = []Package{
	{"k8s.io/kube-openapi/pkg/validation/validate", true},
	{"k8s.io/kube-openapi/pkg/validation/strfmt", true},
	{"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning", true},
	{"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting", true},
	{"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta", true},
	{"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype", true},
	{"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel", true},
	{"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model", true},
	{"k8s.io/apiserver/pkg/cel/common", true},
	{"k8s.io/apiserver/pkg/cel/library", true},
	{"k8s.io/apiextensions-apiserver/pkg/apiserver/validation", true},
	{"k8s.io/apiextensions-apiserver/pkg/registry/customresource", true},
	{"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor", true},
	{"k8s.io/apiextensions-apiserver/pkg/apiserver", false},
	{"k8s.io/apiextensions-apiserver/pkg/apiserver/schema", false},
	{"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation", true},
}

// Flag returns the value of -coverpkg for a binary with the named main package. Go writes no coverage at exit if the
// main package is missing from it.
func Flag(main string) string {
	paths := []string{main}
	for _, p := range Packages {
		paths = append(paths, p.Path)
	}
	return strings.Join(paths, ",")
}

// Block is a sequence of statements.
type Block struct {
	File             string // import path and file name
	From, To         int    // lines
	Statements, Hits int
}

// Load reads the coverage files in a folder.
func Load(dir string) ([]Block, error) {
	profile := filepath.Join(dir, "profile.txt")
	if out, err := exec.CommandContext(context.Background(), "go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+profile).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("read coverage of %s: %w: %s", dir, err, out)
	}
	f, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	merged := map[string]*Block{}
	var order []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "mode:") {
			continue
		}
		b, err := parseBlock(line)
		if err != nil {
			return nil, fmt.Errorf("coverage line %q: %w", line, err)
		}
		key := line[:strings.IndexByte(line, ' ')]
		if m := merged[key]; m != nil {
			m.Hits += b.Hits
			continue
		}
		merged[key] = &b
		order = append(order, key)
	}
	var blocks []Block
	for _, k := range order {
		blocks = append(blocks, *merged[k])
	}
	return blocks, lines.Err()
}

// parseBlock reads file:line.col,line.col statements hits.
func parseBlock(line string) (b Block, err error) {
	fields := strings.Fields(line)
	colon := strings.LastIndexByte(fields[0], ':')
	if colon < 0 || len(fields) != 3 {
		return b, fmt.Errorf("not a profile line")
	}
	b.File = fields[0][:colon]
	from, to, _ := strings.Cut(fields[0][colon+1:], ",")
	for _, v := range []struct {
		into *int
		text string
	}{{&b.From, beforeDot(from)}, {&b.To, beforeDot(to)}, {&b.Statements, fields[1]}, {&b.Hits, fields[2]}} {
		if *v.into, err = strconv.Atoi(v.text); err != nil {
			return b, err
		}
	}
	return b, nil
}

func beforeDot(s string) string { s, _, _ = strings.Cut(s, "."); return s }

// Exclusion is a line of unreachable.txt: a function, a range of lines or a file, and the reason why no case can
// execute it.
type Exclusion struct {
	File, What, Reason string
	lines              [][2]int
}

// Exclusions reads the reviewed list. A line is "file.go what: reason". what is "*", "Name", "Type.Name", "*.Name",
// "12" or "12-15". The file includes its import path.
func Exclusions(r io.Reader) ([]*Exclusion, error) {
	var all []*Exclusion
	dirs := map[string]string{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		head, reason, ok := strings.Cut(line, ": ")
		file, what, ok2 := strings.Cut(head, " ")
		if !ok || !ok2 || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("unreachable.txt:%d: want \"file what: reason\"", n)
		}
		e := &Exclusion{File: file, What: what, Reason: reason}
		if err := e.locate(dirs); err != nil {
			return nil, fmt.Errorf("unreachable.txt:%d: %w", n, err)
		}
		all = append(all, e)
	}
	return all, lines.Err()
}

// locate returns the lines of an exclusion.
func (e *Exclusion) locate(dirs map[string]string) error {
	if e.What == "*" {
		e.lines = [][2]int{{0, 1 << 30}}
		return nil
	}
	from, to, isRange := strings.Cut(e.What, "-")
	if n, err := strconv.Atoi(from); err == nil {
		last := n
		if isRange {
			if last, err = strconv.Atoi(to); err != nil {
				return err
			}
		}
		e.lines = [][2]int{{n, last}}
		return nil
	}
	pkg := path.Dir(e.File)
	dir, ok := dirs[pkg]
	if !ok {
		out, err := exec.CommandContext(context.Background(), "go", "list", "-f", "{{.Dir}}", pkg).Output()
		if err != nil {
			return fmt.Errorf("find %s: %w", pkg, err)
		}
		dir = strings.TrimSpace(string(out))
		dirs[pkg] = dir
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filepath.Join(dir, path.Base(e.File)), nil, 0)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			if hit, _ := path.Match(e.What, funcName(f)); hit {
				e.lines = append(e.lines, [2]int{fset.Position(f.Pos()).Line, fset.Position(f.End()).Line})
			}
		}
	}
	if len(e.lines) == 0 {
		return fmt.Errorf("%s has no function %s", e.File, e.What)
	}
	return nil
}

func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

func (e *Exclusion) holds(b Block) bool {
	for _, l := range e.lines {
		if e.File == b.File && b.From >= l[0] && b.To <= l[1] {
			return true
		}
	}
	return false
}

// Line is the coverage of a package.
type Line struct {
	Package
	Reached, Reachable, Excluded int
	Missed                       []Block
}

// Percent is the percentage of reachable statements that were executed.
func (l Line) Percent() float64 {
	if l.Reachable == 0 {
		return 100
	}
	return 100 * float64(l.Reached) / float64(l.Reachable)
}

// Failed reports whether the package missed its bar.
func (l Line) Failed() bool { return l.Bar && l.Percent() < Share }

// Summarize counts per package. An excluded block that was executed counts as executed.
func Summarize(blocks []Block, exclusions []*Exclusion) []Line {
	var lines []Line
	for _, p := range Packages {
		l := Line{Package: p}
		for _, b := range blocks {
			if path.Dir(b.File) != p.Path {
				continue
			}
			excluded := false
			for _, e := range exclusions {
				excluded = excluded || e.holds(b)
			}
			switch {
			case b.Hits > 0:
				l.Reached += b.Statements
				l.Reachable += b.Statements
			case excluded:
				l.Excluded += b.Statements
			default:
				l.Reachable += b.Statements
				l.Missed = append(l.Missed, b)
			}
		}
		sort.Slice(l.Missed, func(i, j int) bool {
			a, b := l.Missed[i], l.Missed[j]
			return a.File < b.File || a.File == b.File && a.From < b.From
		})
		lines = append(lines, l)
	}
	return lines
}

// Print writes one line per package, and whether each bar was met.
func Print(w io.Writer, lines []Line) (ok bool) {
	ok = true
	for _, l := range lines {
		verdict := "shown"
		if l.Bar {
			verdict = fmt.Sprintf("bar %.0f%%", Share)
			if l.Failed() {
				verdict += " MISSED"
				ok = false
			}
		}
		fmt.Fprintf(w, "reached %5.1f%% of %4d statements, %4d excluded by unreachable.txt  %s (%s)\n", l.Percent(), l.Reachable, l.Excluded, l.Path, verdict)
	}
	return ok
}
