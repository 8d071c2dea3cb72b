package tables

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// corpusGroups returns the CRDs of the corpus with their samples, and for each version some objects with values for its
// columns.
func corpusGroups(c *corpus.Corpus, now time.Time) []group {
	samples := map[int][]corpus.Sample{}
	for _, s := range c.Samples {
		for _, i := range s.CRDs {
			samples[i] = append(samples[i], s)
		}
	}
	var groups []group
	for i, crd := range c.CRDs {
		var manifest struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name    string
					Served  bool
					Columns []struct{ Type, JSONPath string } `json:"additionalPrinterColumns"`
				}
				Conversion struct{ Strategy string }
			}
		}
		if json.Unmarshal(crd.Doc, &manifest) != nil {
			continue
		}
		spec := &manifest.Spec
		for _, v := range spec.Versions {
			if !v.Served {
				continue
			}
			m := &maker{Rand: generate.New("tables of the corpus", 1, uint64(i)), now: now}
			g := group{Manifest: crd.Doc, Versions: []string{v.Name}}
			for _, s := range samples[i] {
				if s.Version == v.Name && len(g.Objects) < 20 {
					g.Objects = append(g.Objects, named(s.Doc, len(g.Objects)))
				}
			}
			for k := range 3 {
				o := object{"apiVersion": spec.Group + "/" + v.Name, "kind": spec.Names.Kind, "metadata": object{"name": fmt.Sprintf("made-%d", k), "namespace": "default", "generation": 1, "creationTimestamp": m.moment4(), "resourceVersion": fmt.Sprint(revision)}}
				for _, column := range v.Columns {
					if !strings.HasPrefix(column.JSONPath, ".metadata") {
						m.place(o, column.Type, column.JSONPath)
					}
				}
				g.Objects = append(g.Objects, text(o))
			}
			for _, column := range v.Columns {
				g.Paths = append(g.Paths, column.JSONPath)
			}
			groups = append(groups, g)
		}
	}
	return groups
}

// named adds the metadata that every stored object has.
func named(doc []byte, i int) []byte {
	var o object
	if json.Unmarshal(doc, &o) != nil {
		return doc
	}
	meta, _ := o["metadata"].(object)
	if meta == nil {
		meta = object{}
	}
	meta["name"], meta["resourceVersion"] = fmt.Sprintf("sample-%d", i), fmt.Sprint(revision)
	o["metadata"] = meta
	return text(o)
}

// place sets a value at a column's path, if the path consists of names, indexes and filters by equality.
func (m *maker) place(o object, kind, path string) {
	at := any(o)
	set := func(v any) {}
	for path = strings.TrimPrefix(path, "."); path != ""; {
		name, rest := path, ""
		if i := strings.IndexAny(path, ".["); i >= 0 {
			name, rest = path[:i], path[i:]
		}
		into, ok := at.(object)
		if !ok || name == "" {
			return
		}
		if into[name] == nil {
			into[name] = object{}
			if strings.HasPrefix(rest, "[") {
				into[name] = []any{object{"type": "Other", "status": "False"}, object{}}
			}
		}
		at, set = into[name], func(v any) { into[name] = v }
		if strings.HasPrefix(rest, "[") {
			inside, after, found := strings.Cut(rest[1:], "]")
			list, ok := at.([]any)
			if !found || !ok {
				return
			}
			element, ok := list[len(list)-1].(object)
			if !ok {
				return
			}
			if key, value, found := strings.Cut(strings.Trim(inside, "?()@."), "=="); found {
				element[strings.TrimSpace(key)] = strings.Trim(value, ` '")`)
			}
			at, set, rest = element, func(v any) { list[len(list)-1] = v }, after
		}
		path = strings.TrimPrefix(rest, ".")
	}
	if m.Chance(20) {
		set(m.scalar())
		return
	}
	switch kind {
	case "string":
		set(generate.Pick(m.Rand, []any{"True", "some text", "v1.2.3", []any{"a", "b"}, 7, true}))
	case "integer":
		set(generate.Pick(m.Rand, []any{1, 0, 300, 1.5}))
	case "number":
		set(generate.Pick(m.Rand, []any{1, 0.25}))
	case "boolean":
		set(m.Chance(50))
	case "date":
		set(m.moment())
	}
}
