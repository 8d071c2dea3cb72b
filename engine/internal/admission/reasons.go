package admission

import (
	"errors"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// reject rejects the request for some reasons, whose positions it sets.
func (p *pass) reject(r *Rejection, reasons ...violation.Violation) {
	p.out.Rejection, p.out.Violations = r, p.placed(reasons)
}

// rejected returns the Fault of a body that is rejected where no outcome can say so.
func (p *pass) rejected(r *Rejection, reasons ...violation.Violation) error {
	if len(reasons) == 0 {
		reasons = []violation.Violation{otherReason(r)}
	}
	return &Fault{Code: ObjectRejected, Text: r.Message, Rejection: r, Violations: p.placed(reasons)}
}

// otherReason returns the reason of a rejection that is not about a value.
func otherReason(r *Rejection) violation.Violation {
	text, _, _ := strings.Cut(r.Cause, "\n")
	return violation.Reason(violation.Request, violation.TypeRejected, "", violation.Shorten(text, longestReason), nil)
}

// longestReason bounds texts of others in a reason, in bytes.
const longestReason = 500

// conclude gives every rejection a reason, and ends what holdStrict began.
func (p *pass) conclude(err error) error {
	if h := p.decided; h != nil {
		next := p.out.Violations
		if err != nil {
			next = nil // API servers do not get that far
		}
		p.decided, p.out = nil, *h
		if p.out.Next = next; expired(p.ctx) == nil {
			err = nil
		}
	}
	if r := p.out.Rejection; r != nil && err == nil && len(p.out.Violations) == 0 {
		p.out.Violations = []violation.Violation{otherReason(r)}
	}
	return err
}

// holdStrict lets the evaluation of a whole write that strict decoding rejects continue, to find the violations that
// remain once unknown and duplicate fields are fixed: Outcome.Next.
func (p *pass) holdStrict() (held bool) {
	if p.r.Stage != StageWhole || p.decided != nil || p.r.Old != nil && !p.def.renames() && !p.def.Declared {
		return false // API servers do not call a webhook for an object that they reject
	}
	outcome := p.out
	p.decided = &outcome
	p.out.Rejection, p.out.Violations, p.out.Strict = nil, nil, nil
	p.storing, p.r = false, p.r.withoutOutput()
	return true
}

// placed sets the positions of reasons, which do not depend on the Doc afterwards.
func (p *pass) placed(reasons []violation.Violation) []violation.Violation {
	for i := range reasons {
		v := &reasons[i]
		if v.Position == (tree.Position{}) && p.text == tree.Request && (v.Node != 0 || len(v.Path) > 0) {
			v.Position = v.Locate(p.d)
		}
		v.Node = 0
	}
	return reasons
}

// about returns a reason about a member of the object, given by its keys.
func (p *pass) about(step violation.Step, message string, keys ...string) violation.Violation {
	v := aboutMember(step, message, keys...)
	v.Node, _ = p.d.Finder().Deepest(p.root, v.Path)
	return v
}

func aboutMember(step violation.Step, message string, keys ...string) violation.Violation {
	at := make(tree.Path, len(keys))
	for i, key := range keys {
		at[i] = tree.Name(key)
	}
	return violation.Reason(step, violation.TypeRejected, at.Dotted(), message, at)
}

// SyntaxReason returns the reason of a text that cannot be parsed.
func SyntaxReason(err error) violation.Violation {
	message, at := err.Error(), tree.Position{}
	if syntax, ok := errors.AsType[*tree.SyntaxError](err); ok {
		message, at = syntax.Sentence(), syntax.Position()
	}
	v := violation.Reason(violation.Decode, violation.TypeSyntax, "", violation.Shorten(message, longestReason), nil)
	v.Position = at
	return v
}

// typeMetaReasons returns the reasons of an object whose apiVersion or kind cannot be read. cause is upstream's.
func (p *pass) typeMetaReasons(cause *Rejection) (list []violation.Violation) {
	d := p.d
	if kind := d.Nodes[p.root].Kind; kind != tree.Object {
		v := violation.Reason(violation.Decode, violation.TypeDecode, "", violation.WrongType("object", kind), nil)
		v.Node = p.root
		return append(list, v)
	}
	for _, key := range [...]string{"apiVersion", "kind"} {
		at, c := tree.Path{tree.Name(key)}, d.Field(p.root, key)
		var v violation.Violation
		switch kind := d.Nodes[c].Kind; {
		case c == 0 || kind == tree.String && d.Str(c) == "":
			v = violation.Reason(violation.Decode, violation.TypeDecode, key, "must be set", at)
		case kind != tree.String:
			v = violation.Reason(violation.Decode, violation.TypeDecode, key, violation.WrongType("string", kind), at)
			v.Want = "string"
		case key == "apiVersion" && strings.Count(d.Str(c), "/") > 1:
			v = violation.Reason(violation.Decode, violation.TypeDecode, key, "must be GROUP/VERSION", at)
			v.BadValue = strings.Clone(d.Str(c))
		default:
			continue
		}
		if v.Node = c; c == 0 {
			v.Node = p.root
		}
		list = append(list, v)
	}
	if len(list) == 0 { // keys that differ by case, duplicate keys
		v := otherReason(cause)
		v.Step, v.Type, v.Node = violation.Decode, violation.TypeDecode, p.root
		list = append(list, v)
	}
	return list
}

// otherVersionReason returns the reason of otherVersion.
func (p *pass) otherVersionReason(want string) violation.Violation {
	return p.about(violation.Request, "does not match the version of the request, "+want, "apiVersion")
}

// malformed returns the reasons of metadata that cannot be decoded. at is its path. cause is upstream's.
func (p *pass) malformed(meta uint32, at tree.Path, cause error) []violation.Violation {
	list := violation.Mismatches(p.d, meta, at, reflect.TypeFor[metav1.ObjectMeta]())
	if len(list) == 0 {
		text := violation.Shorten(cause.Error(), longestReason)
		v := violation.Reason(violation.Decode, violation.TypeDecode, at.Bracketed(), text, at)
		v.Node = meta
		list = append(list, v)
	}
	return list
}

// otherNameReason returns the reason of a name that is not that of the request.
func (p *pass) otherNameReason() violation.Violation {
	return p.about(violation.Request, "does not match the name of the request, "+strconv.Quote(p.r.Name), "metadata", "name")
}
