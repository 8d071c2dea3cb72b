package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/program"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/violation"
)

// Create evaluates a create up to and including list types: all that an API server does but for the rules and for what only a
// server can do. The error is a *Fault.
func (d *Definition) Create(ctx context.Context, r *Request) (out Outcome, err error) {
	err = d.run(ctx, r, &out, (*pass).create)
	return out, err
}

func (p *pass) create() error {
	if err := p.read(); err != nil {
		return err
	}
	endpoint, err := p.endpoint()
	if err != nil || p.unread != nil && endpoint == nil {
		p.out.Refusal = p.unread
		return err
	}
	p.out.Version = endpoint
	p.warn(endpoint.Warnings...)
	switch {
	case p.unread != nil:
		p.out.Refusal = p.unread
		return nil
	case p.r.AsGiven:
		return p.judgeAsGiven(endpoint)
	}
	if p.accept(endpoint) {
		return nil
	}
	if err := expired(p.ctx); err != nil {
		return err
	}
	return p.explain(endpoint)
}

// endpoint resolves the request's version. An unreadable object to a request that names none has no endpoint, and no error.
func (p *pass) endpoint() (*Version, error) {
	switch {
	case p.r.Version != "":
		return p.def.endpoint("version", p.r.Version)
	case p.unread != nil:
		return nil, nil
	case p.of.Group != p.def.Group:
		return nil, p.def.noVersion("the object's apiVersion", p.of.GroupVersion().String())
	}
	return p.def.endpoint("the version in the object's apiVersion,", p.of.Version)
}

// accept goes the fast way. True: that settled the matter. False: the tree is half done.
func (p *pass) accept(v *Version) bool {
	if p.r.Exact || p.r.WantChanges || !p.matches || p.own != v || p.def.PreserveUnknown ||
		p.r.FieldValidation != Ignore && p.d.HasDuplicates(value.Request) {
		return false
	}
	d := p.d
	if meta := d.Field(p.root, "metadata"); meta != 0 {
		settled, changed := metadata.Settle(d, meta)
		if !settled {
			return false
		}
		if changed {
			d.MarkDirty(p.root, meta)
		}
		if p.r.Handler && !p.plainHandler(meta) {
			return false
		}
		if !p.r.SkipMetadata && !metadata.Plain(d, meta, metadata.Rules{Namespaced: p.def.Namespaced}) {
			return false
		}
	} else {
		return false
	}
	p.prepareMetadata()
	mode := program.Mode{Create: true, Stop: p.stop}
	var edits *program.Edits
	if p.r.FieldValidation != Ignore {
		edits = editsPool.Get().(*program.Edits)
		defer editsPool.Put(edits)
		mode.Edits = edits
	}
	if !v.Plan.Accept(d, p.root, mode) {
		return false
	}
	unknown := edits != nil && edits.Any(program.Pruned)
	if unknown && p.r.FieldValidation == Strict || !plainScale(d, p.root, v.Scale) {
		return false
	}
	if unknown {
		pruned, _ := v.Plan.Changes(d, edits)
		for _, c := range pruned {
			p.out.Strict = append(p.out.Strict, unknownField(c.Text))
		}
		p.strictly()
	}
	p.warnFinalizers()
	p.object()
	return true
}

// plainHandler reports that the request handler has nothing to do about metadata that is settled.
func (p *pass) plainHandler(meta uint32) bool {
	d := p.d
	if p.r.Name != "" {
		if c := d.Field(meta, "name"); c == 0 || d.Str(c) != p.r.Name {
			return false
		}
	}
	if owners := d.Field(meta, "ownerReferences"); owners != 0 && d.Len(owners) > 1 {
		return false
	}
	c := d.Field(meta, "namespace")
	if !p.def.Namespaced {
		return c == 0
	}
	return p.r.Namespace == "" || c != 0 && d.Str(c) == p.r.Namespace
}

// explain goes the exact way: the separate steps in upstream's order, over the document parsed anew.
func (p *pass) explain(v *Version) error {
	p.out.Explained = true
	if err := p.parse(); err != nil {
		return internal(fmt.Errorf("a document was read once, but not twice: %w", err))
	}
	track := p.r.FieldValidation != Ignore
	if track {
		for duplicate := range p.d.Duplicates(value.Request) {
			p.out.Strict = append(p.out.Strict, duplicate.Text)
		}
	}
	unknown, refused := p.shape(metadata.Options{Track: track})
	if refused != nil {
		p.out.Strict = nil
		p.out.Refusal = undecodable(p.def.Kind, &p.of, refused, p.r.Body)
		return nil
	}
	for _, f := range unknown {
		p.out.Strict = append(p.out.Strict, unknownField(f))
	}
	p.fill()
	if p.strictly() {
		return nil
	}
	if got := p.of.GroupVersion().String(); got != v.APIVersion {
		text := fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got, v.APIVersion)
		p.out.Refusal = badRequest(text, text)
		return nil
	}
	if p.r.Handler && p.handle() {
		return nil
	}
	p.complete()
	p.prepare(v)
	p.answer(p.validate(v))
	p.object()
	return nil
}

func unknownField(path string) string { return `unknown field "` + path + `"` }

// strictly answers for the strict decoder's findings: with a refusal (true) or with warnings.
func (p *pass) strictly() (refused bool) {
	if len(p.out.Strict) == 0 {
		return false
	}
	if p.r.FieldValidation == Strict {
		errs := make([]error, len(p.out.Strict))
		for i, text := range p.out.Strict {
			errs[i] = errors.New(text)
		}
		cause := runtime.NewStrictDecodingError(errs)
		if p.of.Version == "" {
			// Upstream asks the decoded object for its kind, and that has no version.
			text := runtime.NewMissingVersionErr("unstructured object has no version").Error()
			p.out.Refusal = badRequest(text, cause.Error())
			return true
		}
		p.out.Refusal = undecodable(p.of.Kind, &p.of, cause, p.r.Body)
		return true
	}
	for _, text := range p.out.Strict {
		p.warn(strictWarnings(text)...)
	}
	return false
}

// strictWarnings are the warnings that one strict finding becomes: those of the YAML decoder come as one text.
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

// warn adds texts that are not there yet: the API server sends each once.
func (p *pass) warn(texts ...string) {
next:
	for _, text := range texts {
		for _, there := range p.out.Warnings {
			if there == text {
				continue next
			}
		}
		p.out.Warnings = append(p.out.Warnings, text)
	}
}

// prepare is what the strategy does before it validates.
//
// Upstream: registry/customresource/strategy.go, PrepareForCreate.
func (p *pass) prepare(v *Version) {
	if v.HasStatus {
		prev := uint32(0)
		for c := p.d.Nodes[p.root].First; c != 0; c = p.d.Nodes[c].Next {
			if p.d.Key(c) == "status" {
				p.d.Remove(p.root, prev, c)
				break
			}
			prev = c
		}
	}
	p.prepareMetadata()
}

// prepareMetadata sets metadata.generation to 1. It allocates nothing.
func (p *pass) prepareMetadata() {
	d := p.d
	meta := p.metadata()
	c := d.Field(meta, "generation")
	if c != 0 && d.Nodes[c].Kind == value.Int && d.Int(c) == 1 {
		return
	}
	off := uint32(len(d.Src[value.Arena]))
	d.Src[value.Arena] = append(d.Src[value.Arena], '1')
	made := uint32(len(d.Nodes))
	d.Nodes = append(d.Nodes, value.Node{Kind: value.Int, Src: value.Arena, Off: off, End: off + 1, Val: 1})
	p.put(meta, c, "generation", made)
}

// set puts a member of metadata to a text.
func (p *pass) set(name, text string) {
	meta := p.metadata()
	quoted, _ := json.Marshal(text)                           // a string has a JSON text
	made, _ := p.d.Parse(quoted, value.Arena, value.Limits{}) // which is JSON
	p.put(meta, p.d.Field(meta, name), name, made)
}

// put puts a node in the place of the member c of metadata, or adds it if that is 0.
func (p *pass) put(meta, c uint32, name string, made uint32) {
	if c != 0 {
		p.d.Replace(c, made)
	} else {
		p.d.SetKey(made, name)
		p.d.Append(meta, made)
	}
	p.d.MarkDirty(p.root, meta)
}

// metadata is the node of the metadata, made if there is none.
func (p *pass) metadata() uint32 {
	d := p.d
	meta := d.Field(p.root, "metadata")
	if meta != 0 && d.Nodes[meta].Kind == value.Object {
		return meta
	}
	made, _ := d.Parse([]byte("{}"), value.Arena, value.Limits{}) // it is JSON
	if meta != 0 {
		d.Replace(meta, made)
	} else {
		meta = made
		d.SetKey(meta, "metadata")
		d.Append(p.root, meta)
	}
	d.MarkDirty(p.root)
	return meta
}

// validate is the strategy's validation, rules aside.
//
// Upstream: registry/customresource/validator.go, Validate; strategy.go, Validate.
func (p *pass) validate(v *Version) []violation.Violation {
	d, plan := p.d, v.Plan
	found := p.typeErrors(v)
	at := program.At{Stop: p.stop}
	if len(found) == 0 {
		if !p.r.SkipMetadata {
			found = append(found, p.metadataErrors()...)
		}
		found = append(found, plan.Explain(d, p.root, at)...)
		found = append(found, scale(d, p.root, v.Scale)...)
	}
	found = append(found, plan.ExplainEmbedded(d, p.root, at)...)
	return append(found, plan.ExplainLists(d, p.root, at)...)
}

// typeErrors are the findings about kind and apiVersion.
func (p *pass) typeErrors(v *Version) (found []violation.Violation) {
	add := func(key, bad, want string) {
		at := value.Path{value.Name(key)}
		f := violation.Of(violation.TypeMeta, field.Invalid(field.NewPath(key), bad, "must be "+want), at)
		f.Node = deepest(p.d, p.root, at)
		found = append(found, f)
	}
	kind, _, _ := nestedString(p.d, p.root, "kind")
	if kind != p.def.Kind {
		add("kind", kind, p.def.Kind)
	}
	apiVersion, _, _ := nestedString(p.d, p.root, "apiVersion")
	if apiVersion != v.APIVersion {
		add("apiVersion", apiVersion, v.APIVersion)
	}
	return found
}

// metadataErrors are the findings about the object's own metadata.
func (p *pass) metadataErrors() []violation.Violation {
	meta := p.d.Field(p.root, "metadata")
	if !p.r.AsGiven && metadata.Plain(p.d, meta, metadata.Rules{Namespaced: p.def.Namespaced}) {
		return nil
	}
	m, errs := &metav1.ObjectMeta{}, field.ErrorList(nil)
	if meta != 0 {
		m, errs = metadata.FromTree(p.d, meta)
	}
	if len(errs) == 0 {
		errs = metadata.Validate(m, p.def.Namespaced)
	}
	found := make([]violation.Violation, 0, len(errs))
	for _, err := range errs {
		f := violation.Of(violation.Metadata, err, metadataPath(err.Field))
		f.Node = deepest(p.d, p.root, f.Path)
		found = append(found, f)
	}
	return found
}

// answer makes findings the outcome, or adds the warnings of an object that has none.
func (p *pass) answer(found []violation.Violation) {
	if len(found) == 0 {
		p.warnFinalizers()
		return
	}
	name := ""
	if meta := p.d.Field(p.root, "metadata"); meta != 0 {
		name, _, _ = nestedString(p.d, meta, "name")
	}
	p.out.Refusal = invalid(p.of.GroupKind(), name, found)
	p.finish(found)
}

// judgeAsGiven validates the tree as it was parsed.
func (p *pass) judgeAsGiven(v *Version) error {
	p.out.Explained = true
	if p.r.FieldValidation != Ignore {
		for duplicate := range p.d.Duplicates(value.Request) {
			p.out.Strict = append(p.out.Strict, duplicate.Text)
		}
		if p.strictly() {
			return nil
		}
	}
	p.complete()
	p.answer(p.validate(v))
	p.object()
	return nil
}
