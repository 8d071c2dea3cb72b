package cel

import (
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/shrink"
)

// shrinkTries is the maximum number of comparisons for shrinking one disagreement.
const shrinkTries = 1500

// shrinkCase shrinks a disagreement: fewer rules, smaller expressions, a smaller schema and smaller values that still
// differ in the same way.
func shrinkCase(d *disagreement) {
	want := signature(d.diffs)
	tries := shrinkTries
	still := func(c *Case, v Values) bool {
		if tries--; tries < 0 {
			return false
		}
		diffs, out := check(c, v, d.probe)
		if out != different || len(diffs) == 0 || signature(diffs) != want {
			return false
		}
		d.diffs = diffs
		return true
	}
	if len(d.c.Rules) > 1 {
		for _, r := range d.c.Rules {
			one := *d.c
			one.Rules = []Rule{r}
			// a single rule has another number, and another remaining budget
			if diffs, out := check(&one, d.v, d.probe); out == different && len(diffs) > 0 {
				d.c, d.diffs, want = &one, diffs, signature(diffs)
				break
			}
		}
	}
	for before := 0; before != size(d) && tries > 0; {
		before = size(d)
		for i := range d.c.Rules {
			shrinkRule(d, i, still)
		}
		shrinkData(d, still)
	}
}

func size(d *disagreement) int {
	n := d.c.Schema.Size()
	for _, r := range d.c.Rules {
		n += r.rule.size()
		if r.message != nil {
			n += r.message.size()
		}
	}
	if d.v.Self != nil {
		n += d.v.Self.Size()
	}
	if d.v.Old != nil {
		n += d.v.Old.Size()
	}
	return n
}

func shrinkRule(d *disagreement, i int, still func(*Case, Values) bool) {
	try := func(r Rule) bool {
		c := *d.c
		c.Rules = append([]Rule(nil), d.c.Rules...)
		c.Rules[i] = r
		if !still(&c, d.v) {
			return false
		}
		d.c = &c
		return true
	}
	r := d.c.Rules[i]
	r.message = nil
	if d.c.Rules[i].message == nil || !try(r) {
		r = d.c.Rules[i]
	}
	if r.Optional {
		plain := r
		plain.Optional = false
		if try(plain) {
			r = plain
		}
	}
	r.rule = shrinkExpression(r.rule, func(e *expression) bool { s := r; s.rule = e; return try(s) })
	if r.message != nil {
		shrinkExpression(r.message, func(e *expression) bool { s := r; s.message = e; return try(s) })
	}
}

// simplest are replacements for any operand.
var simplest = []string{"true", "false", "0", "1", "''", "'a'", "[]", "{}", "null", "self", "[0]", "['a']", "1u", "1.0", "b''", "optional.none()"}

// shrinkExpression replaces the expression by an operand, and operands by their own operands or by constants, as long
// as keep accepts the result.
func shrinkExpression(e *expression, keep func(*expression) bool) *expression {
	for changed := true; changed; {
		changed = false
		for _, o := range e.operands {
			if keep(o) {
				e, changed = o, true
				break
			}
		}
	}
	var inside func(at *expression, whole func(*expression) *expression)
	inside = func(at *expression, whole func(*expression) *expression) {
		for k := range at.operands {
			replace := func(o *expression) *expression {
				c := &expression{pieces: at.pieces, operands: append([]*expression(nil), at.operands...), closed: at.closed}
				c.operands[k] = o
				return c
			}
			done := false
			for _, s := range simplest {
				o := at.operands[k]
				if o.size() == 1 && len(o.String()) <= len(s) {
					continue
				}
				if w := replace(text(s)); keep(whole(w)) {
					at, done = w, true
					break
				}
			}
			for again := !done; again; {
				again = false
				for _, o := range descendants(at.operands[k], nil) {
					if w := replace(o); keep(whole(w)) {
						at, again = w, true
						break
					}
				}
			}
			inside(at.operands[k], func(o *expression) *expression {
				c := &expression{pieces: at.pieces, operands: append([]*expression(nil), at.operands...), closed: at.closed}
				c.operands[k] = o
				at = c
				return whole(c)
			})
		}
	}
	best := e
	remember := keep
	keep = func(o *expression) bool {
		if remember(o) {
			best = o
			return true
		}
		return false
	}
	inside(e, func(o *expression) *expression { return o })
	return best
}

func descendants(e *expression, into []*expression) []*expression {
	for _, o := range e.operands {
		into = descendants(o, append(into, o))
	}
	return into
}

// shrinkData shrinks the schema and the values together.
func shrinkData(d *disagreement, still func(*Case, Values) bool) {
	schema := d.c.Schema.Clone()
	var body *jsontree.Node
	if d.v.Self != nil {
		body = jsontree.Obj("self", d.v.Self.Clone())
		if d.v.Old != nil {
			body.Set("old", d.v.Old.Clone())
		}
	}
	shrink.Documents(func() bool {
		c := *d.c
		c.Schema = schema.Clone()
		v := Values{}
		if body != nil {
			v = Values{Self: clone(body.Get("self")), Old: clone(body.Get("old"))}
			if v.Self == nil || !v.decodable() {
				return false
			}
		}
		if decl, err := declare(c.Schema, c.resource()); err != nil || decl == nil || !still(&c, v) {
			return false
		}
		d.c, d.v = &c, v
		return true
	}, shrinkTries/2, body, schema)
}

func clone(n *jsontree.Node) *jsontree.Node {
	if n == nil {
		return nil
	}
	return n.Clone()
}
