package admission

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/internal/value"
)

// read parses the body for the first time and looks at apiVersion and kind. A body that upstream could not read leaves a
// refusal in p.unread; the error is a Fault.
func (p *pass) read() error {
	if err := p.parse(); err != nil {
		if limit := new(value.LimitError); errors.As(err, &limit) {
			return exceeded(err)
		}
		if late := expired(p.ctx); late != nil {
			return late
		}
		return p.unreadable(err)
	}
	// Of duplicate keys upstream's look at apiVersion and kind sees all, and the tree the last.
	if p.d.HasDuplicates(p.text) || !p.typeMeta() {
		return p.oddTypeMeta()
	}
	return nil
}

// parse parses the body, again if it must be: the body of the request in an emptied Doc then.
func (p *pass) parse() (err error) {
	if p.json == nil {
		p.json = p.r.Body
		if p.r.YAML {
			if p.json, p.yaml, err = value.YAMLToJSON(p.r.Body, p.r.Limits); err != nil {
				p.json = nil
				return err
			}
		}
	} else if p.text == value.Request {
		p.d.Reset()
	}
	if p.yaml != nil {
		p.root, err = p.d.ParseFromYAML(p.json, p.yaml, p.text, p.r.Limits)
	} else {
		p.root, err = p.d.Parse(p.json, p.text, p.r.Limits)
	}
	return err
}

// unreadable asks upstream's serializer for its words about a body that was refused.
func (p *pass) unreadable(err error) error {
	of, cause := p.ask()
	if cause == nil { // upstream reads it, we do not: a second document in a YAML stream
		of, cause = nil, err
	}
	p.unread = p.undecodable(of, cause)
	return nil
}

// ask decodes the body as upstream does: that of a request by the request's serializer, any other by the storage's.
func (p *pass) ask() (*schema.GroupVersionKind, error) {
	switch {
	case p.source != fromRequest:
	case p.r.Patched:
		asked := *p.r
		asked.Body = p.patching.tree.Printed()
		return decodeUpstream(&asked, nil) // what a patch took away is gone
	default:
		of := p.endpointKind()
		return decodeUpstream(p.r, &of)
	}
	text := p.json
	if text == nil {
		text = p.r.Body
	}
	_, of, err := unstructured.UnstructuredJSONScheme.Decode(text, nil, &unstructured.Unstructured{})
	return of, err
}

// undecodable is the answer to a body that could not be decoded: a bad request, or from storage an error of the server.
func (p *pass) undecodable(of *schema.GroupVersionKind, cause error) *Refusal {
	switch p.source {
	case fromStorage:
		return serverError(cause.Error())
	case fromCaller:
		return badRequest(cause.Error(), cause.Error())
	}
	if p.r.Patched {
		return p.refusedPatched(cause.Error())
	}
	return undecodable(p.def.Kind, of, cause, p.r.Body)
}

// source says where a body comes from, which shapes how it is decoded and how a refusal is worded.
type source uint8

const (
	fromRequest source = iota // a write, decoded by the request handler
	fromStorage               // bytes of a storage, or an object on its way there
	fromCaller                // neither: the caller wants one step of the pipeline by itself
)

func (p *pass) endpointKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: p.def.Group, Version: p.r.Version, Kind: p.def.Kind}
}

// typeMeta reads apiVersion and kind off the tree. False: something about them is odd.
func (p *pass) typeMeta() bool {
	d := p.d
	if d.Nodes[p.root].Kind != value.Object {
		return false
	}
	apiVersion, kind := "", ""
	for c := d.Nodes[p.root].First; c != 0; c = d.Nodes[c].Next {
		switch key := d.Key(c); key {
		case "apiVersion":
			if d.Nodes[c].Kind != value.String {
				return false
			}
			apiVersion = d.Str(c)
		case "kind":
			if d.Nodes[c].Kind != value.String {
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

// identify takes the object for what it says it is.
func (p *pass) identify(apiVersion, kind string) {
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "", apiVersion
	}
	// The names of the definition outlive the Doc, so that nothing need be copied in the ordinary case.
	if p.matches = group == p.def.Group && kind == p.def.Kind; p.matches {
		if p.own = p.def.Find(version); p.own != nil {
			p.of = schema.GroupVersionKind{Group: p.def.Group, Version: p.own.Name, Kind: p.def.Kind}
			return
		}
	}
	p.of = schema.GroupVersionKind{Group: strings.Clone(group), Version: strings.Clone(version), Kind: strings.Clone(kind)}
}

// foldsToTypeMeta reports keys that encoding/json, which upstream uses to look for apiVersion and kind, takes for them.
func foldsToTypeMeta(key string) bool {
	switch len(key) {
	case len("kind"), len("kind") + 2: // K may be written as the Kelvin sign, three bytes long
		return strings.EqualFold(key, "kind")
	case len("apiVersion"), len("apiVersion") + 1: // s may be written as the long s, two bytes long
		return strings.EqualFold(key, "apiVersion")
	}
	return false
}

// oddTypeMeta lets upstream judge an object whose apiVersion or kind is absent, empty, malformed or no string, or that has a
// key which differs from them by case, or duplicate keys.
func (p *pass) oddTypeMeta() error {
	of, err := p.ask()
	if err != nil {
		p.unread = p.undecodable(of, err)
		return nil
	}
	if p.d.Nodes[p.root].Kind != value.Object {
		return internal(errors.New("a document that is no object was read as one"))
	}
	// What upstream's coercion says about them comes next: a null is no string to it.
	for _, key := range [...]string{"kind", "apiVersion"} {
		if _, err := nestedString(p.d, p.root, key); err != nil && !p.held {
			p.unread = p.undecodable(of, err)
			return nil
		}
	}
	p.identify(of.GroupVersion().String(), of.Kind)
	return nil
}
