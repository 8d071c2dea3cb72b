package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// maxChanges bounds the changes of a report. Further ones are counted.
const maxChanges = 1000

// changes lists what the engine pruned and defaulted, and then what else differs between the submitted and the stored
// object.
func (w *write) changes(v *engine.Verdict) (list []Change) {
	d := w.object
	list = []Change{}
	known := map[string]bool{}
	for i := range v.Pruned {
		p := &v.Pruned[i]
		known[p.Pointer] = true
		c := Change{Path: p.Path, Pointer: p.Pointer, Op: OpPruned, Before: validJSON(p.Value), Range: d.keyRange(p.Pointer)}
		c.Hint, c.Fixes = w.unknownField(p)
		list = append(list, c)
	}
	for i := range v.Defaulted {
		p := &v.Defaulted[i]
		known[p.Pointer] = true
		list = append(list, Change{Path: p.Path, Pointer: p.Pointer, Op: OpDefaulted, After: validJSON(p.Value), Fixes: []Fix{}})
	}
	if v.Object != nil && d.tree != nil && w.input.Subresource != "scale" {
		found := differences{known: known}
		found.compare("", d.decoded(), decode(v.Object))
		for _, c := range found.list {
			c.Range, c.Fixes = d.keyRange(c.Pointer), []Fix{}
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b Change) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return list
}

// differences finds where two JSON values differ, except at known pointers.
type differences struct {
	known map[string]bool
	list  []Change
}

func (f *differences) compare(pointer string, before, after any) {
	if f.known[pointer] || reflect.DeepEqual(before, after) {
		return
	}
	switch a := before.(type) {
	case map[string]any:
		if b, ok := after.(map[string]any); ok {
			f.objects(pointer, a, b)
			return
		}
	case []any:
		if b, ok := after.([]any); ok && len(a) == len(b) {
			for i := range a {
				f.compare(pointer+"/"+strconv.Itoa(i), a[i], b[i])
			}
			return
		}
	}
	f.add(pointer, OpChanged, encode(before), encode(after))
}

func (f *differences) objects(pointer string, a, b map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(a)) {
		at := pointer + "/" + escape(key)
		if _, kept := b[key]; kept {
			f.compare(at, a[key], b[key])
		} else if !f.known[at] {
			f.add(at, OpDropped, encode(a[key]), nil)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		at := pointer + "/" + escape(key)
		if _, had := a[key]; !had && !f.known[at] {
			f.add(at, OpSet, nil, encode(b[key]))
		}
	}
}

func (f *differences) add(pointer, op string, before, after json.RawMessage) {
	f.list = append(f.list, Change{Path: dotted(pointer), Pointer: pointer, Op: op, Before: before, After: after})
}

func encode(v any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSpace(out.Bytes())
}

// dotted returns a JSON pointer as a path: spec.jobs[0].name. A member whose key is a number looks like an item.
func dotted(pointer string) string {
	var path strings.Builder
	for _, token := range strings.Split(pointer, "/")[min(1, len(pointer)):] {
		if _, err := strconv.ParseUint(token, 10, 31); err == nil {
			path.WriteString("[" + token + "]")
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(unescape.Replace(token))
	}
	return path.String()
}
