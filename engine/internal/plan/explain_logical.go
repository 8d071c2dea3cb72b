package plan

import (
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/value"
)

// operators is the schemaPropsValidator with its own count: anyOf, oneOf, allOf, not, in this order, and dependencies.
func (e *explainer) operators(v *Validation, i uint32) (matches int) {
	var important []draft
	if len(v.AnyOf) > 0 {
		m, kept := e.anyOf(v.AnyOf, i)
		matches, important = matches+m, append(kept, important...)
	}
	if len(v.OneOf) > 0 {
		m, kept := e.oneOf(v.OneOf, i)
		matches, important = matches+m, append(kept, important...)
	}
	if len(v.AllOf) > 0 {
		m, kept := e.allOf(v.AllOf, i)
		matches, important = matches+m, append(kept, important...)
	}
	if v.Not != nil {
		e.quiet++
		start := len(e.found)
		e.branch("not", -1, v.Not, i)
		e.quiet--
		valid := len(e.found) == start
		e.cut(start)
		if valid {
			e.summary("not", i, "%q must not validate the schema (not)")
		}
	}
	if v.Legacy != nil && len(v.Legacy.Dependencies) > 0 && e.d.Nodes[i].Kind == value.Object {
		matches += e.dependencies(v.Legacy, i)
	}
	e.keep(important)
	return matches + 1
}

// branch validates one branch and keeps its errors in found. k is -1 for a single branch. Errors within a branch are
// never ratcheted.
func (e *explainer) branch(keyword string, k int, n *Node, i uint32) (matches int) {
	floor, pair := e.floor, e.pair
	e.floor = len(e.found)
	if quirk.On(quirk.LogicalOperatorsNotRatcheted) {
		e.pair = Pair{}
	}
	e.enter(step{kind: stepBranch, name: keyword, index: k})
	matches = e.value(n, i)
	e.leave()
	e.floor, e.pair = floor, pair
	return matches
}

// better reports whether a failed branch with m matches replaces the best one so far: the first of those with most.
func better(first bool, m, best int) bool {
	return first || m > best && quirk.On(quirk.BestBranchReported)
}

func (e *explainer) anyOf(branches []*Node, i uint32) (matches int, important []draft) {
	start := len(e.found)
	var failures []draft
	most, failed := 0, false
	e.try()
	defer e.tried()
	for k, n := range branches {
		m := e.branch("anyOf", k, n, i)
		if len(e.found) == start {
			e.drop(failures)
			return m, nil
		}
		important = e.important(important, start)
		if better(!failed, m, most) {
			most, failed, failures = m, true, e.instead(failures, start)
		}
		e.cut(start)
	}
	e.summary("anyOf", i, "%q must validate at least one schema (anyOf)")
	e.found = append(e.found, failures...)
	return most, important
}

// instead moves the errors from start on from found to failures, which it replaces.
func (e *explainer) instead(failures []draft, start int) []draft {
	e.drop(failures)
	failures = append(failures[:0], e.found[start:]...)
	e.found = e.found[:start]
	return failures
}

func (e *explainer) oneOf(branches []*Node, i uint32) (matches int, important []draft) {
	start := len(e.found)
	var failures []draft
	most, failed, valid, first := 0, false, 0, 0
	e.try()
	defer e.tried()
	for k, n := range branches {
		m := e.branch("oneOf", k, n, i)
		if len(e.found) == start {
			if valid++; valid == 1 {
				first = m
			}
			important = nil
			continue
		}
		important = e.important(important, start)
		if valid == 0 && better(!failed, m, most) {
			most, failed, failures = m, true, e.instead(failures, start)
		}
		e.cut(start)
	}
	if valid > 0 {
		e.drop(failures)
	}
	switch valid {
	case 1:
		return first, important
	case 0:
		e.summary("oneOf", i, "%q must validate one and only one schema (oneOf). Found none valid")
		e.found = append(e.found, failures...)
		return most, important
	default:
		e.summary("oneOf", i, fmt.Sprintf("%%q must validate one and only one schema (oneOf). Found %d valid alternatives", valid))
		return 0, important
	}
}

func (e *explainer) allOf(branches []*Node, i uint32) (matches int, important []draft) {
	valid := 0
	for k, n := range branches {
		start := len(e.found)
		matches += e.branch("allOf", k, n, i)
		if len(e.found) == start {
			valid++
		}
		important = e.important(important, start)
	}
	switch {
	case valid == len(branches):
	case valid == 0:
		e.summary("allOf", i, "%q must validate all the schemas (allOf). None validated")
	default:
		e.summary("allOf", i, "%q must validate all the schemas (allOf)")
	}
	return matches, important
}

const importantMark = "IMPORTANT!"

// important appends the errors from start on whose text begins with upstream's marker: without the marker and without a
// path. Only a property with such a name causes one.
func (e *explainer) important(kept []draft, start int) []draft {
	for _, f := range e.found[start:] {
		if rest, marked := strings.CutPrefix(f.text, importantMark); marked {
			f.text = rest
			f.Error = e.at.plain(rest)
			kept = append(kept, f)
		}
	}
	return kept
}

// marked reports whether texts about the current path can begin with the marker.
func (e *explainer) marked() bool {
	for k := range e.steps {
		switch s := &e.steps[k]; s.kind {
		case stepBranch:
		case stepProperty:
			if s.name != "" {
				return strings.HasPrefix(s.name, importantMark)
			}
		default:
			return false
		}
	}
	return false
}
