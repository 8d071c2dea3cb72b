package admission

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// read parses the body and reads apiVersion and kind. It sets p.unread for a body that upstream cannot read. The error
// is a Fault.
func (p *pass) read() error {
	if err := p.parse(); err != nil {
		if limit := new(tree.LimitError); errors.As(err, &limit) {
			return exceeded(err)
		}
		if late := expired(p.ctx); late != nil {
			return late
		}
		if short := p.grow(tree.DecodedSize(p.r.Body)); short != nil {
			return short
		}
		of, cause := p.decodeForError()
		if cause == nil { // upstream reads only the first document of a YAML stream
			of, cause = nil, err
		}
		p.unread, p.because = p.undecodable(of, cause), []violation.Violation{SyntaxReason(err)}
		return nil
	}
	// Of duplicate keys, upstream considers all for apiVersion and kind, and the tree has the last.
	if p.d.HasDuplicates(p.text) || !p.typeMeta() {
		return p.oddTypeMeta()
	}
	return nil
}

// parse parses the body, or parses it again into an empty Doc.
func (p *pass) parse() (err error) {
	if p.json == nil {
		p.json = p.r.Body
		if p.r.YAML {
			if err := p.grow(tree.DecodedSize(p.r.Body)); err != nil {
				return err
			}
			p.json, p.yaml, p.root, err = p.d.ConvertYAML(p.r.Body, p.text, p.r.Origin, p.r.Limits)
			if p.r.Origin != nil && p.json != nil { // a client would send JSON
				p.r.Body, p.r.YAML = p.json, false
			}
			return err
		}
	} else if p.text == tree.Request {
		p.d.Reset()
	}
	p.root, err = p.parseAgain(p.d, p.r.Limits)
	return err
}

// parseAgain parses the body, as JSON, into a Doc.
func (p *pass) parseAgain(d *tree.Doc, l tree.Limits) (root uint32, err error) {
	if p.yaml != nil {
		return d.ParseFromYAML(p.json, p.yaml, p.text, l)
	}
	return d.ParseAt(p.json, p.text, p.r.Origin, l)
}

// decodeForError decodes the body with upstream's serializer: that of requests, or that of the storage.
func (p *pass) decodeForError() (*schema.GroupVersionKind, error) {
	switch {
	case p.source != fromRequest:
	case p.r.Patched:
		asked := p.r
		asked.Body = p.patching.tree.Printed()
		return decodeUpstream(&asked, nil) // without what the patch removed
	case p.r.Stage == StageFinish:
		return decodeUpstream(&p.r, nil) // without what mutating admission removed
	default:
		return decodeUpstream(&p.r, &schema.GroupVersionKind{Group: p.def.Group, Version: p.r.Version, Kind: p.def.Kind})
	}
	text := p.json
	if text == nil {
		text = p.r.Body
	}
	_, of, err := unstructured.UnstructuredJSONScheme.Decode(text, nil, &unstructured.Unstructured{})
	return of, err
}

// undecodable returns the rejection of a body that could not be decoded: a bad request, or a server error for bytes
// from storage and for an object of mutating admission.
//
// Upstream: endpoints/handlers/rest.go, transformDecodeError; admission/plugin/webhook/mutating/dispatcher.go.
func (p *pass) undecodable(of *schema.GroupVersionKind, cause error) *Rejection {
	switch p.source {
	case fromStorage:
		return serverError(cause.Error())
	case fromCaller:
		return badRequest(cause.Error(), cause.Error())
	}
	if p.r.Patched {
		return p.rejectPatched(cause.Error())
	}
	if p.r.Stage == StageFinish {
		return rejectionOf(apierrors.NewInternalError(cause))
	}
	return undecodable(p.def.Kind, of, cause, p.r.Body)
}

// source is the origin of a body. It decides how the body is decoded and how errors read.
type source uint8

const (
	fromRequest source = iota // a write, decoded by the request handler
	fromStorage               // bytes from storage or on their way there
	fromCaller                // a single step of the pipeline
)

// typeMeta reads apiVersion and kind from the tree. It returns false if they need upstream's decoder.
func (p *pass) typeMeta() bool {
	d := p.d
	if d.Nodes[p.root].Kind != tree.Object {
		return false
	}
	apiVersion, kind := "", ""
	for c := d.Nodes[p.root].First; c != 0; c = d.Nodes[c].Next {
		switch key := d.Key(c); key {
		case "apiVersion":
			if d.Nodes[c].Kind != tree.String {
				return false
			}
			apiVersion = d.Str(c)
		case "kind":
			if d.Nodes[c].Kind != tree.String {
				return false
			}
			kind = d.Str(c)
		default:
			if foldsToTypeMeta(key) {
				return false
			}
		}
	}
	if kind == "" || apiVersion == "" || strings.Count(apiVersion, "/") > 1 {
		return false
	}
	p.identify(apiVersion, kind)
	return true
}

// identify sets the type of the object.
func (p *pass) identify(apiVersion, kind string) {
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "", apiVersion
	}
	if group == p.def.Group && kind == p.def.Kind {
		if v := p.def.Find(version); v != nil {
			p.declare(v)
			return
		}
	}
	p.own = nil
	p.of = schema.GroupVersionKind{Group: strings.Clone(group), Version: strings.Clone(version),
		Kind: strings.Clone(kind)}
}

// declare makes the object one of the CRD, at a version of it. The names of the definition outlive the Doc.
func (p *pass) declare(v *Version) {
	p.of, p.own = schema.GroupVersionKind{Group: p.def.Group, Version: v.Name, Kind: p.def.Kind}, v
}

// matches reports whether the object is of the CRD's group and kind. Only then it is shaped by a schema.
func (p *pass) matches() bool { return p.of.Kind == p.def.Kind && p.of.Group == p.def.Group }

// foldsToTypeMeta reports whether encoding/json takes a key for apiVersion or kind. It ignores case.
func foldsToTypeMeta(key string) bool {
	switch len(key) {
	case len("kind"), len("kind") + 2: // K can be the Kelvin sign, which has three bytes
		return strings.EqualFold(key, "kind")
	case len("apiVersion"), len("apiVersion") + 1: // s can be the long s, which has two bytes
		return strings.EqualFold(key, "apiVersion")
	}
	return false
}

// oddTypeMeta decodes an object with upstream's decoder if apiVersion or kind is absent, empty, malformed or not a
// string, or if keys are duplicate or differ from them by case.
func (p *pass) oddTypeMeta() error {
	if short := p.grow(tree.DecodedSize(p.r.Body)); short != nil {
		return short
	}
	of, err := p.decodeForError()
	if err != nil {
		p.unreadTypeMeta(p.undecodable(of, err))
		return nil
	}
	if p.d.Nodes[p.root].Kind != tree.Object {
		return internal(errors.New("a document that is no object was read as one"))
	}
	if p.r.Stage == StageFinish {
		p.identify(of.GroupVersion().String(), of.Kind)
		return nil
	}
	// Upstream's coercion follows: it does not take null for a string.
	for _, key := range [...]string{"kind", "apiVersion"} {
		if _, err := nestedString(p.d, p.root, key); err != nil && !p.held {
			p.unreadTypeMeta(p.undecodable(of, err))
			return nil
		}
	}
	p.identify(of.GroupVersion().String(), of.Kind)
	return nil
}

// unreadTypeMeta sets the rejection of a body whose apiVersion or kind cannot be read.
func (p *pass) unreadTypeMeta(r *Rejection) { p.unread, p.because = r, p.typeMetaReasons(r) }
