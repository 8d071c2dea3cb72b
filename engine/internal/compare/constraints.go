package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/crdeval/crdeval/engine/value"
)

// pair is a node of both schemas.
type pair struct {
	*walk
	proof              *proof
	at                 node
	old, new           parts
	oldCases, newCases []*facts
}

// constraints compares which values both schemas accept.
func (w *pair) constraints() {
	for i := range keywords {
		switch k := &keywords[i]; k.name {
		case "enum":
			w.enum(k)
		case "pattern":
			w.pattern(k)
		case "format":
			w.format(k)
		default:
			w.bound(k)
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "not"} {
		w.operators(keyword)
	}
}

// changed returns the new part with a constraint that old values do not always satisfy, or nil, and the old part with
// one that new values do not always satisfy, or nil.
func (w *pair) changed(k *keyword) (tight, loose *part) {
	return w.beyond(k, w.oldCases, w.new), w.beyond(k, w.newCases, w.old)
}

func (w *pair) beyond(k *keyword, cases []*facts, list parts) *part {
	for i := range list {
		implied := func(c *facts) bool {
			w.witness = nil
			return k.implied(w.proof, c, &list[i])
		}
		if p := &list[i]; k.has(p.Props) && !inEach(cases, implied) {
			p.witness = w.witness
			return p
		}
	}
	return nil
}

// having returns the part with a keyword that corresponds to a part of the other schema, or the first one with the
// keyword, or nil.
func (list parts) having(k *keyword, other *part) (found *part) {
	for i := range list {
		if p := &list[i]; k.has(p.Props) && (found == nil || p.path.Pointer() == other.path.Pointer()) {
			found = p
		}
	}
	return found
}

// stricter is the impact of a stricter constraint of a part.
func (w *pair) stricter(p *part) Impact {
	if p.clause {
		return breaksWrites
	}
	return w.at.tightened()
}

// reportKeyword reports a keyword of two parts, of which one may be nil.
func (w *pair) reportKeyword(kind string, impact Impact, k *keyword, o, n *part, format string, args ...any) {
	var oldAt, newAt value.Path
	var oldValue, newValue any
	if o != nil {
		oldAt, oldValue = o.path.With(value.Name(k.name)), k.get(o.Props)
		newAt = oldAt
	}
	if n != nil {
		newAt, newValue = n.path.With(value.Name(k.name)), k.get(n.Props)
		if o == nil {
			oldAt = newAt
		}
	}
	change := w.reportMoved(kind, impact, oldAt, newAt, oldValue, newValue, format, args...)
	if change != nil && n != nil {
		change.Witness = n.witness
	}
}

// bound compares a bound.
func (w *pair) bound(k *keyword) {
	tight, loose := w.changed(k)
	switch {
	case tight != nil:
		o := w.old.having(k, tight)
		if k.name == "uniqueItems" {
			w.report("BoundTightened", w.stricter(tight), tight.path.With(value.Name(k.name)), false, true, "the items of lists must differ")
		} else if k.rejected != "" {
			w.reportKeyword("BoundTightened", w.stricter(tight), k, o, tight, k.rejected+" are rejected", k.get(tight.Props))
		} else {
			w.limit("BoundTightened", w.stricter(tight), k, o, tight)
		}
	case loose != nil:
		n := w.new.having(k, loose)
		switch {
		case k.name == "uniqueItems":
			w.report("BoundLoosened", harmless, loose.path.With(value.Name(k.name)), true, false, "the items of lists may be equal")
		case n == nil:
			w.reportKeyword("BoundLoosened", harmless, k, loose, nil, "%s is removed", k.name)
		default:
			w.limit("BoundLoosened", harmless, k, loose, n)
		}
	}
}

// limit reports a bound n that may be exclusive. o is nil if it is new.
func (w *pair) limit(kind string, impact Impact, k *keyword, o, n *part) {
	exclusive := func(s *Props) bool {
		return k.name == "maximum" && s.ExclusiveMaximum || k.name == "minimum" && s.ExclusiveMinimum
	}
	than := map[string]string{"maximum": "greater than", "minimum": "less than"}[k.name]
	bound := k.get(n.Props)
	message := fmt.Sprintf("%s is %v", k.name, bound)
	if kind == "BoundTightened" {
		switch f, _ := bound.(float64); {
		case n.Type == "integer" && f != math.Trunc(f):
			message = "all values are rejected, because API servers compare integers with integers only"
		case exclusive(n.Props):
			message = fmt.Sprintf("values %s or equal to %v are rejected", than, bound)
		default:
			message = fmt.Sprintf("values %s %v are rejected", than, bound)
		}
	}
	if o != nil && k.get(o.Props) == bound && exclusive(o.Props) != exclusive(n.Props) {
		open := keyword{name: "exclusiveM" + k.name[1:], get: func(s *Props) any { return exclusive(s) }}
		w.reportKeyword(kind, impact, &open, o, n, "%s", message)
		return
	}
	w.reportKeyword(kind, impact, k, o, n, "%s", message)
}

// pattern compares the patterns.
func (w *pair) pattern(k *keyword) {
	tight, loose := w.changed(k)
	o, n := loose, tight
	if tight != nil && o == nil {
		o = w.old.at(k, tight)
	} else if loose != nil && n == nil {
		n = w.new.at(k, loose)
	}
	switch {
	case o == nil && n == nil:
	case o == nil:
		w.reportKeyword("PatternAdded", w.stricter(n), k, nil, n, "strings that do not match are rejected")
	case n == nil:
		w.reportKeyword("PatternRemoved", harmless, k, o, nil, "strings that do not match are accepted")
	case tight == nil:
		w.reportKeyword("PatternChanged", harmless, k, o, n, "all strings that were accepted match")
	default:
		impact, message := careForWrites, "strings that match the old pattern may not match the new one"
		if text := ""; json.Unmarshal(tight.witness, &text) == nil {
			impact, message = w.stricter(tight), fmt.Sprintf("strings such as %q are rejected", truncated(text))
		}
		w.reportKeyword("PatternChanged", impact, k, o, n, "%s", message)
	}
}

// at returns the part with a keyword at the path of a part of the other schema, or nil.
func (list parts) at(k *keyword, other *part) *part {
	if p := list.having(k, other); p != nil && p.path.Pointer() == other.path.Pointer() {
		return p
	}
	return nil
}

// format compares the formats.
func (w *pair) format(k *keyword) {
	implied := func(cases []*facts, p *part) bool {
		return inEach(cases, func(c *facts) bool { return k.implied(w.proof, c, p) })
	}
	w.formats(w.old[0].Props, w.new[0].Props, w.at, implied(w.oldCases, &w.new[0]), implied(w.newCases, &w.old[0]))
	if p := w.beyond(k, w.oldCases, w.new[1:]); p != nil {
		w.reportKeyword("FormatAdded", w.stricter(p), k, nil, p, "values that are not a valid %s are rejected", p.Format)
	}
	if p := w.beyond(k, w.newCases, w.old[1:]); p != nil {
		w.reportKeyword("FormatRemoved", careForReaders, k, p, nil, "values need not be a valid %s any more", p.Format)
	}
}

// enum compares the enums.
func (w *pair) enum(k *keyword) {
	tight, loose := w.changed(k)
	var o, n *part
	if tight != nil {
		o, n = w.old.having(k, tight), tight
	} else if loose != nil {
		o, n = loose, w.new.having(k, loose)
	}
	switch {
	case o == nil && n == nil:
	case o == nil:
		w.reportKeyword("EnumAdded", w.stricter(n), k, nil, n, "all other values are rejected")
	case n == nil:
		w.reportKeyword("EnumRemoved", careForReaders, k, o, nil, "all values are accepted: readers can get others")
	default:
		w.enumValues(k, o, n, w.oldCases, "EnumValueRemoved", w.stricter(n), "%s is rejected")
		w.enumValues(k, n, o, w.newCases, "EnumValueAdded", careForReaders, "%s is accepted: readers can get it")
	}
}

// enumValues reports the values of an enum that the other one does not have. cases are those of the schema with the
// values: a value that they do not accept is not reported.
func (w *pair) enumValues(k *keyword, p, other *part, cases []*facts, kind string, impact Impact, message string) {
	known := setOf(canonicals(other.Enum))
	at, otherAt := p.path.With(value.Name(k.name)), other.path.With(value.Name(k.name))
	for i, v := range canonicals(p.Enum) {
		if known[v] || inEach(cases, func(c *facts) bool { return c.finite && !slices.Contains(c.values, v) }) {
			continue
		}
		known[v] = true
		if kind == "EnumValueRemoved" {
			c := w.reportMoved(kind, impact, at.With(value.At(i)), otherAt, json.RawMessage(v), nil, message, truncated(v))
			if c != nil {
				c.Witness = json.RawMessage(v)
			}
		} else {
			w.reportMoved(kind, impact, otherAt, at.With(value.At(i)), nil, json.RawMessage(v), message, truncated(v))
		}
	}
}
