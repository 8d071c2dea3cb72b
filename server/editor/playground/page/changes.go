package page

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
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// maxChanges bounds the changes of a report. Further ones are counted.
const maxChanges = 1000

// changes lists what the engine pruned and defaulted, and then what else differs between the submitted and the stored
// object. It also returns how many changes are left out.
func (w *write) changes(v *engine.Verdict) (list []Change, omitted int) {
	d, omitted := w.object, v.OmittedChanges
	list = []Change{}
	known, pruned := map[string]bool{}, map[string]*engine.FieldChange{}
	for i := range v.Pruned {
		p := &v.Pruned[i]
		known[p.Pointer], pruned[p.Pointer] = true, p
		list = append(list, Change{Path: p.Path, Pointer: p.Pointer, Op: OpPruned, Before: validJSON(p.Value)})
	}
	for i := range v.Defaulted {
		p := &v.Defaulted[i]
		known[p.Pointer] = true
		list = append(list, Change{Path: p.Path, Pointer: p.Pointer, Op: OpDefaulted, After: validJSON(p.Value)})
	}
	if v.Object != nil && w.input.Subresource != "scale" {
		found := differences{known: known}
		found.compare(diagnosis.Decode(d.JSON("")), diagnosis.Decode(v.Object))
		list, omitted = append(list, found.list...), found.omitted // the engine's omitted changes are among them
	}
	slices.SortStableFunc(list, func(a, b Change) int { return cmp.Compare(a.Pointer, b.Pointer) })
	if n := len(list) - maxChanges; n > 0 {
		list, omitted = list[:maxChanges], omitted+n
	}
	for i := range list {
		c := &list[i]
		c.Fixes = []Fix{}
		if c.Op != OpDefaulted {
			c.Range = d.keyRange(c.Pointer)
		}
		if c.Op == OpPruned {
			p := pruned[c.Pointer]
			if c.Fixes = d.fixes(&diagnosis.Finding{Source: p}, nil); p.Hint != nil {
				c.Hint = p.Hint.Text
			}
		}
	}
	return list, omitted
}

// differences finds where two JSON values differ, except at known pointers. It visits each value once, and makes pointers
// only of differences.
type differences struct {
	known   map[string]bool
	list    []Change
	bytes   int // of the paths of list, at most maxChangeBytes
	omitted int
	tokens  []string // of the pointer of the values that are being compared, escaped
}

// maxChangeBytes bounds the paths of the differences, which can have all keys of the object each.
const maxChangeBytes = 1 << 20

func (f *differences) compare(before, after any) {
	switch a := before.(type) {
	case map[string]any:
		if b, ok := after.(map[string]any); ok {
			f.objects(a, b)
			return
		}
	case []any:
		if b, ok := after.([]any); ok && len(a) == len(b) {
			for i := range a {
				f.at(strconv.Itoa(i), func() { f.compare(a[i], b[i]) })
			}
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		f.add(OpChanged, before, after)
	}
}

// at calls a function with a further token of the pointer.
func (f *differences) at(token string, do func()) {
	f.tokens = append(f.tokens, token)
	do()
	f.tokens = f.tokens[:len(f.tokens)-1]
}

func (f *differences) objects(a, b map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(a)) {
		f.at(document.EscapePointer(key), func() {
			if _, kept := b[key]; kept {
				f.compare(a[key], b[key])
			} else {
				f.add(OpDropped, a[key], nil)
			}
		})
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if _, had := a[key]; !had {
			f.at(document.EscapePointer(key), func() { f.add(OpSet, nil, b[key]) })
		}
	}
}

func (f *differences) add(op string, before, after any) {
	var pointer strings.Builder
	for _, token := range f.tokens {
		pointer.WriteString("/" + token)
	}
	c := Change{Pointer: pointer.String(), Op: op}
	if f.known[c.Pointer] {
		return
	}
	if f.bytes += len(c.Pointer); f.bytes > maxChangeBytes {
		f.omitted++
		return
	}
	c.Path = diagnosis.Dotted(c.Pointer)
	if op != OpSet {
		c.Before = encode(before)
	}
	if op != OpDropped {
		c.After = encode(after)
	}
	f.list = append(f.list, c)
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
