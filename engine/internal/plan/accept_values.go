package plan

import (
	"math"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// values checks the validations v against the shaped value at i. False without w.doubt means that upstream rejects the
// value for certain: not and oneOf rely on it.
func (w *acceptor) values(v *Validation, i uint32) bool {
	d := w.d
	n := &d.Nodes[i]
	switch n.Kind {
	case tree.Null:
		return v.Enum == nil // kube-openapi checks only type and enum of null, and no enum value equals null
	case tree.String:
		if !w.text(v, i) {
			return false
		}
	case tree.Int:
		if v.number.any && !v.integer(int64(n.Val)) {
			return false
		}
	case tree.Float:
		if v.number.any {
			ok, doubt := v.float(d.Float(i))
			if w.doubt = w.doubt || doubt; !ok {
				return false
			}
		}
	case tree.Array:
		if v.MinItems != nil && int64(n.Live) < *v.MinItems || v.MaxItems != nil && int64(n.Live) > *v.MaxItems {
			return false
		}
	case tree.Object:
		if v.MinProperties != nil && int64(n.Live) < *v.MinProperties ||
			v.MaxProperties != nil && int64(n.Live) > *v.MaxProperties {
			return false
		}
		if len(v.Required) > manyNames && w.manyRequired(v, i) {
			return false
		}
		for j := range v.Required {
			if w.field(i, v.Required[j].Slot, v.Required[j].Name) == 0 {
				return false
			}
		}
	}
	if v.Enum != nil && !w.enum(v.Enum, i) {
		return false
	}
	return v.Operators == &noOperators || w.operators(v.Operators, i)
}

// maxLookups bounds the members visited in search of required names without a slot.
const maxLookups = 1 << 20

// manyRequired doubts an object with too many required names to look up in milliseconds. Explain is faster then.
func (w *acceptor) manyRequired(v *Validation, i uint32) (stop bool) {
	lookups := len(v.Required) * int(w.d.Nodes[i].Live)
	if lookups > maxLookups && slices.ContainsFunc(v.Required, func(r Required) bool { return r.Slot == NoSlot }) {
		w.doubt = true
	}
	return w.doubt || w.tick(len(v.Required)/8)
}

// field returns a member of the object at i, by slot or by name.
func (w *acceptor) field(i uint32, slot uint16, name string) uint32 {
	if slot != NoSlot {
		return w.d.Slots[uint32(w.d.Nodes[i].Val)+uint32(slot)]
	}
	return w.d.Field(i, name)
}

func (w *acceptor) text(v *Validation, i uint32) bool {
	if v.MaxLength != nil || v.MinLength != nil {
		runes := int64(w.d.Runes(i))
		if v.MaxLength != nil && runes > *v.MaxLength || v.MinLength != nil && runes < *v.MinLength {
			return false
		}
	}
	if v.Pattern != nil {
		s := w.d.Str(i)
		if w.tick(len(s) / textPerValue) {
			return false
		}
		matched, ok := v.Pattern.Match(s, w.stop)
		w.doubt = w.doubt || !ok
		if !matched {
			return false
		}
	}
	return v.FormatID == format.None || v.FormatID.Valid(w.d.Str(i))
}

// enum reports whether upstream finds the value in the enum. Upstream converts the value to the type of each enum
// value: 65 is "A", 1.5 is 1. The walk doubts these. (KO/validate/validator.go basicCommonValidator)
func (w *acceptor) enum(e *Enum, i uint32) (found bool) {
	doubt := false
	switch n := &w.d.Nodes[i]; n.Kind {
	case tree.String:
		_, found = slices.BinarySearch(e.strings, w.d.Str(i))
	case tree.Int:
		found = slices.Contains(e.ints, int64(n.Val)) || slices.Contains(e.floats, float64(int64(n.Val)))
		doubt = len(e.strings) > 0
	case tree.Float:
		found, doubt = slices.Contains(e.floats, w.d.Float(i)), len(e.ints) > 0
	case tree.False:
		found = e.hasFalse
	case tree.True:
		found = e.hasTrue
	case tree.Array, tree.Object:
		doubt = e.compound
	}
	w.doubt = w.doubt || doubt && !found
	return found
}

// operators checks allOf, anyOf, oneOf and not against the shaped value.
func (w *acceptor) operators(v *Operators, i uint32) bool {
	valid := func(n *Node) bool { return w.judge(n, i) }
	for _, n := range v.AllOf {
		if !valid(n) {
			return false
		}
	}
	if len(v.AnyOf) > 0 && !slices.ContainsFunc(v.AnyOf, valid) {
		return false
	}
	if len(v.OneOf) > 0 {
		first := slices.IndexFunc(v.OneOf, valid)
		if first < 0 || slices.ContainsFunc(v.OneOf[first+1:], valid) {
			return false
		}
	}
	return v.Not == nil || !w.judge(v.Not, i)
}

// judge validates the value at i against a schema below a logical operator. False without w.doubt is certain, as for
// values.
func (w *acceptor) judge(n *Node, i uint32) bool {
	d := w.d
	k := d.Nodes[i].Kind
	if w.tick(1) {
		return false
	}
	if !n.kinds.has(k) {
		w.doubt = w.doubt || n.maybe.has(k)
		return false
	}
	switch k {
	case tree.Object:
		for j, p := range n.Props {
			if c := w.field(i, n.Slots[j], n.Names[j]); c != 0 && !w.judge(p, c) {
				return false
			}
		}
		if n.Additional != nil || n.Flags&AdditionalFalse != 0 {
			for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
				if _, declared := n.find(d.Key(c)); !declared && (n.Additional == nil || !w.judge(n.Additional, c)) {
					return false
				}
			}
		}
	case tree.Array:
		if n.Items == nil {
			break
		}
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			if !w.judge(n.Items, c) {
				return false
			}
		}
	}
	return n.Valid == nil || w.values(n.Valid, i)
}

// numberCheck holds the numeric keywords for accept. Upstream converts bounds to the value's Go type, and reports a
// bound that does not fit the declared type for every value. (KO/validate/validator.go numberValidator, values.go
// MaximumNativeType)
type numberCheck struct {
	any     bool // there is something to check
	broken  bool // a bound does not fit the declared type: every number is rejected
	int32   bool // type integer, format int32: integers must fit
	float32 bool // type number, format float: floats must fit
}

func newNumberCheck(n *Node, v *Validation) (c numberCheck) {
	typ, format := n.numberType(v)
	c.int32, c.float32 = format == "int32", format == "float"
	for _, bound := range [...]*float64{v.Minimum, v.Maximum, v.MultipleOf} {
		c.any = c.any || bound != nil
		c.broken = c.broken || bound != nil && !floatFits(*bound, typ, format)
	}
	c.any = c.any || c.int32 || c.float32
	return c
}

// integer checks an integer. Upstream truncates bounds, and converts bounds beyond int64 with Go's rules.
func (v *Validation) integer(i int64) bool {
	c := &v.number
	if c.broken || c.int32 && int64(int32(i)) != i {
		return false
	}
	if v.Minimum != nil {
		if least := int64(*v.Minimum); i < least || v.ExclusiveMinimum && i == least {
			return false
		}
	}
	if v.Maximum != nil {
		if most := int64(*v.Maximum); i > most || v.ExclusiveMaximum && i == most {
			return false
		}
	}
	if v.MultipleOf != nil {
		if factor := int64(*v.MultipleOf); factor <= 0 || i%factor != 0 {
			return false
		}
	}
	return true
}

// float checks a float, and doubts what upstream rounds.
func (v *Validation) float(f float64) (ok, doubt bool) {
	c := &v.number
	switch {
	case c.broken:
		return false, false
	case c.float32 && math.Abs(f) > math.MaxFloat32, v.MultipleOf != nil:
		return false, true
	case v.Minimum != nil && (f < *v.Minimum || v.ExclusiveMinimum && f == *v.Minimum):
		return false, false
	case v.Maximum != nil && (f > *v.Maximum || v.ExclusiveMaximum && f == *v.Maximum):
		return false, false
	}
	return true, false
}
