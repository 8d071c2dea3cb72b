package table

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

var twoColumns = []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}, {Name: "B", Type: "string"}}

func textOf(t *testing.T, rows []string, o TextOptions) string {
	t.Helper()
	o.MaxBytes = 1 << 20
	text, err := Text(twoColumns, len(rows), func(i int) []byte { return []byte(rows[i]) }, "", o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTextWidths checks that a chunk is as wide as its widest cells or those printed earlier.
func TestTextWidths(t *testing.T) {
	row := func(a, b string) string { return fmt.Sprintf(`{"cells":[%q,%q],"object":null}`, a, b) }
	got := textOf(t, []string{row("a", "1"), row("wide-name", "2"), row("much-wider-name", "3"), row("日本", "4")}, TextOptions{ChunkSize: 2})
	const want = `NAME              B
a                 1
wide-name         2
much-wider-name   3
日本                4
`
	if got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	var many []string
	for i := range 205 {
		many = append(many, row(fmt.Sprintf("n%d", i), "x"))
	}
	many = append(many, row(strings.Repeat("long", 10), "y"))
	// narrow is the number of lines printed before the wide one is known.
	for chunk, narrow := range map[int]int{0: 0, -1: 0, 205: 201, 100: 201, 150: 101, 250: 0} {
		for i, line := range strings.Split(strings.TrimSuffix(textOf(t, many, TextOptions{ChunkSize: chunk}), "\n"), "\n") {
			if wide := len(line) == 44; wide != (i >= narrow) { // widest name, three spaces, one letter
				t.Errorf("chunks of %d, line %d: %q", chunk, i, line)
				break
			}
		}
	}
}

// TestTextOddCells checks cells with line breaks and terminal escapes.
func TestTextOddCells(t *testing.T) {
	for cell, want := range map[string]string{
		`"a\nb"`: "a...", `"\fb"`: "...", `"a\u001b\rb"`: "a^[...", `"\u001b[31m\u001b"`: "^[[31m^[", `"a\tb"`: "a     b", "null": "", "1.0": "1", "1e21": "1e+21", "true": "true", `["a",{"b":1}]`: `[a map[b:1]]`,
	} {
		got := textOf(t, []string{`{"cells":["x",` + cell + `]}`}, TextOptions{NoHeaders: true, ChunkSize: -1})
		if line := strings.TrimSuffix(got, "\n"); strings.TrimPrefix(line, "x     ") != want {
			t.Errorf("%s: %q, want %q", cell, line, want)
		}
	}
	for _, broken := range []string{"", "{", `{"cells":[}`} {
		if _, err := Text(twoColumns, 1, func(int) []byte { return []byte(broken) }, "", TextOptions{MaxBytes: 100}, nil); err == nil {
			t.Errorf("%q was printed", broken)
		}
	}
	done := make(chan struct{})
	close(done)
	if _, err := Text(twoColumns, 1, func(int) []byte { return []byte("{}") }, "", TextOptions{MaxBytes: 100}, interrupt.On(done)); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
}

// TestTextBound checks TextOptions.MaxBytes with a long cell that widens its column.
func TestTextBound(t *testing.T) {
	rows := []string{`{"cells":["` + strings.Repeat("x", 1000) + `","y"]}`, `{"cells":["x","y"]}`}
	for most, ok := range map[int]bool{0: true, 1: false, 2999: false, 3015: true, 1 << 20: true} {
		text, err := Text(twoColumns, 2, func(i int) []byte { return []byte(rows[i]) }, "", TextOptions{MaxBytes: most}, nil)
		var limit *tree.LimitError
		if ok != (err == nil) || !ok && (!errors.As(err, &limit) || text != nil) {
			t.Errorf("%d bytes: %v, %d", most, err, len(text))
		}
	}
}

// TestRowsAllocateNothing checks that rows of common columns do not allocate.
func TestRowsAllocateNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector, which short runs are for, pools forget at random")
	}
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON([]byte(sample), tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	columns := CompileColumns([]apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "a", Type: "integer", JSONPath: ".spec.replicas"}, {Name: "b", Type: "string", JSONPath: `.spec.items[?(@.t=="Ready")].s`}, {Name: "c", Type: "string", JSONPath: ".spec.list"},
		{Name: "d", Type: "date", JSONPath: ".metadata.creationTimestamp"}, {Name: "e", Type: "number", JSONPath: ".spec.list[-1]"}, {Name: "f", Type: "boolean", JSONPath: ".spec.on"},
	})
	row := make([]byte, 0, 1000)
	if n := testing.AllocsPerRun(100, func() {
		if row, err = columns.AppendRow(row[:0], d, root, now, nil); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzText checks that any table prints without escape characters from its cells.
func FuzzText(f *testing.F) {
	f.Add("NAME", `{"cells":["a","b\nc"],"object":{"metadata":{"namespace":"d","labels":{"x":"y"}}}}`, uint8(0))
	f.Add("A\tB", `{"cells":["\u001b",null,3],"object":null}`, uint8(255))
	f.Fuzz(func(t *testing.T, heading, row string, flags uint8) {
		columns := []metav1.TableColumnDefinition{{Name: heading, Type: "string", Format: "name", Priority: int32(flags >> 7)}, twoColumns[1]}
		o := TextOptions{Wide: flags&1 != 0, NoHeaders: flags&2 != 0, Namespaces: flags&4 != 0, Labels: flags&8 != 0, ChunkSize: int(flags&16) / 16, MaxBytes: 1 << 20}
		if flags&32 != 0 {
			o.LabelColumns, o.ShowKind = []string{"x", "a/b", "c"}, true
		}
		text, err := Text(columns, 3, func(int) []byte { return []byte(row) }, "CronTab.example.com", o, nil)
		if err == nil && strings.ContainsRune(string(text), '\x1b') && !strings.Contains(heading+row, "\x1b") && !o.Labels && !strings.Contains(row, "metadata") {
			t.Errorf("%q", text)
		}
	})
}
