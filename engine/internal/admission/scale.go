package admission

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	scalescheme "k8s.io/client-go/scale/scheme"
	"k8s.io/client-go/scale/scheme/appsint"
	"k8s.io/client-go/scale/scheme/appsv1beta1"
	"k8s.io/client-go/scale/scheme/appsv1beta2"
	autoscalingscheme "k8s.io/client-go/scale/scheme/autoscalingv1"
	"k8s.io/client-go/scale/scheme/extensionsint"
	"k8s.io/client-go/scale/scheme/extensionsv1beta1"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// Scale holds the parsed paths of the scale subresource.
type Scale struct {
	SpecReplicas, StatusReplicas ScalePath
	// LabelSelector has no Names if the CRD declares none.
	LabelSelector ScalePath
}

// ScalePath is a path such as .spec.replicas.
type ScalePath struct {
	Text  string
	Names []string
}

func scalePath(text string) ScalePath {
	return ScalePath{Text: text, Names: strings.Split(strings.TrimPrefix(text, "."), ".")}
}

// newScale parses the paths of a scale subresource. Nil gives nil.
func newScale(s *apiextensionsv1.CustomResourceSubresourceScale) *Scale {
	if s == nil {
		return nil
	}
	scale := &Scale{SpecReplicas: scalePath(s.SpecReplicasPath), StatusReplicas: scalePath(s.StatusReplicasPath)}
	if s.LabelSelectorPath != nil {
		scale.LabelSelector = scalePath(*s.LabelSelectorPath)
	}
	return scale
}

// Get returns the Scale of an object as JSON, as in the response to a GET. The error is an *apierrors.StatusError if
// the spec has no replicas, or an error of read.
//
// Upstream: registry/customresource/etcd.go, ScaleREST.Get.
func (s *Scale) Get(d *tree.Doc, root uint32) ([]byte, error) {
	scale, found, err := s.read(d, root)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", s.SpecReplicas.Text))
	}
	return json.Marshal(scale)
}

// read returns the Scale of an object. found reports whether the spec has replicas; without them the Scale has 0. An
// error means that a value on a path has the wrong type, which an API server returns with code 500. Numbers beyond 32
// bits are truncated as upstream does.
//
// Upstream: registry/customresource/etcd.go, scaleFromCustomResource.
func (s *Scale) read(d *tree.Doc, root uint32) (scale *autoscalingv1.Scale, found bool, err error) {
	replicas, found, err := s.SpecReplicas.integer(d, root)
	if err != nil {
		return nil, false, err
	}
	observed, _, err := s.StatusReplicas.integer(d, root)
	if err != nil {
		return nil, false, err
	}
	selector, err := s.LabelSelector.text(d, root)
	if err != nil {
		return nil, false, err
	}
	meta := d.Field(root, "metadata")
	of := func(key string) string {
		text, _ := nestedString(d, meta, key)
		return strings.Clone(text)
	}
	scale = &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name: of("name"), Namespace: of("namespace"), UID: types.UID(of("uid")), ResourceVersion: of("resourceVersion"),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(observed), Selector: strings.Clone(selector)},
	}
	if created := of("creationTimestamp"); created != "" {
		_ = scale.CreationTimestamp.UnmarshalQueryParameter(created) // upstream's accessor also ignores an invalid time
	}
	return scale, found, nil
}

// integer returns the integer at the path, or 0 if it is absent. It does not allocate if there is no error.
func (s *ScalePath) integer(d *tree.Doc, root uint32) (n int64, found bool, err error) {
	c, err := s.find(d, root, tree.Int)
	if c == 0 {
		return 0, false, err
	}
	return d.Int(c), true, nil
}

// text returns the string at the path, or "", like integer. It refers to the Doc's memory.
func (s *ScalePath) text(d *tree.Doc, root uint32) (string, error) {
	if len(s.Names) == 0 {
		return "", nil
	}
	c, err := s.find(d, root, tree.String)
	if c == 0 {
		return "", err
	}
	return d.Str(c), nil
}

// find returns the node at the path, or 0 if it is absent. The error is apimachinery's for a value of another kind.
func (s *ScalePath) find(d *tree.Doc, root uint32, kind tree.Kind) (node uint32, err error) {
	node = root
	parent := tree.Object
	for _, name := range s.Names {
		if parent = d.Nodes[node].Kind; parent != tree.Object {
			break
		}
		if node = d.Field(node, name); node == 0 {
			return 0, nil
		}
	}
	if parent == tree.Object && d.Nodes[node].Kind == kind {
		return node, nil
	}
	object, _ := d.Any(root).(map[string]any)
	if kind == tree.Int {
		_, _, err = unstructured.NestedInt64(object, s.Names...)
	} else {
		_, _, err = unstructured.NestedString(object, s.Names...)
	}
	return 0, err
}

// violation returns the violation about a value at the path.
func (s *ScalePath) violation(d *tree.Doc, root uint32, bad any, detail string) violation.Violation {
	at := make(tree.Path, 0, len(s.Names))
	for _, name := range s.Names {
		at = append(at, tree.Name(name))
	}
	v := violation.Of(violation.Scale, field.Invalid(field.NewPath(s.Text), bad, detail), at)
	v.Node, _ = d.Finder().Deepest(root, at)
	return v
}

// violations returns the violations of the scale subresource's fields. spec includes those in spec, which are not
// checked on an update of the status. It does not allocate without violations. A nil Scale has no violations.
//
// Upstream: registry/customresource/validator.go, ValidateScaleSpec and ValidateScaleStatus.
func (s *Scale) violations(d *tree.Doc, root uint32, spec bool) (found []violation.Violation) {
	if s == nil {
		return nil
	}
	for _, path := range [...]*ScalePath{&s.SpecReplicas, &s.StatusReplicas} {
		if path == &s.SpecReplicas && !spec {
			continue
		}
		switch n, _, err := path.integer(d, root); {
		case err != nil:
			found = append(found, path.violation(d, root, n, err.Error()))
		case n < 0:
			found = append(found, path.violation(d, root, n, "should be a non-negative integer"))
		case n > math.MaxInt32:
			detail := "should be less than or equal to " + strconv.Itoa(math.MaxInt32)
			found = append(found, path.violation(d, root, n, detail))
		}
	}
	if text, err := s.LabelSelector.text(d, root); err != nil {
		found = append(found, s.LabelSelector.violation(d, root, text, err.Error()))
	}
	return found
}

// scaleKind is the type of the scale subresource.
var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scaleScheme returns the types that upstream's decoder of Scales knows. It decodes a body as the type that the body
// declares, and then converts it.
//
// Upstream: client-go, scale/util.go, NewScaleConverter.
var scaleScheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		autoscalingscheme.AddToScheme, scalescheme.AddToScheme, extensionsv1beta1.AddToScheme, extensionsint.AddToScheme,
		appsint.AddToScheme, appsv1beta1.AddToScheme, appsv1beta2.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
})

// decodeScale decodes a Scale. byDefault is the type of a body that declares none. of is the type that the body
// declares, or nil. unknown holds the texts about unknown and duplicate fields. The error is upstream's, or a Fault of
// metadata beyond its bounds, since apimachinery has no deadline.
func decodeScale(body []byte, o jsonserializer.SerializerOptions, byDefault *schema.GroupVersionKind) (
	scale *autoscalingv1.Scale, of *schema.GroupVersionKind, unknown []string, err error) {
	s := scaleScheme()
	decoder := versioning.NewDefaultingCodecForScheme(s, nil,
		jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, s, s, o),
		runtime.DisabledGroupVersioner, scaleKind.GroupVersion())
	scale = &autoscalingv1.Scale{}
	made, of, err := decoder.Decode(body, byDefault, scale)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && made != nil {
		for _, e := range strict.Errors() {
			unknown = append(unknown, e.Error())
		}
		err = nil
	}
	if err == nil && made != scale {
		err = fmt.Errorf("unable to decode %s into %T", of, scale)
	}
	return scale, of, unknown, err
}

// unregistered is the API server's text about a Scale that cannot be decoded. It searches the kind among custom
// resources.
//
// Upstream: endpoints/handlers/rest.go, transformDecodeError; customresource_handler.go, which overrides the scope's
// serializer and not its typer.
const unregistered = `no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"`

// readScale decodes the body. It returns nil if the body is rejected. The error is a Fault.
func (p *pass) readScale() (*autoscalingv1.Scale, error) {
	strict := p.r.FieldValidation != Ignore && p.r.Stage != StageFinish
	sent, of, unknown, err := decodeScale(p.r.Body,
		jsonserializer.SerializerOptions{Yaml: p.r.YAML, Strict: strict}, &scaleKind)
	if p.out.Strict = p.strictScale(unknown); err == nil && p.r.FieldValidation == Strict && len(unknown) > 0 {
		err = strictError(p.out.Strict)
		p.out.Rejection, p.out.Violations = badRequest(unregistered, err.Error()), p.strictReasons()
	}
	if err != nil {
		if p.out.Rejection == nil {
			p.out.Rejection, p.out.Violations = badRequest(unregistered, err.Error()), p.scaleReasons(err)
		}
		p.note("the Scale cannot be decoded: " + err.Error())
		if len(unknown) == 0 || !p.holdStrict() {
			return nil, nil
		}
	}
	p.warnStrict()
	if of.GroupVersion() != scaleKind.GroupVersion() {
		want := scaleKind.GroupVersion().String()
		p.rejectScale(otherVersion(of.GroupVersion().String(), want), "must be "+want, "apiVersion")
		return nil, nil
	}
	return sent, fitsScale(sent)
}

// scaleBody is the body of a write to the scale subresource, or the patch of a Scale.
type scaleBody struct {
	*locator
}

// openScale returns the parsed body. The error is a *tree.SyntaxError or a *tree.LimitError.
func (p *pass) openScale() (*scaleBody, error) {
	d := p.acquire()
	var root uint32
	var err error
	if p.r.YAML {
		_, _, root, err = d.ConvertYAML(p.r.Body, tree.Request, p.r.Origin, p.r.Limits)
	} else {
		root, err = d.ParseAt(p.r.Body, tree.Request, p.r.Origin, p.r.Limits)
	}
	return &scaleBody{&locator{d: d, root: root, finder: d.Finder(), stop: p.stop, steps: maxTried}}, err
}

// scaleReasons returns why the body is not a Scale. cause is upstream's error.
func (p *pass) scaleReasons(cause error) []violation.Violation {
	b, err := p.openScale()
	defer b.d.Release()
	if err != nil {
		return []violation.Violation{SyntaxReason(err)}
	}
	list := violation.Mismatches(b.d, b.root, nil, reflect.TypeFor[autoscalingv1.Scale]())
	for _, want := range [...]struct{ key, text string }{
		{"apiVersion", scaleKind.GroupVersion().String()}, {"kind", scaleKind.Kind},
	} {
		c := b.d.Field(b.root, want.key)
		if len(list) > 0 || b.d.Nodes[c].Kind == tree.String && b.d.Str(c) == want.text {
			continue
		}
		v := aboutMember(violation.Decode, "must be "+want.text, want.key)
		v.Node, _ = b.finder.Deepest(b.root, v.Path)
		list = append(list, v)
	}
	if len(list) == 0 {
		v := violation.Reason(violation.Decode, violation.TypeDecode, "", violation.Shorten(cause.Error(), longestReason), nil)
		v.Node = b.root
		list = append(list, v)
	}
	for i := range list {
		list[i].Position, list[i].Node = list[i].Locate(b.d), 0
	}
	return list
}

// rejectScale rejects a Scale for a member of it. A Scale that a patch made has no positions.
func (p *pass) rejectScale(r *Rejection, message string, keys ...string) {
	v := aboutMember(violation.Request, message, keys...)
	if p.r.Patch == 0 {
		if b, err := p.openScale(); err == nil {
			v.Position = b.d.PositionAt(v.Path)
			b.d.Release()
		}
	}
	p.out.Rejection, p.out.Violations = r, []violation.Violation{v}
}

// strictScale returns the errors of strict decoding with these texts.
func (p *pass) strictScale(texts []string) (list []StrictError) {
	if len(texts) == 0 {
		return nil
	}
	b, err := p.openScale()
	defer b.d.Release()
	repeats := map[string][]tree.DuplicatePlace{}
	if err == nil && p.r.Patch == 0 {
		for duplicate := range b.d.Duplicates(tree.Request) {
			repeats[duplicate.Text] = duplicate.Places
		}
	}
	for _, text := range texts {
		s := StrictError{Text: text, of: violation.TypeUnknownField}
		name, quoted := strings.CutPrefix(text, `unknown field "`)
		if name = strings.TrimSuffix(name, `"`); !quoted {
			s.of, s.repeats = violation.TypeDuplicateField, repeats[text]
			name, _ = strings.CutPrefix(text, `duplicate field "`)
			name = strings.TrimSuffix(name, `"`)
		} else if path, node := b.find(b.root, name, nil); err == nil && node != 0 && p.r.Patch == 0 {
			s.path, s.at = path.Detach(), b.d.KeyPosition(node, path)
		}
		if s.field = name; strings.Contains(name, "\n") { // the text of the YAML decoder
			s.field = ""
		}
		list = append(list, s)
	}
	return list
}

// patchScale applies the patch to a Scale. It returns nil if the patch is rejected.
func (p *pass) patchScale(current *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	text, err := json.Marshal(current)
	if err != nil {
		return nil, internal(err)
	}
	q := p.patching
	q.held = tree.Acquire()
	root, err := q.held.Parse(text, tree.Request, tree.Limits{})
	if err != nil {
		return nil, internal(err)
	}
	if rejected, err := p.apply(root, true); rejected || err != nil {
		return nil, err
	}
	made, _, unknown, err := decodeScale(q.tree.Printed(),
		jsonserializer.SerializerOptions{Strict: p.r.FieldValidation != Ignore}, nil)
	if err != nil {
		p.out.Rejection = p.rejectPatched(err.Error())
		return nil, nil
	}
	p.out.Strict = slices.Concat(q.unknown, p.strictScale(unknown))
	if len(p.out.Strict) > 0 && p.r.FieldValidation == Strict {
		p.out.Rejection, p.out.Violations = p.rejectPatched(strictError(p.out.Strict).Error()), p.strictReasons()
		if p.positionInPatch(q.puts()); !p.holdStrict() {
			return nil, nil
		}
		return made, fitsScale(made)
	}
	p.warnStrict()
	return made, fitsScale(made)
}

// fitsScale checks the bounds of a Scale's metadata, since apimachinery has no deadline. The error is a Fault.
func fitsScale(sent *autoscalingv1.Scale) error {
	if err := metadata.FitsMeta(&sent.ObjectMeta); err != nil {
		return about(exceeded(err), "Scale: ")
	}
	return nil
}
