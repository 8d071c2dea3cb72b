// Package explain knows what kubectl explain prints about a resource and its fields: the text of kubectl's plaintext
// template over an OpenAPI v3 document, line by line, oddities included. It does not know how documents are made
// (engine/internal/openapi does), nor which resource somebody means.
//
// (k8s.io/kubectl/pkg/explain/v2/templates/plaintext.tmpl)
package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Request is what is to be explained.
type Request struct {
	Group, Version, Kind string
	// Path leads to a field by the names of properties; items of lists and values of maps are entered without saying
	// so. Empty: the resource itself.
	Path []string
	// Recursive lists the fields of fields, down to MaxDepth levels, 0 being all of them.
	Recursive bool
	MaxDepth  int
	// MaxBytes bounds the text.
	MaxBytes int
}

// NoFieldError says that there is no such field.
type NoFieldError struct{ Field string }

// Error returns kubectl's text.
func (e *NoFieldError) Error() string { return fmt.Sprintf("field %q does not exist", e.Field) }

// ErrTooLong is the error of a text of more than MaxBytes.
var ErrTooLong = errors.New("the explanation is too long")

// Text explains by a document of v3.
func Text(document []byte, r Request) (string, error) {
	p := &printer{request: &r}
	if err := json.Unmarshal(document, &p.document); err != nil {
		return "", err
	}
	p.print("GROUP:      ", r.Group, "\nKIND:       ", r.Kind, "\nVERSION:    ", r.Version, "\n\n")
	s := p.find()
	if s == nil {
		return "", fmt.Errorf("the document does not define %s of %s/%s", r.Kind, r.Group, r.Version)
	}
	before := p.out.Len()
	p.output(s, r.Path, nil)
	if p.out.Len() == before {
		return "", &NoFieldError{Field: r.Path[len(r.Path)-1]}
	}
	p.print("\n")
	if p.full {
		return "", ErrTooLong
	}
	return p.out.String(), nil
}

// object is a JSON object.
type object = map[string]any

// printer writes one explanation.
type printer struct {
	request  *Request
	document object
	out      strings.Builder
	full     bool
}

func (p *printer) print(texts ...string) {
	for _, text := range texts {
		if p.full = p.full || p.out.Len()+len(text) > p.request.MaxBytes; !p.full {
			p.out.WriteString(text)
		}
	}
}

// find returns the definition of the kind: the first that says it is, in the order of names.
func (p *printer) find() object {
	r := p.request
	schemas := member(member(p.document, "components"), "schemas")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s := member(schemas, name)
		for _, gvk := range list(s, "x-kubernetes-group-version-kind") {
			if gvk, _ := gvk.(object); len(gvk) == 3 && gvk["group"] == r.Group && gvk["version"] == r.Version && gvk["kind"] == r.Kind {
				return s
			}
		}
	}
	return nil
}

// member returns a member that is an object; nil if it is something else, or empty, which kubectl does not tell from
// absent.
func member(of object, name string) object {
	o, _ := of[name].(object)
	if len(o) == 0 {
		return nil
	}
	return o
}

func list(of object, name string) []any {
	l, _ := of[name].([]any)
	return l
}

func text(of object, name string) string {
	s, _ := of[name].(string)
	return s
}

// resolve follows the reference of a schema, and returns it, too. A schema without one, or with one that leads nowhere,
// is itself.
func (p *printer) resolve(s object) (resolved object, ref string) {
	ref = text(s, "$ref")
	if target := p.target(ref); target != nil {
		return target, ref
	}
	return s, ref
}

// target returns what a reference leads to inside the document, nil if it does not.
func (p *printer) target(ref string) object {
	rest, inside := strings.CutPrefix(ref, "#/")
	if !inside {
		return nil
	}
	at := p.document
	for _, name := range strings.Split(rest, "/") {
		if at = member(at, name); at == nil {
			return nil
		}
	}
	return at
}
