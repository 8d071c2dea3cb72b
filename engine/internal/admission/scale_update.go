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
	"github.com/crdeval/crdeval/engine/internal/present"
	"github.com/crdeval/crdeval/internal/value"
)

// View is what the scale subresource shows; nil if there is none.
func (s *Scale) View() *present.Scale {
	if s == nil {
		return nil
	}
	return &present.Scale{
		SpecReplicas: s.SpecReplicas.Names, StatusReplicas: s.StatusReplicas.Names, LabelSelector: s.LabelSelector.Names, SpecReplicasPath: s.SpecReplicas.Text,
	}
}

// noReplicas is what a patch finds as the replicas of an object that has none.
const noReplicas = math.MinInt32

// updateScale writes to the scale subresource: the body is a Scale, or a patch of one. All that it changes in the old object are the replicas; that
// is an update of the object as any other. Managed fields are left to the server.
//
// Upstream: registry/customresource/etcd.go, ScaleREST.Update and scaleUpdatedObjectInfo; endpoints/handlers/update.go and patch.go.
func (p *pass) updateScale() error {
	p.r.Whole = true // a Scale is what the handlers make it
	v, err := p.addressOld()
	if err != nil || p.out.Refusal != nil {
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
	} else if refused, err := p.readPatch(); refused || err != nil {
		return err
	}
	if err := p.readOld(v, p.by); err != nil {
		return err
	}
	p.known(v)
	if sent != nil && (p.otherScale(sent) || p.r.Stage != StageFinish && p.otherScaleUID(sent)) {
		return nil
	}
	current, found, err := v.Scale.View().Of(p.d, p.old.root)
	if err != nil {
		p.out.Refusal = unexplained(err.Error())
		return nil
	}
	if !found {
		current.Spec.Replicas = noReplicas
	}
	if sent == nil {
		if sent, err = p.patchScale(current); sent == nil || err != nil {
			return err
		}
		if err := fitsScale(sent); err != nil || p.otherScale(sent) {
			return err
		}
	}
	if p.r.Stage == StageDecode {
		return p.decodedScale(sent, current)
	}
	return p.changeReplicas(v, sent)
}

// decodeScale decodes the body, nil if it is refused.
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
		p.out.Refusal = badRequest(unregistered, err.Error())
		p.warn(notice + "the Scale cannot be decoded: " + err.Error())
		return nil
	case made.of.GroupVersion() != scaleKind.GroupVersion():
		text := fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", made.of.GroupVersion(), scaleKind.GroupVersion())
		p.out.Refusal = badRequest(text, text)
		return nil
	}
	p.out.Strict = made.strict
	for _, text := range made.strict {
		p.warn(StrictWarnings(text)...)
	}
	return made.scale
}

// fitsScale checks the bounds of a Scale's metadata: apimachinery goes through it without a look at the time. The error is a Fault.
func fitsScale(sent *autoscalingv1.Scale) error {
	if err := metadata.FitsMeta(&sent.ObjectMeta); err != nil {
		return about(exceeded(err), "Scale: ")
	}
	return nil
}

// otherScale refuses a Scale that is not that of the request.
func (p *pass) otherScale(sent *autoscalingv1.Scale) (refused bool) {
	namespace := ""
	if p.def.Namespaced {
		namespace = p.r.Namespace
	}
	switch {
	case sent.Namespace == "" || namespace == "":
		sent.Namespace = namespace
	case sent.Namespace != namespace:
		const text = "the namespace of the provided object does not match the namespace sent on the request"
		p.out.Refusal = badRequest(text, text)
		return true
	}
	if p.misnamed(sent.Name) {
		return true
	}
	if p.r.Patch == 0 && p.r.Stage != StageFinish {
		p.dedupScaleOwners(sent, metadata.DedupOwners)
	}
	return false
}

// misnamed refuses a Scale that has not the name of the request.
//
// Upstream: endpoints/handlers/rest.go, checkName.
func (p *pass) misnamed(name string) (refused bool) {
	if name == p.r.Name {
		return false
	}
	text := fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, p.r.Name)
	if name == "" {
		text = fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", p.r.Name)
	}
	p.out.Refusal = badRequest(text, text)
	return true
}

// dedupScaleOwners warns of owner references of a Scale that repeat an earlier one; what becomes of them is nobody's business.
func (p *pass) dedupScaleOwners(sent *autoscalingv1.Scale, dedup func([]metav1.OwnerReference) ([]metav1.OwnerReference, string)) {
	kept, warning := dedup(sent.OwnerReferences)
	sent.OwnerReferences = kept
	if warning != "" {
		p.warn(warning)
	}
}

// otherScaleUID refuses a Scale of another object than the old one.
func (p *pass) otherScaleUID(sent *autoscalingv1.Scale) (refused bool) {
	before, _ := p.metaString(p.d.Field(p.old.root, "metadata"), "uid")
	if sent.UID == "" || before == "" || string(sent.UID) == before {
		return false
	}
	p.conflict(fmt.Sprintf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
		p.storageKey(), sent.UID, before))
	return true
}

// decodedScale answers what mutating admission gets.
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

// changeReplicas makes the old object one with the replicas of a Scale, and judges that as its update.
func (p *pass) changeReplicas(v *Version, sent *autoscalingv1.Scale) error {
	if p.r.Patch != 0 || p.r.Stage == StageFinish {
		p.dedupScaleOwners(sent, metadata.DedupOwnersLate)
	}
	if p.refusedReplicas(v, sent) {
		return nil
	}
	p.unversioned()
	want := p.r.WantObject
	p.r.WantObject, p.r.Buffer = want || p.storing, nil
	err := p.change(v)
	p.unplaced()
	if err != nil || p.out.Refusal != nil {
		return err
	}
	return p.answerScale(v, want)
}

// refusedReplicas makes the new object: the old one with the replicas of a Scale, and with its resourceVersion if it has one. True: the request is refused.
func (p *pass) refusedReplicas(v *Version, sent *autoscalingv1.Scale) bool {
	if sent.Spec.Replicas == noReplicas {
		text := fmt.Sprintf("the spec replicas field %q cannot be empty", v.Scale.SpecReplicas.Text)
		p.out.Refusal = badRequest(text, text)
		return true
	}
	d := p.d
	p.old.copies = uint32(len(d.Nodes))
	p.root = p.clone(p.old.root)
	d.Nodes[p.root].Flags &^= value.Slotted
	if err := p.putReplicas(v.Scale.SpecReplicas.Names, sent.Spec.Replicas); err != nil {
		p.out.Refusal = unexplained(err.Error())
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

// answerScale answers a write to the scale subresource with the Scale, and tells what is stored. What a storage gives back may have no Scale: then that is the answer,
// whether or not objects are wanted.
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
		p.out.Refusal = badRequest(err.Error(), err.Error())
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

// putReplicas puts a number at a path of the new object, whose containers on it become its own: it may share all others with the old one. The
// error has upstream's words.
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
			return fmt.Errorf("value cannot be set because .%s is not a map[string]interface{}", strings.Join(names[:i+1], "."))
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
