package tables

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/publish"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// upstreamText returns what kubectl prints for a list that arrives in chunks, each a Table.
//
// Upstream: kubectl pkg/cmd/get, GetOptions.Run and TablePrinter.
func upstreamText(chunks [][]byte, kind schema.GroupKind, o publish.TextOptions) (string, error) {
	var out bytes.Buffer
	w := printers.GetNewTabWriter(&out)
	p := printers.NewTablePrinter(printers.PrintOptions{
		NoHeaders: o.NoHeaders, WithNamespace: o.Namespaces, Wide: o.Wide, ShowLabels: o.Labels, ColumnLabels: o.LabelColumns, WithKind: o.ShowKind, Kind: kind,
	})
	for _, chunk := range chunks {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(chunk); err != nil {
			return "", err
		}
		table := &metav1.Table{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, table); err != nil {
			return "", err
		}
		for i := range table.Rows {
			row := &table.Rows[i]
			if row.Object.Raw == nil {
				continue
			}
			var err error
			if row.Object.Object, err = runtime.Decode(unstructured.UnstructuredJSONScheme, row.Object.Raw); err != nil {
				return "", err
			}
		}
		if err := p.PrintObj(table, w); err != nil {
			return "", err
		}
	}
	err := w.Flush()
	return out.String(), err
}

// chunked splits a Table into chunks as a server does.
func chunked(table []byte, size int) ([][]byte, error) {
	var t map[string]json.RawMessage
	if err := json.Unmarshal(table, &t); err != nil {
		return nil, err
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(t["rows"], &rows); err != nil {
		return nil, err
	}
	if size <= 0 {
		size = max(len(rows), 1)
	}
	var chunks [][]byte
	for from := 0; from == 0 || from < len(rows); from += size {
		t["rows"] = text(rows[from:min(from+size, len(rows))])
		chunks = append(chunks, text(t))
	}
	return chunks, nil
}

// textOptions are options for printing a table.
func textOptions(r generate.Rand) publish.TextOptions {
	o := publish.TextOptions{Wide: r.Chance(40), NoHeaders: r.Chance(25), Namespaces: r.Chance(40), Labels: r.Chance(30), ShowKind: r.Chance(20)}
	for r.Chance(20) {
		o.LabelColumns = append(o.LabelColumns, generate.Pick(r, []string{"a", "b", "app.kubernetes.io/name", "missing", "", "x/y/z"}))
	}
	if r.Chance(30) {
		o.ChunkSize = generate.Pick(r, []int{-1, 1, 2, 3, 100, 101, 250})
	}
	return o
}

// compareText prints a Table on both sides. If our own table is given, it is printed too.
func compareText(table []byte, made *publish.Table, kind schema.GroupKind, namespaced bool, o publish.TextOptions) []string {
	ctx := context.Background()
	size := o.ChunkSize
	if size == 0 {
		size = 500 // of kubectl
	}
	chunks, err := chunked(table, size)
	if err != nil {
		return []string{err.Error()}
	}
	masked := o
	masked.Namespaces = o.Namespaces && namespaced // kubectl's PrintWithNamespace
	want, err := upstreamText(chunks, kind, masked)
	if err != nil {
		return []string{"kubectl prints nothing: " + err.Error()}
	}
	var differences []string
	got, err := publish.TableText(ctx, table, kind.String(), masked)
	if err != nil || string(got) != want {
		differences = append(differences, fmt.Sprintf("text of %+v (%v)\nours\n%s\nupstream\n%s", o, err, visible(string(got)), visible(want)))
	}
	if made != nil {
		if got, err = made.Text(ctx, o); err != nil || string(got) != want {
			differences = append(differences, fmt.Sprintf("text of the table itself, %+v (%v)\nours\n%s\nupstream\n%s", o, err, visible(string(got)), visible(want)))
		}
	}
	return differences
}

// visible marks the ends of lines.
func visible(s string) string { return strings.ReplaceAll(s, "\n", "|\n") }

var pieces = []string{"", "a", "Ready", "my-new-cron-object", "x y", "日本語", "é", "a\tb", "\t", "a\vb", "line\nbreak", "cr\rlf", "form\ffeed", "\x1b[31m", "\\r", "<none>", "\u2028", "😀", "&<>", strings.Repeat("long", 20)}

// makeTable returns the n-th table without a CRD: its cells, headings and objects are arbitrary.
func makeTable(seed, n uint64) ([]byte, publish.TextOptions) {
	r := generate.New("tables of texts", seed, n)
	word := func() string {
		s := generate.Pick(r, pieces)
		for r.Chance(20) {
			s += generate.Pick(r, pieces)
		}
		return s
	}
	t := object{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": object{}}
	var columns []any
	for i := range r.Between(1, 6) {
		c := object{"name": word(), "type": "string", "format": "", "description": "", "priority": 0}
		if i == 0 || r.Chance(5) {
			c["format"] = "name"
		}
		if r.Chance(25) {
			c["priority"] = 1
		}
		columns = append(columns, c)
	}
	most := generate.Pick(r, []int{0, 1, 3, 10, 40, 130, 620})
	plain := r.Chance(50)
	rows := []any{}
	for range r.Between(min(most, 1), most) {
		var cells []any
		for range columns {
			switch {
			case columns[len(cells)].(object)["format"] == "name": // always a string
				cells = append(cells, word())
			case plain && r.Chance(85):
				cells = append(cells, fmt.Sprintf("c%d", r.IntN(1000)))
			case r.Chance(60):
				cells = append(cells, word())
			default:
				cells = append(cells, json.RawMessage(generate.Pick(r, []string{"null", "1", "-7", "1.5", "true", "false", "1e21", "100000000", "123456789.5"})))
			}
		}
		row := object{"cells": cells}
		if r.Chance(85) {
			meta := object{"name": "x"}
			if r.Chance(80) {
				meta["namespace"] = word()
			}
			if r.Chance(60) {
				meta["labels"] = object{"a": word(), "app.kubernetes.io/name": "web"}
			}
			row["object"] = object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
		} else {
			row["object"] = nil
		}
		rows = append(rows, row)
	}
	t["columnDefinitions"], t["rows"] = columns, rows
	return text(t), textOptions(r)
}
