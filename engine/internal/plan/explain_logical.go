package plan

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// operators is the schemaPropsValidator with its own count: anyOf, oneOf, allOf, not, in this order, and dependencies.
func (e *explainer) operators(v *Validation, i uint32) (matches int) {
	var important []draft
	add := func(m int, marked []draft) { matches, important = matches+m, append(marked, important...) }
	if len(v.AnyOf) > 0 {
		add(e.choose("anyOf", v.AnyOf, i))
	}
	if len(v.OneOf) > 0 {
		add(e.choose("oneOf", v.OneOf, i))
	}
	if len(v.AllOf) > 0 {
		add(e.allOf(v.AllOf, i))
	}
	if v.Not != nil {
		e.not(v.Not, i)
	}
	if v.Legacy != nil && len(v.Legacy.Dependencies) > 0 && e.d.Nodes[i].Kind == tree.Object {
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

// choose validates the branches of an anyOf or a oneOf. If none is valid, it keeps the errors of the first of those
// with most matches. important are errors that are reported in any case.
func (e *explainer) choose(keyword string, branches []*Node, i uint32) (matches int, important []draft) {
	start, most, valid, first := len(e.found), 0, 0, 0
	var failures []draft
	e.trial++
	defer e.tried()
	for k, n := range branches {
		m := e.branch(keyword, k, n, i)
		if len(e.found) == start {
			if valid++; valid == 1 {
				first = m
			}
			important = nil
			if keyword == "anyOf" {
				break
			}
			continue
		}
		important = e.important(important, start)
		if valid == 0 && (failures == nil || m > most && quirk.On(quirk.BestBranchReported)) {
			e.drop(failures)
			most, failures, e.found = m, append(failures[:0], e.found[start:]...), e.found[:start]
		}
		e.cut(start)
	}
	if valid > 0 {
		e.drop(failures)
	}
	switch {
	case valid == 1:
		return first, important
	case valid > 1:
		e.summary(keyword, i, "%q must validate one and only one schema (oneOf). Found %d valid alternatives", valid)
		return 0, important
	case keyword == "anyOf":
		e.summary(keyword, i, "%q must validate at least one schema (anyOf)")
	default:
		e.summary(keyword, i, "%q must validate one and only one schema (oneOf). Found none valid")
	}
	e.found = append(e.found, failures...)
	return most, important
}

// tried ends a trial, whose errors may have been dropped.
func (e *explainer) tried() {
	if e.trial--; e.trial == 0 && !e.at.Budget.Fits() {
		e.done = true
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

// not reports that the schema of a not is valid. Its errors are not reported, so one of each branch is enough, unless
// some may be important.
func (e *explainer) not(n *Node, i uint32) {
	start, brief := len(e.found), e.brief
	e.brief = !e.marked
	e.trial++
	e.branch("not", -1, n, i)
	e.brief = brief
	valid := len(e.found) == start
	e.cut(start)
	e.tried()
	if valid {
		e.summary("not", i, "%q must not validate the schema (not)")
	}
}

const importantMark = "IMPORTANT!"

// important appends the errors from start on whose text begins with upstream's marker: without the marker and without a
// path. Only a property with such a name causes one.
func (e *explainer) important(list []draft, start int) []draft {
	for _, f := range e.found[start:] {
		if rest, marked := strings.CutPrefix(f.text, importantMark); marked {
			f.text, f.Error = rest, field.Invalid(nil, "", rest)
			e.at.setField(f.Error, "")
			list = append(list, f)
		}
	}
	return list
}
