package plan

import (
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// These keywords occur only in schemas that are not structural, which API servers no longer accept. They are validated
// as kube-openapi does it, for CRDs that were stored before.

// patternProperties validates a member with all patterns that match its name. Upstream does so up to three times, which
// affects only the match count. No other schema applies to undeclared members that match.
func (e *explainer) patternProperties(n *Node, l *Legacy, key string, member uint32, declared bool) (matches int,
	matched bool) {
	for k := range l.PatternProperties {
		p := &l.PatternProperties[k]
		if hit, _ := p.Pattern.Match(key, e.at.Stop); !hit {
			continue
		}
		matched = true
		e.enter(step{kind: stepPattern, name: key, via: p.Pattern.Source})
		m := e.value(p.Node, member)
		e.leave()
		times := 2
		if n.Has(AdditionalFalse) {
			times--
		}
		if !declared {
			times++
		}
		matches += times * m
	}
	return matches, matched
}

// dependencies validates an object with the dependencies of its members.
func (e *explainer) dependencies(l *Legacy, object uint32) (matches int) {
	for k := range l.Dependencies {
		dep := &l.Dependencies[k]
		if e.d.Field(object, dep.Name) == 0 {
			continue
		}
		if dep.Node != nil {
			e.enter(step{kind: stepDependency, name: dep.Name})
			matches += e.value(dep.Node, object)
			e.leave()
			continue
		}
		for _, name := range dep.Names {
			if e.d.Field(object, name) == 0 {
				e.summary("dependencies", object, "%q has a dependency on %s", name)
			}
		}
	}
	return matches
}

// legacyElements validates the elements of an array with a list of schemas and additionalItems.
func (e *explainer) legacyElements(l *Legacy, i uint32) (matches int) {
	k := 0
	for c := e.d.Nodes[i].First; c != 0; c, k = e.d.Nodes[c].Next, k+1 {
		if k < len(l.ItemList) {
			e.enter(step{kind: stepItem, index: k, via: "items/" + strconv.Itoa(k)})
			matches += e.value(l.ItemList[k], c)
			e.leave()
		}
	}
	if !l.AdditionalItemsSet || len(l.ItemList) >= k {
		return matches
	}
	if len(l.ItemList) > 0 && !l.AdditionalItemsAllowed {
		const text = "array doesn't allow for additional items"
		e.report("additionalItems", i, nil, unplaced(e.dotted()), text, field.Invalid(nil, "", text))
	}
	if l.AdditionalItems == nil {
		return matches
	}
	// Upstream stops one short of a list of schemas, and runs past the end of the array without such a list.
	end := k - len(l.ItemList) + 1
	k = 0
	for c := e.d.Nodes[i].First; c != 0; c, k = e.d.Nodes[c].Next, k+1 {
		if k >= len(l.ItemList) && k < end {
			e.enter(step{kind: stepItem, index: k, via: "additionalItems"})
			matches += e.value(l.AdditionalItems, c)
			e.leave()
		}
	}
	return matches
}

// unique reports an array with two deeply equal elements.
func (e *explainer) unique(i uint32) {
	list, _ := e.d.Any(i).([]any)
	for k, x := range list {
		if e.done = e.done || e.at.Stop.Stopped(); e.done {
			return // comparing all pairs takes long
		}
		for _, y := range list[:k] {
			if reflect.DeepEqual(x, y) {
				e.invalid("uniqueItems", i, "", " in body shouldn't contain duplicates")
				return
			}
		}
	}
}
