package admission

import (
	"context"
	"errors"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/program"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/violation"
)

// pass is one evaluation: the request, the document as it stands, what is known about it so far. Passes are pooled, with the
// request and the outcome in them, so that an evaluation allocates little but its answer.
type pass struct {
	request Request
	outcome Outcome

	ctx  context.Context
	def  *Definition
	r    *Request // &request
	out  *Outcome // &outcome
	stop *program.Stop

	d      *value.Doc
	root   uint32
	warned map[string]struct{} // the texts in out.Warnings, nil until one is added to the version's own

	json []byte            // the body as JSON
	yaml *value.YAMLSource // where it stood in YAML

	source  source
	held    bool                    // the body is an object that a converter holds: nothing was coerced before
	of      schema.GroupVersionKind // what the object says it is
	unread  *Refusal                // why apiVersion and kind could not be read, or what is wrong with them
	matches bool                    // of the CRD's group and kind: only then is it shaped by a schema
	own     *Version                // the version that it says it is of, nil if the CRD has none such
}

var passes = sync.Pool{New: func() any { return new(pass) }}

// run evaluates one request. A panic below leaves the Doc and the pass to the garbage collector: they must not go back into
// their pools.
func (d *Definition) run(ctx context.Context, r *Request, do func(*pass) error) (Outcome, error) {
	if err := expired(ctx); err != nil {
		return Outcome{}, err
	}
	p := passes.Get().(*pass)
	p.request, p.ctx, p.def, p.d = *r, ctx, d, value.Acquire()
	p.r, p.out = &p.request, &p.outcome
	if done := ctx.Done(); done != nil {
		p.stop = program.StopOn(done)
	}
	err := do(p)
	p.d.Release()
	out := p.outcome
	out.Warnings = Sent(out.Warnings)
	*p = pass{}
	passes.Put(p)
	if late := expired(ctx); late != nil {
		return out, late
	}
	return out, err
}

// read parses the body for the first time and looks at apiVersion and kind. A body that upstream could not read leaves a
// refusal in p.unread; the error is a Fault.
func (p *pass) read() error {
	if err := p.parse(); err != nil {
		if limit := new(value.LimitError); errors.As(err, &limit) {
			return exceeded(err)
		}
		return p.unreadable(err)
	}
	// Of duplicate keys upstream's look at apiVersion and kind sees all, and the tree the last.
	if p.d.HasDuplicates(value.Request) || !p.typeMeta() {
		return p.oddTypeMeta()
	}
	return nil
}

// parse parses the body, again if it must be.
func (p *pass) parse() (err error) {
	if p.json == nil {
		p.json = p.r.Body
		if p.r.YAML {
			if p.json, p.yaml, err = value.YAMLToJSON(p.r.Body, p.r.Limits); err != nil {
				p.json = nil
				return err
			}
		}
	} else {
		p.d.Reset()
	}
	if p.yaml != nil {
		p.root, err = p.d.ParseFromYAML(p.json, p.yaml, value.Request, p.r.Limits)
	} else {
		p.root, err = p.d.ParseJSON(p.json, p.r.Limits)
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
	if p.source == fromRequest {
		return decodeUpstream(p.r, p.endpointKind())
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
		if _, _, err := nestedString(p.d, p.root, key); err != nil && !p.held {
			p.unread = p.undecodable(of, err)
			return nil
		}
	}
	p.identify(of.GroupVersion().String(), of.Kind)
	return nil
}

// shape does to the tree what upstream's coercing decoder does: metadata, then, if the object is of the CRD's group and kind,
// unknown members, nulls, embedded metadata. unknown holds the unknown fields in upstream's order, if o or the request asks for
// them; refused is why upstream would not decode the object; err is a Fault.
//
// Upstream: customresource_handler.go, unstructuredSchemaCoercer.apply.
func (p *pass) shape(o metadata.Options) (unknown []string, refused, err error) {
	repair := o.Lenient && p.matches
	o.Track = o.Track || p.r.WantChanges
	_, unknown, refused = metadata.Coerce(p.d, p.root, metadata.Options{Lenient: o.Lenient, Track: o.Track, RepairGeneration: repair})
	if refused != nil {
		return nil, refused, nil
	}
	if p.r.WantChanges {
		p.unknownMetadata(unknown)
	}
	if !p.matches {
		return unknown, nil, nil
	}
	plan := nothing()
	if p.own != nil {
		plan = p.own.Plan
	}
	if !p.def.PreserveUnknown {
		pruned, err := plan.Prune(p.d, p.root, o.Track)
		if err != nil {
			return nil, nil, exceeded(err)
		}
		for _, c := range pruned {
			unknown = append(unknown, c.Text)
			if p.r.WantChanges {
				p.out.Pruned = append(p.out.Pruned, p.change(c))
			}
		}
		plan.DropNulls(p.d, p.root)
	}
	embedded, found := plan.CoerceEmbedded(p.d, p.root, metadata.Options{Lenient: o.Lenient, Track: o.Track})
	if found != nil {
		return nil, found.Error, nil
	}
	if p.r.WantChanges {
		p.unknownMetadata(embedded)
	}
	return append(unknown, embedded...), nil, nil
}

// nothing is the plan of a version that the CRD does not have: upstream finds no schema for it and prunes everything.
var nothing = sync.OnceValue(func() *program.Plan {
	p, err := program.Compile(nil, program.Options{})
	if err != nil {
		panic(err) // there is nothing in it that could be wrong
	}
	return p
})

// fill fills in the defaults of the object's own version. The error is a Fault.
func (p *pass) fill() error {
	if !p.matches || p.own == nil {
		return nil
	}
	defaulted, err := p.own.Plan.Default(p.d, p.root, p.r.WantChanges, p.r.Limits)
	if err != nil {
		return exceeded(err)
	}
	p.out.Defaulted = p.changes(defaulted)
	return nil
}

func (p *pass) changes(list []program.Change) []Change {
	if len(list) == 0 {
		return nil
	}
	all := make([]Change, len(list))
	for i, c := range list {
		all[i] = p.change(c)
	}
	return all
}

func (p *pass) change(c program.Change) Change {
	return Change{Path: c.Path, Text: c.Text, Value: p.d.AppendJSON(nil, c.Node)}
}

// unknownMetadata takes note of fields that went when metadata was read. Only their names are left: the values come from the
// text, which is read once more.
func (p *pass) unknownMetadata(paths []string) {
	if len(paths) == 0 {
		return
	}
	original := value.Acquire()
	defer original.Release()
	root, err := original.Parse(p.json, value.Request, value.Limits{MaxBytes: len(p.json)})
	if err != nil {
		return // it was read before
	}
	for _, text := range paths {
		c := Change{Text: text}
		if path, node := locate(original, root, text, nil); node != 0 {
			c.Path, c.Value = path.Detach(), original.AppendJSON(nil, node)
		}
		p.out.Pruned = append(p.out.Pruned, c)
	}
}

// finish takes findings out of the Doc.
func (p *pass) finish(found []violation.Violation) {
	p.out.Violations = make([]Finding, len(found))
	for i := range found {
		if i%64 == 63 && p.stop.Stopped() {
			return // as the caller sees
		}
		p.out.Violations[i] = Finding{Violation: found[i], Position: found[i].Position(p.d)}
		p.out.Violations[i].Node = 0
	}
}

// room is what a printed object may need beyond its own length, mostly: metadata.generation, some defaults.
const room = 128

// object prints the object, and says whether it is another one than the body, as far as the request asks.
func (p *pass) object() {
	flags := p.d.Nodes[p.root].Flags
	if p.r.WantChanged {
		p.out.Changed = flags&value.Lossy != 0 || flags&value.Dirty != 0 && !p.asSent()
	}
	if !p.r.WantObject {
		return
	}
	if flags&(value.Dirty|value.Lossy) == 0 && p.r.Buffer == nil {
		p.out.Object = p.d.Raw(p.root)
		return
	}
	buffer := p.r.Buffer
	if buffer == nil {
		buffer = make([]byte, 0, len(p.json)+len(p.json)/8+room)
	}
	p.out.Object = p.d.AppendJSON(buffer, p.root)
}

// asSent compares the tree with the body: an edit may have changed nothing.
func (p *pass) asSent() bool {
	original := value.Acquire()
	defer original.Release()
	root, err := original.Parse(p.json, value.Request, value.Limits{MaxBytes: len(p.json)})
	return err == nil && value.Equal(p.d, p.root, original, root)
}
