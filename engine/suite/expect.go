package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/kubeserver"
)

// expectation is what a test expects of its last write.
type expectation struct {
	of         node
	rejected   bool
	errorText  string // a part of the message of the rejection
	causes     []cause
	hasCauses  bool
	moreCauses bool // others may occur
	warnings   []string
	noOthers   bool           // warnings are all warnings
	result     []byte         // a part of the object
	whole      []byte         // the object, without metadata that it does not list
	older      *regexp.Regexp // matches the error with values as older versions of Kubernetes print them; may be nil
	// parts compares only these fields of the object with whole; nil: all.
	parts []string
}

// cause is an expected violation. Empty fields match all.
type cause struct {
	line                 int
	field, kind, message string
	matches              *regexp.Regexp
}

func readExpectation(of node, fields map[string]node) *expectation {
	e := &expectation{of: of, errorText: fields["error"].text(), moreCauses: fields["moreCauses"].boolean(),
		result: fields["result"].mapping(), whole: fields["wholeResult"].mapping(),
		warnings: fields["warnings"].texts(), noOthers: fields["warnings"].present(), hasCauses: fields["causes"].present()}
	for _, n := range fields["causes"].list() {
		e.causes = append(e.causes, readCause(n))
	}
	explains := e.errorText != "" || e.hasCauses
	expected := fields["expect"].oneOf("allowed", "rejected")
	e.rejected = expected == "rejected" || explains
	switch {
	case expected == "allowed" && explains:
		fields["expect"].wrong("an allowed write has no causes and no error")
	case e.moreCauses && len(e.causes) == 0:
		fields["moreCauses"].wrong("moreCauses needs causes")
	case e.rejected && (e.result != nil || e.whole != nil):
		of.wrong("a rejected write has no result")
	case e.result != nil && e.whole != nil:
		fields["wholeResult"].wrong("a test has result or wholeResult, not both")
	}
	return e
}

func readCause(n node) cause {
	c := cause{line: n.line()}
	if n.isKind('"') { // a field
		c.field = n.text()
		return c
	}
	fields := n.strictFields("field", "type", "message", "matches")
	c.field, c.kind, c.message = fields["field"].text(), fields["type"].text(), fields["message"].text()
	if matches := fields["matches"]; matches.present() {
		var err error
		if c.matches, err = regexp.Compile(matches.text()); err != nil {
			matches.wrong("matches: %v", err)
		}
	}
	if c.field+c.kind+c.message == "" && !fields["matches"].present() {
		n.wrong("the cause needs a field, a type, a message or matches")
	}
	return c
}

// String describes the cause.
func (c *cause) String() string {
	var parts []string
	if c.field != "" {
		parts = append(parts, "at "+c.field)
	}
	if c.kind != "" {
		parts = append(parts, "of type "+c.kind)
	}
	if c.message != "" {
		parts = append(parts, fmt.Sprintf("with the message %q", c.message))
	}
	if c.matches != nil {
		parts = append(parts, "with a message that matches "+c.matches.String())
	}
	return strings.Join(parts, " ")
}

func (c *cause) match(v *Violation) bool {
	return (c.field == "" || c.field == v.Field) && (c.kind == "" || c.kind == v.Type) &&
		strings.Contains(v.Message, c.message) && (c.matches == nil || c.matches.MatchString(v.Message))
}

// Failure is a difference between what a test expects and what happened.
type Failure struct {
	// Line is the line of the expectation in the file of the suite.
	Line     int    `json:"line"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// check returns the differences between the answer and what is expected. If one is allowed and the other is rejected,
// that is the only difference.
func (e *expectation) check(a *answer) (failures []Failure, olderText bool) {
	add := func(line int, expected, got string) { failures = append(failures, Failure{line, expected, got}) }
	switch {
	case e.rejected && a.Allowed:
		expected := "rejected"
		if e.errorText != "" {
			expected += fmt.Sprintf(" with an error that contains %q", e.errorText)
		}
		for i := range e.causes {
			expected += ", with a cause " + e.causes[i].String()
		}
		add(e.of.line(), expected, "allowed")
	case !e.rejected && !a.Allowed:
		add(e.of.line(), "allowed", "rejected: "+a.message)
	case e.rejected:
		if olderText = e.isOlder(a.message); !olderText && !strings.Contains(a.message, e.errorText) {
			add(e.of.line(), fmt.Sprintf("an error that contains %q", e.errorText), a.message)
		}
		e.checkCauses(a, add)
	default:
		e.checkResult(a, add)
	}
	if e.noOthers && len(failures) == 0 {
		e.checkWarnings(a, add)
	}
	return failures, olderText
}

// isOlder reports whether the expected error matches a message only by the pattern older.
func (e *expectation) isOlder(message string) bool {
	return !strings.Contains(message, e.errorText) && e.older != nil && e.older.MatchString(message)
}

// checkCauses finds a violation for each cause.
func (e *expectation) checkCauses(a *answer, add func(line int, expected, got string)) {
	if !e.hasCauses {
		return
	}
	causes := slices.DeleteFunc(slices.Clone(a.violations), func(v Violation) bool { return !kubeserver.IsCause(v.Type) })
	found, others := assign(len(e.causes), causes, func(i int, v *Violation) bool { return e.causes[i].match(v) })
	for i := range e.causes {
		if found[i] {
			continue
		}
		got := "no such cause"
		switch {
		case len(causes) == 0:
			got = "no causes, but the error: " + a.message
		case len(others) > 0:
			got += "; other causes: " + listed(others)
		}
		add(e.causes[i].line, "a cause "+e.causes[i].String(), got)
	}
	if e.moreCauses {
		return
	}
	for i := range others {
		add(e.of.lineOf("/causes"), "no other cause", others[i].String())
	}
}

// assign assigns a different element of a list to each of n expectations, to as many as possible (a maximum matching in
// a bipartite graph). found reports which expectations have an element. others are the elements without an expectation.
func assign[T any](n int, list []T, fits func(i int, element *T) bool) (found []bool, others []T) {
	takenBy := make([]int, len(list)) // the expectation plus 1; 0: free
	var place func(i int, tried []bool) bool
	place = func(i int, tried []bool) bool {
		for j := range list {
			if tried[j] || !fits(i, &list[j]) {
				continue
			}
			tried[j] = true
			if takenBy[j] == 0 || place(takenBy[j]-1, tried) {
				takenBy[j] = i + 1
				return true
			}
		}
		return false
	}
	found = make([]bool, n)
	for i := range found {
		found[i] = place(i, make([]bool, len(list)))
	}
	for j, by := range takenBy {
		if by == 0 {
			others = append(others, list[j])
		}
	}
	return found, others
}

// maxListed bounds the causes in a message.
const maxListed = 5

// listed returns the fields and types of violations.
func listed(list []Violation) string {
	var parts []string
	for i := range list[:min(len(list), maxListed)] {
		parts = append(parts, fmt.Sprintf("%s (%s)", list[i].Field, list[i].Type))
	}
	if more := len(list) - maxListed; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

func (e *expectation) checkWarnings(a *answer, add func(line int, expected, got string)) {
	line := e.of.lineOf("/warnings")
	found, others := assign(len(e.warnings), a.warnings, func(i int, warning *string) bool { return strings.Contains(*warning, e.warnings[i]) })
	for i, text := range e.warnings {
		if !found[i] {
			add(line, fmt.Sprintf("a warning that contains %q", text), "no such warning")
		}
	}
	for _, warning := range others {
		add(line, "no other warning", warning)
	}
}

func (e *expectation) checkResult(a *answer, add func(line int, expected, got string)) {
	var found []difference
	pointer := "/result"
	switch {
	case e.result != nil:
		found = differences(e.result, a.Object, false, nil)
	case e.whole != nil:
		pointer = "/wholeResult"
		if e.parts != nil {
			pointer = "/expected"
		}
		found = differences(e.whole, a.Object, true, e.parts)
	}
	for _, d := range found {
		add(e.of.lineOf(pointer+d.pointer), d.path+": "+d.expected, d.got)
	}
}
