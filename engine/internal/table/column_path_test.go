package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	ourpath "github.com/crdeval/crdeval/engine/internal/jsonpath"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// kinds lists the types of columns.
var kinds = []string{"string", "integer", "number", "boolean", "date"}

// upstreamCells returns the JSON cells that upstream's evaluator gives for one column and a sequence of objects. The
// last one is "panic" if upstream panics.
func upstreamCells(path, kind string, objects []map[string]any) (cells []string) {
	j := jsonpath.New("column")
	if j.Parse("{"+path+"}") != nil {
		return nil
	}
	j.AllowMissingKeys(true)
	defer func() {
		if recover() != nil {
			cells = append(cells, "panic")
		}
	}()
	for _, o := range objects {
		var cell any
		results, err := j.FindResults(o)
		if err == nil && len(results) > 0 && len(results[0]) > 0 {
			v := results[0][0].Interface()
			if kind == "string" {
				var text bytes.Buffer
				if j.PrintResults(&text, []reflect.Value{reflect.ValueOf(v)}) == nil {
					cell = text.String()
				}
			} else {
				cell = upstreamCell(kind, v)
			}
		}
		cells = append(cells, normal(cell))
	}
	return cells
}

// normal returns a cell parsed and printed again, because escapes may differ.
func normal(cell any) string {
	text, err := json.Marshal(cell)
	if err == nil {
		err = utiljson.Unmarshal(text, &cell)
	}
	if err == nil {
		text, err = json.Marshal(cell)
	}
	if err != nil {
		panic(err)
	}
	return string(text)
}

func upstreamCell(kind string, v any) any {
	switch v := v.(type) {
	case int64:
		switch kind {
		case "integer":
			return v
		case "number":
			return float64(v)
		}
	case float64:
		switch kind {
		case "integer":
			return int64(v)
		case "number":
			return v
		}
	case bool:
		if kind == "boolean" {
			return v
		}
	case string:
		if kind == "date" {
			return upstreamAge(v)
		}
	}
	return nil
}

func upstreamAge(text string) string {
	var t metav1.Time
	switch err := t.UnmarshalQueryParameter(text); {
	case err != nil:
		return "<invalid>"
	case t.IsZero():
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(t.Time))
}

// ourCells returns the cells of this package. limited is set if a bound was exceeded.
func ourCells(t *testing.T, path, kind string, objects []string, visits int) (cells []string, limited bool) {
	t.Helper()
	c := CompileColumns([]apiextensionsv1.CustomResourceColumnDefinition{{Name: "column", Type: kind, JSONPath: path}})
	rows := c.NewRows(Target{}, now)
	if len(c.columns) == 0 {
		return nil, c.fault != nil
	}
	for _, text := range objects {
		d := tree.Acquire()
		root, err := d.ParseJSON([]byte(text), tree.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		rows.begin(d, nil)
		rows.paths.Begin(d, nil, visits)
		row, err := rows.appendCells(nil, root)
		d.Release()
		switch {
		case err != nil && errors.As(err, new(Rejection)):
			return append(cells, "panic"), false
		case err != nil:
			return nil, true
		}
		var got struct {
			Cells []any `json:"cells"`
		}
		if err := utiljson.Unmarshal(append(row, '}'), &got); err != nil {
			t.Fatalf("%s: %s: %v", path, row, err)
		}
		cells = append(cells, normal(got.Cells[1]))
	}
	rows.Release()
	return cells, false
}

// agree compares the cells with upstream's, which vary if the order of a Go map matters.
func agree(t *testing.T, path, kind string, objects []string, visits int) {
	t.Helper()
	var decoded []map[string]any
	for _, o := range objects {
		var m map[string]any
		if err := utiljson.Unmarshal([]byte(o), &m); err != nil {
			t.Skip("no object")
		}
		decoded = append(decoded, m)
	}
	got, limited := ourCells(t, path, kind, objects, visits)
	if limited {
		return
	}
	seen, tries := map[string]bool{}, 1
	if strings.Contains(path, "*") || strings.Contains(path, "..") {
		tries = 200
	}
	for try := 0; try < tries || len(seen) > 1 && try < 1000; try++ {
		want := upstreamCells(path, kind, decoded)
		if reflect.DeepEqual(got, want) {
			return
		}
		seen[fmt.Sprintf("%q", want)] = true
	}
	if len(seen) > 20 { // too many orders to hit ours
		return
	}
	t.Errorf("%s column {%s} of %s\nours     %q\nupstream %v", kind, path, strings.Join(objects, " "), got, seen)
}

// sample has a value of every kind.
const sample = `{"metadata":{"name":"x","labels":{"app.kubernetes.io/name":"web"},"creationTimestamp":"2026-11-20T12:00:00Z"},
"spec":{"replicas":3,"ratio":1.5,"big":1e300,"large":12345678.9,"whole":2.0,"on":true,"off":false,"none":null,"empty":"","text":"a<b>&\u2028 é","list":[1,2,3,4,5],"nulls":[null,1],"none-list":[],
"mixed":[1,"a",null,true,1.5,[1,2],{"a":1}],"items":[{"a":1,"b":"x","t":"Ready","s":"True"},{"a":2,"b":"y","t":"Synced","s":"False"},{"a":3,"t":"Ready","s":"Unknown"}],
"nested":[[1,2],[3,4],[]],"deep":{"a":{"b":{"c":[{"d":1}]}}},"min":-9223372036854775808,"max":9223372036854775807,"date":"2020-02-30T00:00:00Z","zero":"0001-01-01T00:00:00Z"}}`

// paths lists common and unusual paths of columns.
var paths = []string{
	".spec.replicas", ".spec.ratio", ".spec.big", ".spec.large", ".spec.whole", ".spec.on", ".spec.off", ".spec.none", ".spec.empty", ".spec.text", ".spec.list", ".spec.deep", ".spec.min",
	".spec.max", ".spec.date", ".spec.zero", ".metadata.creationTimestamp", ".spec.missing", ".spec.replicas.x", ".spec.none.x", ".", "", "..", ".*", "$.spec.replicas", "@.spec.replicas", "spec", ".spec.", ".spec..",
	".spec['replicas']", ".metadata.labels['app\\.kubernetes\\.io/name']", ".metadata.labels.app\\.kubernetes\\.io/name", ".metadata.labels['app.kubernetes.io/name']", `.spec["replicas"]`,
	".spec.list[0]", ".spec.list[-1]", ".spec.list[-5]", ".spec.list[-6]", ".spec.list[5]", ".spec.list[*]", ".spec.list[1:3]", ".spec.list[:2]", ".spec.list[3:]", ".spec.list[::2]", ".spec.list[4:1]",
	".spec.list[1:1]", ".spec.list[-2:]", ".spec.list[:-1]", ".spec.list[0:5:0]", ".spec.list[0:5:-1]", ".spec.list[0:9]", ".spec.list[]", ".spec.list[1,2]", ".spec.list[0,7]", ".spec['replicas','ratio']",
	".spec.none-list[0]", ".spec.none-list[*]", ".spec.nulls[0]", ".spec.nulls[*]", ".spec.mixed[*]", ".spec.mixed[2].a", ".spec.mixed[*].a", ".spec.nested[*][0]", ".spec.nested[*][*]", ".spec.nested[2][0]",
	".spec.nested[*][1:]", ".spec.replicas[0]", ".spec.text[0]", ".spec.text.*", ".spec.text..", ".spec.none[0]", ".spec.none.*", ".spec.none..",
	`.spec.items[?(@.t=="Ready")].s`, `.spec.items[?(@.t=='Ready')].s`, `.spec.items[?(@.a>1)].b`, ".spec.items[?(@.a>=3)].t", ".spec.items[?(@.a<2)].t", ".spec.items[?(@.a<=2)].t", ".spec.items[?(@.a!=1)].t",
	".spec.items[?(@.b)].t", ".spec.items[?(@.b==@.t)].t", ".spec.items[?(@.a==1.0)].t", ".spec.items[?(@.a==1.5)].t", ".spec.items[?(@.missing==1)].t", ".spec.items[?(@.a=1)].t", ".spec.items[?(@.a===1)].t",
	".spec.items[?(@.a=='1')].t", ".spec.items[?(@.a==true)].t", ".spec.mixed[?(@==1)]", ".spec.mixed[?(@)]", ".spec.mixed[?(@.a)]", ".spec.mixed[?(@.a[5])]", ".spec.nested[?(@[0]==3)]", ".spec.nested[?(@[0]>0)]",
	".spec.nested[?(@[7])]", ".spec.nested[?(@[0,1]>0)]", ".spec.list[?(@>2)]", ".spec.list[?(3<@)]", ".spec.list[?(@ > 2)]", ".spec.nulls[?(@==null)]", ".spec.deep[?(@.a)]", ".spec.none[?(@.a)]",
	".spec.mixed[?(@ != 'a')]", ".spec.items[*].a", ".spec.items.*.a", "..replicas", "..d", "..c[0].d", ".spec..d", ".spec.deep..", ".spec.deep.*", ".spec.deep.a.*.c", ".spec.deep..c", "..a", "..", "...", "..[0]", "..*",
	".spec.list..", ".spec.items[0]..", "}text{.spec.replicas", ".spec.replicas}{.spec.ratio", ".spec.missing}{.spec.ratio", ".spec.replicas}{.spec.list[9]", `"text"`, "'text'", "1", "1.5", "true", "false", "-3", "+3", "1 2", `"a" .spec`,
	`.spec "a".*`, `.spec "a"..`, ".spec 1", ".spec.list[*] 7", ".spec.list[*] true", ".spec.list[*] 1.5", ".spec.missing 1", `"2026-11-21T11:00:00Z"`, `"null"`, `""`, `"\xff"`, `'a\'b'`,
	"range .spec.list[*]}{@}{end", "}{range .spec.list[*]}{@}{end", ".spec.replicas}{range .spec.list[*]}{@}{end", ".spec.replicas}{range .spec.items[*]}{.a}{end}{.metadata.name", ".x}{range .spec.none-list[*]}{.a}{end}{.metadata.name",
	"range .spec.nested[*]}{range @[*]}{@}{end}{end", ".x}{range .spec.nested[*]}{range @[*]}{@}{end}{end}{.metadata.name", ".x}{range .spec.nulls[*]}{@}{end", "range .spec.nulls[*]}{@}{end", "range .missing[*]}{[0]}{end", "end", ".x}{end",
	".spec.list[?(range)]", ".spec.replicas}{.spec.list[?(range)]}{@}{end", "range", "word", ".spec word", "range .spec.list[*]", "range range .spec.list[*]}{end}{end", ".spec.list[?(@.a==1)].b}{range .x}{end",
	"[0]", "[*]", "['spec'].replicas", "[", "]", ".[", ".x[a]", ".x[1", "..*..", "..*..*.x", "*", ".x y", ".x\ty", ".x\ny", ".x\\ y", ".a,b", ".a$b", ".a@b", ".é", "{", "}", "{}", ".x}{", "#",
}

func TestPathsAsUpstream(t *testing.T) {
	second := strings.Replace(sample, `"replicas":3`, `"replicas":7`, 1)
	for _, path := range paths {
		for _, kind := range kinds {
			agree(t, path, kind, []string{sample}, ourpath.MaxVisits)
			agree(t, path, kind, []string{sample, `{"spec":{"list":[9],"nested":[[8]],"items":[]}}`, second, sample}, ourpath.MaxVisits)
		}
	}
}

// FuzzPath compares paths over trees with client-go's evaluation over maps.
func FuzzPath(f *testing.F) {
	for i, path := range paths {
		f.Add(path, sample, uint8(i))
	}
	f.Add(".a[?(@.b)].c", `{"a":[{"b":1,"c":2}],"a":[{"b":null,"c":3}]}`, uint8(0))
	f.Fuzz(func(t *testing.T, path, object string, kind uint8) {
		d := tree.Acquire()
		root, err := d.ParseJSON([]byte(object), tree.Limits{})
		ok := err == nil && d.Nodes[root].Kind == tree.Object && len(object) < 4<<10 && len(path) < 200
		d.Release()
		if ok {
			agree(t, path, kinds[int(kind)%len(kinds)], []string{object, object}, 4<<10)
		}
	})
}
