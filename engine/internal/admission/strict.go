package admission

import (
	"errors"
	"slices"
	"strings"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// StrictError is an error of strict decoding: an unknown field, or a duplicate one. The YAML decoder reports all duplicate
// fields in one error.
type StrictError struct {
	// Text is upstream's.
	Text string

	of      field.ErrorType
	field   string                // upstream's text of the path
	path    tree.Path             // of an unknown field that the plan found
	node    uint32                // at the path
	repeats []tree.DuplicatePlace // of duplicate fields
	at      tree.Position         // in the patch
}

// texts returns the upstream texts of unknown fields in the order of the list.
func texts(list []plan.Change) []string {
	all := make([]string, len(list))
	for i := range list {
		all[i] = list[i].Text
	}
	return all
}

// addUnknown adds unknown fields to the errors of strict decoding. Their paths are nil if only the texts are known. It
// adds nothing if memory is short.
func (p *pass) addUnknown(list []plan.Change) {
	const perText = 32 + int(unsafe.Sizeof(StrictError{})) // with the quoting text
	size := len(list) * perText
	for i := range list {
		size += len(list[i].Text)
	}
	if p.r.FieldValidation == Strict {
		size *= 6 // the errors, the texts of the rejection, and its violations
	}
	if p.grow(int64(size)) != nil {
		return
	}
	p.out.Strict = slices.Grow(p.out.Strict, len(list))
	for _, f := range list {
		p.out.Strict = append(p.out.Strict, StrictError{
			Text: `unknown field "` + f.Text + `"`, of: violation.TypeUnknownField, field: f.Text, path: f.Path, node: f.Node,
		})
	}
}

// addDuplicates adds the duplicate fields of the body to the errors of strict decoding.
func (p *pass) addDuplicates() {
	for duplicate := range p.d.Duplicates(tree.Request) {
		p.out.Strict = append(p.out.Strict, StrictError{
			Text: duplicate.Text, of: violation.TypeDuplicateField, field: duplicate.Path, repeats: duplicate.Places,
		})
	}
}

// reasons returns the violations of an error of strict decoding, one for each of its strictWarnings.
func (p *pass) reasons(s *StrictError) []violation.Violation {
	if s.of == violation.TypeDuplicateField {
		list := make([]violation.Violation, len(s.repeats))
		for i := range s.repeats {
			r := &s.repeats[i]
			text := s.field
			if text == "" {
				text = r.Path.Dotted()
			}
			list[i] = violation.Reason(violation.Decode, s.of, text, violation.MessageOf(s.of, ""), r.Path)
			list[i].Position, list[i].Repeat = r.Position, r
		}
		return list
	}
	v := violation.Reason(violation.Decode, s.of, s.field, violation.MessageOf(s.of, ""), s.path)
	switch {
	case s.at != (tree.Position{}):
		v.Position = s.at
	case s.path != nil:
		v.Position = p.keyPosition(p.d, s.node, s.path)
	default:
		if fields := p.sent(); fields != nil {
			if path, node := fields.find(fields.root, s.field, nil); node != 0 {
				v.Path, v.Position = path.Detach(), p.keyPosition(fields.d, node, path)
			}
		}
	}
	return []violation.Violation{v}
}

// strictReasons returns a violation for each unknown or duplicate field, as many as the limits allow. The rejection
// names all.
func (p *pass) strictReasons() (list []violation.Violation) {
	l := p.r.Limits.WithDefaults()
	size, known := 0, map[string]bool{}
	for i := range p.out.Strict {
		for _, v := range p.reasons(&p.out.Strict[i]) {
			id := string(v.Type) + v.Path.Pointer() + "\x00" + v.Field
			if known[id] {
				continue
			}
			known[id] = true
			size += violation.Size(v.Error)
			stopped := i%64 == 63 && p.stop.Stopped()
			if len(list) < l.MaxViolations && size <= l.MaxViolationBytes && !stopped {
				list = append(list, v)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b violation.Violation) int { return a.Position.Offset - b.Position.Offset })
	return list
}

// reportStrict rejects the errors of strict decoding, or adds them as warnings.
func (p *pass) reportStrict() (rejected bool) {
	if len(p.out.Strict) == 0 || p.r.FieldValidation != Strict {
		if !p.r.StrictApart {
			p.warnStrict()
		}
		return false
	}
	var r *Rejection
	switch cause := strictError(p.out.Strict); {
	case p.r.Patched:
		r = p.rejectPatched(cause.Error())
	case p.of.Version == "":
		// Upstream reads the kind from the decoded object, which has no version.
		text := runtime.NewMissingVersionErr("object has no apiVersion field").Error()
		r = badRequest(text, cause.Error())
	default:
		r = undecodable(p.of.Kind, &p.of, cause, p.r.Body)
	}
	p.out.Rejection, p.out.Violations = r, p.strictReasons()
	return !p.holdStrict()
}

// warnStrict adds the errors of strict decoding as warnings.
func (p *pass) warnStrict() {
	for i := range p.out.Strict {
		s := &p.out.Strict[i]
		var about []violation.Violation
		for k, text := range strictWarnings(s.Text) {
			w := violation.Warning{Type: s.of, Text: text}
			if p.warn(w) {
				if about == nil {
					about = p.reasons(s)
				}
				if k < len(about) {
					last := &p.out.Warnings[len(p.out.Warnings)-1]
					last.Field, last.Path, last.Position = about[k].Field, about[k].Path, about[k].Position
					last.Repeat = about[k].Repeat
				}
			}
		}
	}
}

// strictError returns upstream's strict decoding error.
func strictError(list []StrictError) error {
	errs := make([]error, len(list))
	for i := range list {
		errs[i] = errors.New(list[i].Text)
	}
	return runtime.NewStrictDecodingError(errs)
}

// strictWarnings returns the warnings for one strict error. The YAML decoder reports several errors in one text.
//
// Upstream: endpoints/handlers/rest.go, parseYAMLWarnings.
func strictWarnings(text string) []string {
	rest, ok := strings.CutPrefix(text, "yaml: unmarshal errors:\n")
	if !ok {
		if rest, ok = strings.CutPrefix(text, "error converting YAML to JSON: yaml: unmarshal errors:\n"); !ok {
			return []string{text}
		}
	}
	lines := strings.Split(rest, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}
