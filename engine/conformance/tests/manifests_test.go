package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// pieces are parts of texts with manifests, in which readers differ.
var pieces = []string{
	"---\n", "---\n", "--- # c\n", "---\r\n", "--- {d: 1}\n", "---e\n", "----\n", "...\n", "... # c\n", "# c\n", "\n", " ", "\t",
	"a: 1\n", "a: 1\n", "kind: A\nb:\n- x\n- y: |\n    z\n", "b: |+\n  x\n\n", "b: >\n  x", "{\"a\": 1}", "{\"a\": 1}\n", "{\"a\": 1.0, \"b\": [1e3, \"\\u00e9\"]}\n",
	"{b: 2}\n", "{b: 2} ", "null\n", "~", "null", "%YAML 1.1\n", "%TAG ! x\n", "\ufeff", "[1]\n", "\"s\"", "1 ", "- 1\n", "x\n", "x", "'", "\"", ": ", "}", ",",
	"kind: List\nitems:\n- c: 1\n- {kind: B, apiVersion: v1}\n", "kind: BList\napiVersion: v1\nitems: [{c: 1}, {}, {kind: C}]\n", "kind: BList\nitems:\n", "kind: List\nitems: []\n",
	"kind: List\nitems:\n- kind: DList\n  apiVersion: v2\n  items: [{c: 1}]\n", `{"kind": "BList", "apiVersion": "v1", "items": [{"a": 1}, {"kind": "C"}]}`,
	`{"kind": "List", "items": [{"a": 1}, {"kind": "C"}]}`, `{"kind": "List", "items": null}`, "kind: E\nitems: [{c: 1}]\n", "\r", "\u0085", "\u2028", "\r\n", "\x00", "\xff",
	"a: &x {b: 1}\nc: {<<: *x, b: 2}\n", "a: *x\n", "on: off\n1.50: 0644\n0x10: 2001-01-01\n", "? k\n: v\n", "!!map {a: 1}\n", "a: .nan\n", "~: 1\n", "a: 1\na: 2\n",
}

// TestManifests compares how a text is read with kubectl's decoder and its treatment of lists.
func TestManifests(t *testing.T) {
	files, err := filepath.Glob("../../workspace/testdata/structure/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compareManifests(t, text)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var text strings.Builder
		for range 1 + random.IntN(6) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		compareManifests(t, []byte(text.String()))
		if order := random.IntN(20); order < 2 && utf8.ValidString(text.String()) && !strings.HasPrefix(text.String(), "\ufeff") {
			encoded, err := unicode.UTF16([]unicode.Endianness{unicode.LittleEndian, unicode.BigEndian}[order], unicode.UseBOM).NewEncoder().String(text.String())
			if err != nil {
				t.Fatal(err)
			}
			compareManifests(t, []byte(encoded))
		}
	}
}

func compareManifests(t *testing.T, text []byte) {
	t.Helper()
	if utf16 := bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}); !utf16 && !utf8.Valid(text) {
		if !slices.ContainsFunc(workspace.Read(text), func(m *workspace.Manifest) bool { return m.Err != nil }) {
			t.Errorf("%q is read, but is not UTF-8", text) // our choice: kubectl replaces characters
		}
		return
	}
	want, failed := upstreamManifests(text)
	if errors.Is(failed, errNotCompared) || bytes.Contains(text, []byte("\r\r\n")) { // kubectl removes one CR
		return
	}
	var got []any
	unread := ""
	for _, m := range workspace.Read(text) {
		if m.Err != nil {
			unread = m.Err.Error()
			if strings.HasPrefix(unread, "duplicate field") {
				unread = ""
				continue
			}
			if e := (*engine.Error)(nil); !errors.As(m.Err, &e) || e.Position == nil || e.Position.Line < 1 {
				t.Errorf("%q: the error %v has no position", text, m.Err)
			}
			break
		}
		var v any
		if err := json.Unmarshal(m.JSON(), &v); err != nil {
			t.Errorf("%q: %s: %v", text, m.JSON(), err)
		}
		got = append(got, v)
	}
	if strings.HasPrefix(unread, "only a comment may follow") && len(got) > len(want) {
		got = got[:len(want)] // kubectl also drops what it has read of the document before
	}
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) || (unread != "") != (failed != nil) {
		t.Errorf("%q:\n%v, %s, want\n%v, %v", text, got, unread, want, failed)
	}
}

// errNotCompared is the error for a list with items that are not objects, which kubectl does not read.
var errNotCompared = errors.New("not compared")

// upstreamManifests returns the objects that kubectl reads, and why it stops before the end.
func upstreamManifests(text []byte) (all []any, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(transform.NewReader(bytes.NewReader(text), unicode.BOMOverride(unicode.UTF8.NewDecoder())), 4096)
	for {
		var ext runtime.RawExtension
		if err := decoder.Decode(&ext); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, err
		}
		raw := bytes.TrimSpace(ext.Raw)
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return all, fmt.Errorf("%s: %w", raw, err)
		}
		object, isObject := v.(map[string]any)
		if !isObject {
			all = append(all, v)
			continue
		}
		kind, _ := object["kind"].(string)
		if _, has := object["items"]; !has || !strings.HasSuffix(kind, "List") {
			all = append(all, v)
			continue
		}
		list := &unstructured.UnstructuredList{}
		if _, _, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, list); err != nil {
			return nil, errNotCompared
		}
		items, err := flattened(list)
		if err != nil {
			return all, err
		}
		all = append(all, items...)
	}
}

// flattened returns the objects in a list as kubectl's FlattenListVisitor does, in the order of the text.
func flattened(list runtime.Object) (all []any, err error) {
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		u := item.(*unstructured.Unstructured)
		if u.IsList() && strings.HasSuffix(u.GetKind(), "List") {
			text, err := json.Marshal(u.Object)
			if err != nil {
				return nil, err
			}
			nested := &unstructured.UnstructuredList{}
			if _, _, err := unstructured.UnstructuredJSONScheme.Decode(text, nil, nested); err != nil {
				return nil, err
			}
			below, err := flattened(nested)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
			continue
		}
		if u.Object["apiVersion"] == "" { // of the list
			delete(u.Object, "apiVersion")
		}
		if u.Object["kind"] == "" { // of an item of a List, to which kubectl gives the version of the List
			delete(u.Object, "kind")
			delete(u.Object, "apiVersion")
		}
		text, err := json.Marshal(u.Object)
		if err != nil {
			return nil, err
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}
