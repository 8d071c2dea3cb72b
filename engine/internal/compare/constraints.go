package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// pair is a node of both schemas.
type pair struct {
	*walk
	proof              *proof
	at                 node
	old, new           parts
	oldFacts, newFacts *facts
	oldCases, newCases []*facts // see cases
}

// cases fills oldCases and newCases, which only reports of changes need.
func (w *pair) cases() {
	if w.oldCases == nil {
		w.proof.start()
		w.oldCases = w.proof.cases(w.old)
		w.proof.start()
		w.newCases = w.proof.cases(w.new)
	}
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
func (w *pair) changed(k *keyword) (tight, loose *finding) {
	return w.beyond(k, w.oldFacts, w.new), w.beyond(k, w.newFacts, w.old)
}

// finding is a part with a constraint that the values of the other schema do not always satisfy. undecided: a limit has
// ended the proof, so they may.
type finding struct {
	*part
	undecided bool
}

// orNil returns the part, or nil.
func (f *finding) orNil() *part {
	if f == nil {
		return nil
	}
	return f.part
}

func (w *pair) beyond(k *keyword, f *facts, list parts) (found *finding) {
	for i := range list {
		p := &list[i]
		if !k.has(p.Props) {
			continue
		}
		if w.proof.start(); !w.proof.impliesKeyword(f, k, p) && (found == nil || found.undecided) {
			p.witness, found = w.witness, &finding{p, w.proof.exhausted}
		}
	}
	return found
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

// stricter is the impact of a stricter constraint of a part, and its message.
func (w *pair) stricter(p *finding, format string, args ...any) (Impact, string) {
	switch {
	case p.undecided:
		return careForWrites, undecided
	case p.clause:
		return breaksWrites, fmt.Sprintf(format, args...)
	}
	return w.at.tightened(), fmt.Sprintf(format, args...)
}

// reportKeyword reports a keyword of two parts, of which one may be nil.
func (w *pair) reportKeyword(kind string, impact Impact, k *keyword, o, n *part, format string, args ...any) {
	var oldAt, newAt tree.Path
	var oldValue, newValue any
	if o != nil {
		oldAt, oldValue = o.path.With(tree.Name(k.name)), k.get(o.Props)
		newAt = oldAt
	}
	if n != nil {
		newAt, newValue = n.path.With(tree.Name(k.name)), k.get(n.Props)
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
		o := w.old.having(k, tight.part)
		if k.name == "uniqueItems" {
			impact, message := w.stricter(tight, "the items of lists must differ")
			w.report("BoundTightened", impact, tight.path.With(tree.Name(k.name)), false, true, "%s", message)
		} else if k.rejected != "" {
			impact, message := w.stricter(tight, k.rejected+" are rejected", k.get(tight.Props))
			w.reportKeyword("BoundTightened", impact, k, o, tight.part, "%s", message)
		} else {
			impact, message := w.stricter(tight, "%s", rejectedBeyond(k, tight.part))
			w.limit("BoundTightened", impact, k, o, tight.part, message)
		}
	case loose != nil:
		n := w.new.having(k, loose.part)
		switch {
		case k.name == "uniqueItems":
			w.report("BoundLoosened", harmless, loose.path.With(tree.Name(k.name)), true, false, "the items of lists may be equal")
		case n == nil:
			w.reportKeyword("BoundLoosened", harmless, k, loose.part, nil, "%s is removed", k.name)
		default:
			w.limit("BoundLoosened", harmless, k, loose.part, n, fmt.Sprintf("%s is %v", k.name, k.get(n.Props)))
		}
	}
}

// rejectedBeyond says which values the maximum or minimum of a part rejects.
func rejectedBeyond(k *keyword, n *part) string {
	than := map[string]string{"maximum": "greater than", "minimum": "less than"}[k.name]
	switch bound, _ := k.get(n.Props).(float64); {
	case n.Type == "integer" && bound != math.Trunc(bound):
		return "all values are rejected, because API servers compare integers with integers only"
	case k.isExclusive(n.Props):
		return fmt.Sprintf("values %s or equal to %v are rejected", than, bound)
	default:
		return fmt.Sprintf("values %s %v are rejected", than, bound)
	}
}

// isExclusive reports whether a maximum or minimum is exclusive.
func (k *keyword) isExclusive(s *Props) bool {
	return k.name == "maximum" && s.ExclusiveMaximum || k.name == "minimum" && s.ExclusiveMinimum
}

// limit reports a bound n that may be exclusive. o is nil if it is new.
func (w *pair) limit(kind string, impact Impact, k *keyword, o, n *part, message string) {
	if o != nil && k.get(o.Props) == k.get(n.Props) && k.isExclusive(o.Props) != k.isExclusive(n.Props) {
		open := keyword{name: "exclusiveM" + k.name[1:], get: func(s *Props) any { return k.isExclusive(s) }}
		w.reportKeyword(kind, impact, &open, o, n, "%s", message)
		return
	}
	w.reportKeyword(kind, impact, k, o, n, "%s", message)
}

// pattern compares the patterns.
func (w *pair) pattern(k *keyword) {
	tight, loose := w.changed(k)
	o, n := loose.orNil(), tight.orNil()
	if tight != nil && o == nil {
		o = w.old.at(k, n)
	} else if loose != nil && n == nil {
		n = w.new.at(k, o)
	}
	switch {
	case o == nil && n == nil:
	case o == nil:
		impact, message := w.stricter(tight, "strings that do not match are rejected")
		w.reportKeyword("PatternAdded", impact, k, nil, n, "%s", message)
	case n == nil:
		w.reportKeyword("PatternRemoved", harmless, k, o, nil, "strings that do not match are accepted")
	case tight == nil:
		w.reportKeyword("PatternChanged", harmless, k, o, n, "all strings that were accepted match")
	default:
		impact, message := careForWrites, "strings that match the old pattern may not match the new one"
		if text := ""; json.Unmarshal(tight.witness, &text) == nil {
			impact, message = w.stricter(tight, "strings such as %q are rejected", truncated(text))
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
	tight, loose, tightened := w.beyond(k, w.oldFacts, w.new[:1]), w.beyond(k, w.newFacts, w.old[:1]), w.at.tightened()
	if tight != nil {
		tightened, _ = w.stricter(tight, "")
	}
	w.formats(w.old[0].Props, w.new[0].Props, w.at, tight == nil, loose == nil, tightened)
	if p := w.beyond(k, w.oldFacts, w.new[1:]); p != nil {
		impact, message := w.stricter(p, "values that are not a valid %s are rejected", p.Format)
		w.reportKeyword("FormatAdded", impact, k, nil, p.part, "%s", message)
	}
	if p := w.beyond(k, w.newFacts, w.old[1:]); p != nil {
		w.reportKeyword("FormatRemoved", careForReaders, k, p.part, nil, "values need not be a valid %s any more", p.Format)
	}
}

// enum compares the enums.
func (w *pair) enum(k *keyword) {
	tight, loose := w.changed(k)
	var o, n *part
	if tight != nil {
		o, n = w.old.having(k, tight.part), tight.part
	} else if loose != nil {
		o, n = loose.part, w.new.having(k, loose.part)
	}
	switch {
	case o == nil && n == nil:
	case o == nil:
		impact, message := w.stricter(tight, "all other values are rejected")
		w.reportKeyword("EnumAdded", impact, k, nil, n, "%s", message)
	case n == nil:
		w.reportKeyword("EnumRemoved", careForReaders, k, o, nil, "all values are accepted: readers can get others")
	default:
		w.cases()
		impact, message := harmless, ""
		if tight != nil {
			impact, message = w.stricter(tight, "is rejected")
		}
		before := len(w.Changes) + w.Omitted
		w.enumValues(k, o, n, w.oldCases, "EnumValueRemoved", impact, "%s "+message)
		if tight != nil && before == len(w.Changes)+w.Omitted {
			if message = undecided; w.oldFacts.nullable && !n.skipsNull {
				message = "null is rejected, because API servers reject it for an enum"
			}
			w.reportKeyword("EnumValueRemoved", impact, k, o, n, "%s", message)
		}
		w.enumValues(k, n, o, w.newCases, "EnumValueAdded", careForReaders, "%s is accepted: readers can get it")
	}
}

// enumValues reports the values of an enum that the other one does not have. cases are those of the schema with the
// values: a value that they do not accept is not reported.
func (w *pair) enumValues(k *keyword, p, other *part, cases []*facts, kind string, impact Impact, message string) {
	known := setOf(canonicals(other.Enum))
	at, otherAt := p.path.With(tree.Name(k.name)), other.path.With(tree.Name(k.name))
	for i, v := range canonicals(p.Enum) {
		if known[v] || inEach(cases, func(c *facts) bool { return c.finite && !slices.Contains(c.values, v) }) {
			continue
		}
		known[v] = true
		if kind == "EnumValueRemoved" {
			c := w.reportMoved(kind, impact, at.With(tree.At(i)), otherAt, json.RawMessage(v), nil, message, truncated(v))
			if c != nil {
				c.Witness = json.RawMessage(v)
			}
		} else {
			w.reportMoved(kind, impact, otherAt, at.With(tree.At(i)), nil, json.RawMessage(v), message, truncated(v))
		}
	}
}
