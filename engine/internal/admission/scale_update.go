package admission

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/scale"
	"github.com/crdeval/crdeval/engine/value"
)

// View returns the paths that package scale uses, or nil.
func (s *Scale) View() *scale.Paths {
	if s == nil {
		return nil
	}
	return &scale.Paths{
		SpecReplicas: s.SpecReplicas.Names, StatusReplicas: s.StatusReplicas.Names,
		LabelSelector: s.LabelSelector.Names, SpecReplicasPath: s.SpecReplicas.Text,
	}
}

// noReplicas is the replicas of an object without them, for a patch.
const noReplicas = math.MinInt32

// updateScale writes to the scale subresource. The body is a Scale or a patch of one. It sets the replicas of the old
// object, and validates that as an update. The server tracks managed fields.
//
// Upstream: registry/customresource/etcd.go, ScaleREST.Update and scaleUpdatedObjectInfo; endpoints/handlers/update.go
// and patch.go.
func (p *pass) updateScale() error {
	p.r.Whole = true // only handlers write Scales
	v, err := p.addressOld()
	if err != nil || p.out.Rejection != nil {
		return err
	}
	var sent *autoscalingv1.Scale
	if p.r.Patch == 0 {
		if sent = p.decodeScale(); sent == nil {
			return nil
		}
		if err := fitsScale(sent); err != nil {
			return err
		}
	} else if rejected, err := p.readPatch(); rejected || err != nil {
		return err
	}
	if err := p.readOld(v, p.by); err != nil {
		return err
	}
	p.setKnown(v)
	if sent != nil && (p.checkScale(sent) || p.r.Stage != StageFinish && p.checkScaleUID(sent)) {
		return nil
	}
	current, found, err := v.Scale.View().Of(p.d, p.old.root)
	if err != nil {
		p.out.Rejection = statusless(err.Error())
		return nil
	}
	if !found {
		current.Spec.Replicas = noReplicas
	}
	if sent == nil {
		if sent, err = p.patchScale(current); sent == nil || err != nil {
			return err
		}
		if err := fitsScale(sent); err != nil || p.checkScale(sent) {
			return err
		}
	}
	if p.r.Stage == StageDecode {
		return p.decodedScale(sent, current)
	}
	return p.changeReplicas(v, sent)
}

// decodeScale decodes the body. It returns nil if the body is rejected.
func (p *pass) decodeScale() *autoscalingv1.Scale {
	fieldValidation := p.r.FieldValidation
	if p.r.Stage == StageFinish {
		fieldValidation = Ignore
	}
	made, err := decodeScale(p.r.Body, p.r.YAML, fieldValidation, &scaleKind)
	if err == nil && p.r.FieldValidation == Strict && len(made.strict) > 0 {
		err = strictError(made.strict)
	}
	switch {
	case err != nil:
		p.out.Rejection = badRequest(unregistered, err.Error())
		p.warn(notice + "the Scale cannot be decoded: " + err.Error())
		return nil
	case made.of.GroupVersion() != scaleKind.GroupVersion():
		text := fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)",
			made.of.GroupVersion(), scaleKind.GroupVersion())
		p.out.Rejection = badRequest(text, text)
		return nil
	}
	p.out.Strict = made.strict
	for _, text := range made.strict {
		p.warn(StrictWarnings(text)...)
	}
	return made.scale
}

// fitsScale checks the bounds of a Scale's metadata, since apimachinery has no deadline. The error is a Fault.
func fitsScale(sent *autoscalingv1.Scale) error {
	if err := metadata.FitsMeta(&sent.ObjectMeta); err != nil {
		return about(exceeded(err), "Scale: ")
	}
	return nil
}

// checkScale rejects a Scale whose name or namespace differs from the request's.
func (p *pass) checkScale(sent *autoscalingv1.Scale) (rejected bool) {
	namespace := ""
	if p.def.Namespaced {
		namespace = p.r.Namespace
	}
	switch {
	case sent.Namespace == "" || namespace == "":
		sent.Namespace = namespace
	case sent.Namespace != namespace:
		const text = "the namespace of the provided object does not match the namespace sent on the request"
		p.out.Rejection = badRequest(text, text)
		return true
	}
	if p.checkScaleName(sent.Name) {
		return true
	}
	if p.r.Patch == 0 && p.r.Stage != StageFinish {
		p.dedupScaleOwners(sent, metadata.DedupOwners)
	}
	return false
}

// checkScaleName rejects a Scale whose name differs from the request's.
//
// Upstream: endpoints/handlers/rest.go, checkName.
func (p *pass) checkScaleName(name string) (rejected bool) {
	if name == p.r.Name {
		return false
	}
	text := fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, p.r.Name)
	if name == "" {
		text = fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided",
			p.r.Name)
	}
	p.out.Rejection = badRequest(text, text)
	return true
}

// dedupScaleOwners warns of repeated owner references of a Scale.
func (p *pass) dedupScaleOwners(sent *autoscalingv1.Scale,
	dedup func([]metav1.OwnerReference) ([]metav1.OwnerReference, string)) {
	kept, warning := dedup(sent.OwnerReferences)
	sent.OwnerReferences = kept
	if warning != "" {
		p.warn(warning)
	}
}

// checkScaleUID rejects a Scale whose uid differs from the old object's.
func (p *pass) checkScaleUID(sent *autoscalingv1.Scale) (rejected bool) {
	before, _ := p.metaString(p.d.Field(p.old.root, "metadata"), "uid")
	if sent.UID == "" || before == "" || string(sent.UID) == before {
		return false
	}
	p.conflict(fmt.Sprintf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
		p.storageKey(), sent.UID, before))
	return true
}

// decodedScale sets the outcome of stage DECODE.
func (p *pass) decodedScale(sent, current *autoscalingv1.Scale) (err error) {
	if !p.r.WantObject {
		return expired(p.ctx)
	}
	if p.out.Object, err = json.Marshal(sent); err == nil {
		p.out.Old, err = json.Marshal(current)
	}
	if err != nil {
		return internal(err)
	}
	return expired(p.ctx)
}

// changeReplicas sets the replicas of the old object, and validates that as its update.
func (p *pass) changeReplicas(v *Version, sent *autoscalingv1.Scale) error {
	if p.r.Patch != 0 || p.r.Stage == StageFinish {
		p.dedupScaleOwners(sent, metadata.DedupOwnersLate)
	}
	if p.setReplicas(v, sent) {
		return nil
	}
	p.fillRevision()
	want := p.r.WantObject
	p.r.WantObject, p.r.Buffer = want || p.storing, nil
	err := p.change(v)
	p.clearPositions()
	if err != nil || p.out.Rejection != nil {
		return err
	}
	return p.answerScale(v, want)
}

// setReplicas makes the new object: a copy of the old one with the replicas, and the resourceVersion if it has one, of
// a Scale. It reports whether the request is rejected.
func (p *pass) setReplicas(v *Version, sent *autoscalingv1.Scale) bool {
	if sent.Spec.Replicas == noReplicas {
		text := fmt.Sprintf("the spec replicas field %q cannot be empty", v.Scale.SpecReplicas.Text)
		p.out.Rejection = badRequest(text, text)
		return true
	}
	d := p.d
	p.old.copies = uint32(len(d.Nodes))
	p.root = p.clone(p.old.root)
	d.Nodes[p.root].Flags &^= value.Slotted
	if err := p.putReplicas(v.Scale.SpecReplicas.Names, sent.Spec.Replicas); err != nil {
		p.out.Rejection = statusless(err.Error())
		return true
	}
	meta := d.Field(p.root, "metadata")
	own := p.clone(meta)
	d.Nodes[own].Flags &^= value.Slotted
	p.exchange(p.root, meta, own)
	if sent.ResourceVersion != "" {
		p.set("resourceVersion", sent.ResourceVersion)
	}
	p.old.end = uint32(len(d.Nodes))
	return false
}

// answerScale sets the outcome to the Scale of the new object. An object that is read back from storage may have no
// valid Scale; that is an error even if no object is wanted.
func (p *pass) answerScale(v *Version, want bool) error {
	if !want && !p.storing {
		p.out.Object, p.out.Stored = nil, nil
		return nil
	}
	object := p.out.Object
	d := value.Acquire()
	root, err := d.Parse(object, value.Request, value.Limits{MaxBytes: max(len(object), 1)})
	if err != nil {
		return internal(fmt.Errorf("what was printed cannot be read: %w", err))
	}
	scale, _, err := v.Scale.View().Of(d, root)
	d.Release()
	if err != nil {
		p.out.Rejection = badRequest(err.Error(), err.Error())
		return nil
	}
	if !want {
		p.out.Object, p.out.Stored = nil, nil
		return nil
	}
	if p.out.Stored == nil && !p.out.Deletes {
		p.out.Stored = object
	}
	if p.out.Object, err = json.Marshal(scale); err != nil {
		return internal(err)
	}
	p.out.Changed = true
	return nil
}

// putReplicas sets a number at a path of the new object. It copies the containers on the path, which may be shared with
// the old object. The error has upstream's text.
//
// Upstream: apimachinery, pkg/apis/meta/v1/unstructured/helpers.go, SetNestedField.
func (p *pass) putReplicas(names []string, replicas int32) error {
	d, at := p.d, p.root
	d.MarkDirty(at)
	for i, name := range names[:len(names)-1] {
		c := d.Field(at, name)
		switch {
		case c == 0:
			made, err := d.Parse([]byte("{}"), value.Arena, value.Limits{})
			if err != nil {
				return err
			}
			d.SetKey(made, name)
			d.Append(at, made)
			at = made
		case d.Nodes[c].Kind != value.Object:
			return fmt.Errorf("value cannot be set because .%s is not a map[string]interface{}",
				strings.Join(names[:i+1], "."))
		default:
			made := p.clone(c)
			d.Nodes[made].Flags &^= value.Slotted
			p.exchange(at, c, made)
			at = made
		}
		d.MarkDirty(at)
	}
	made, err := d.Parse(strconv.AppendInt(nil, int64(replicas), 10), value.Arena, value.Limits{})
	if err != nil {
		return err
	}
	last := names[len(names)-1]
	d.SetKey(made, last)
	p.substitute(at, last, made)
	return nil
}
