package admission

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// noReplicas is the replicas of an object without them, for a patch.
const noReplicas = math.MinInt32

// SetScale sets the replicas of r.Old to those of the Scale in the body. It does no other step of a write. The error is
// a *Fault.
//
// Upstream: registry/customresource/etcd.go, scaleUpdatedObjectInfo.UpdatedObject.
func (d *Definition) SetScale(ctx context.Context, r *Request) (Outcome, error) {
	return d.run(ctx, r, func(p *pass) error {
		p.r.AsGiven = true
		v, sent, _, err := p.readScales()
		if sent == nil || err != nil {
			return p.conclude(err)
		}
		if !p.setReplicas(v, sent) {
			p.object()
		}
		return p.conclude(nil)
	})
}

// updateScale writes to the scale subresource. The body is a Scale or a patch of one. It sets the replicas of the old
// object, and validates that as an update. The server tracks managed fields.
//
// Upstream: registry/customresource/etcd.go, ScaleREST.Update and scaleUpdatedObjectInfo; endpoints/handlers/update.go
// and patch.go.
func (p *pass) updateScale() error {
	p.r.Whole = true // only handlers write Scales
	v, sent, current, err := p.readScales()
	switch {
	case sent == nil || err != nil:
		return err
	case p.r.Stage == StageDecode:
		return p.decodedScale(sent, current)
	}
	return p.changeReplicas(v, sent)
}

// readScales reads the old object, its Scale and the new Scale, which is nil if the request is rejected.
func (p *pass) readScales() (v *Version, sent, current *autoscalingv1.Scale, err error) {
	if v, err = p.addressOld(); err != nil || p.out.Rejection != nil {
		return nil, nil, nil, err
	}
	if p.r.Patch == 0 {
		if sent, err = p.readScale(); sent == nil || err != nil {
			return nil, nil, nil, err
		}
	} else if rejected, err := p.readPatch(); rejected || err != nil {
		return nil, nil, nil, err
	}
	if err := p.readOld(v); err != nil {
		return nil, nil, nil, err
	}
	p.setKnown(v)
	if sent != nil && p.r.Stage != StageFinish && (p.checkScale(sent) || p.compareScaleUID(sent)) {
		return nil, nil, nil, nil
	}
	current, found, err := v.Scale.read(p.d, p.old.root)
	if err != nil {
		p.out.Rejection = statusless(err.Error())
		return nil, nil, nil, nil
	}
	if !found {
		current.Spec.Replicas = noReplicas
	}
	if sent == nil {
		if sent, err = p.patchScale(current); sent == nil || err != nil || p.checkScale(sent) {
			return nil, nil, nil, err
		}
	}
	return v, sent, current, nil
}

// checkScale rejects a Scale whose name or namespace differs from the request's, and warns of repeated owners. After
// mutating admission, upstream uses only the replicas and the resourceVersion of a Scale.
func (p *pass) checkScale(sent *autoscalingv1.Scale) (rejected bool) {
	namespace := ""
	if p.def.Namespaced {
		namespace = p.r.Namespace
	}
	switch {
	case sent.Namespace == "" || namespace == "":
		sent.Namespace = namespace
	case sent.Namespace != namespace:
		p.rejectScale(badRequest(otherNamespace, otherNamespace),
			"does not match the namespace of the request, "+strconv.Quote(namespace), "metadata", "namespace")
		return true
	}
	if p.checkName(sent.Name) {
		p.rejectScale(p.out.Rejection, "does not match the name of the request, "+strconv.Quote(p.r.Name), "metadata", "name")
		return true
	}
	if p.r.Patch == 0 {
		p.dedupScaleOwners(sent, false)
	}
	return false
}

func (p *pass) dedupScaleOwners(sent *autoscalingv1.Scale, late bool) {
	var warning string
	if sent.OwnerReferences, warning = metadata.DedupOwners(sent.OwnerReferences, late); warning != "" {
		p.warn(violation.Warning{Type: violation.TypeWarning, Text: warning, Field: "metadata.ownerReferences"})
	}
}

func (p *pass) compareScaleUID(sent *autoscalingv1.Scale) (rejected bool) {
	if !p.compareUID(string(sent.UID)) {
		return false
	}
	p.rejectScale(p.out.Rejection, p.out.Violations[0].Detail, "metadata", "uid")
	return true
}

// decodedScale sets the outcome of stage DECODE.
func (p *pass) decodedScale(sent, current *autoscalingv1.Scale) (err error) {
	if !p.r.WantObject {
		return nil
	}
	if p.out.Object, err = json.Marshal(sent); err == nil {
		p.out.Old, err = json.Marshal(current)
	}
	if err != nil {
		return internal(err)
	}
	return nil
}

// changeReplicas sets the replicas of the old object, and validates that as its update.
func (p *pass) changeReplicas(v *Version, sent *autoscalingv1.Scale) error {
	if p.r.Patch != 0 || p.r.Stage == StageFinish {
		p.dedupScaleOwners(sent, true)
	}
	if p.setReplicas(v, sent) {
		return nil
	}
	p.fillRevision()
	want := p.r.WantObject
	p.r.WantObject = want || p.storing
	err := p.finish(v)
	p.positionInPatch(nil)
	if err != nil || p.out.Rejection != nil {
		return err
	}
	return p.answerScale(v, want)
}

// answerScale sets the outcome to the Scale of the new object. An object that is read back from storage may have no
// valid Scale; that is an error even if no object is wanted.
func (p *pass) answerScale(v *Version, want bool) error {
	object := p.out.Object
	if p.r.WantObject {
		d := tree.Acquire()
		root, err := d.Parse(object, tree.Request, tree.Limits{MaxBytes: max(len(object), 1)})
		if err != nil {
			return internal(fmt.Errorf("what was printed cannot be read: %w", err))
		}
		scale, _, err := v.Scale.read(d, root)
		d.Release()
		if err = cmp.Or(p.unscaled, err); err != nil { // a webhook can return 1.0, which is printed as 1
			p.out.Rejection = badRequest(err.Error(), err.Error())
			return nil
		}
		if p.out.Object, err = json.Marshal(scale); err != nil {
			return internal(err)
		}
	}
	if !want {
		p.out.Object, p.out.Stored = nil, nil
		return nil
	}
	if p.out.Stored == nil && !p.out.Deletes {
		p.out.Stored = object
	}
	p.out.Changed = true
	return nil
}

// setReplicas makes the new object: a copy of the old one with the replicas, and the resourceVersion if it has one, of
// a Scale. It reports whether the request is rejected.
func (p *pass) setReplicas(v *Version, sent *autoscalingv1.Scale) (rejected bool) {
	if sent.Spec.Replicas == noReplicas {
		text := fmt.Sprintf("the spec replicas field %q cannot be empty", v.Scale.SpecReplicas.Text)
		p.rejectScale(badRequest(text, text), "must be set", "spec", "replicas")
		return true
	}
	p.copyOld()
	if err := p.putReplicas(v.Scale.SpecReplicas.Names, int64(sent.Spec.Replicas)); err != nil {
		p.out.Rejection = statusless(err.Error())
		return true
	}
	if sent.ResourceVersion != "" {
		p.set("resourceVersion", sent.ResourceVersion)
	}
	p.old.end = uint32(len(p.d.Nodes))
	return false
}

// putReplicas sets a number at a path of the new object. It copies the containers on the path, which may be shared with
// the old object. The error has upstream's text.
//
// Upstream: apimachinery, pkg/apis/meta/v1/unstructured/helpers.go, SetNestedField.
func (p *pass) putReplicas(names []string, replicas int64) error {
	d, at, last := p.d, p.root, len(names)-1
	for i, name := range names[:last] {
		c := d.Field(at, name)
		switch {
		case c == 0:
			c = p.put(at, name, p.parsed([]byte("{}")))
		case d.Nodes[c].Kind != tree.Object:
			return fmt.Errorf("value cannot be set because .%s is not a map[string]interface{}",
				strings.Join(names[:i+1], "."))
		default:
			p.copyMembers(c)
			d.MarkDirty(at, c)
		}
		at = c
	}
	p.put(at, names[last], p.integer(replicas))
	return nil
}
