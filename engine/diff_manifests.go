package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/internal/value"
)

// compared is one of the two manifests of a comparison.
type compared struct {
	doc       *value.Doc
	root      uint32 // 0 if the text has no tree
	finder    *value.Finder
	text      []byte
	crd       *apiextensionsv1.CustomResourceDefinition // nil if it could not be decoded
	undecoded error                                     // why not
	canonical []byte
}

// readCompared reads and decodes a manifest. What is said of one that is no CRD names it as what.
func readCompared(manifest Document, what string, l Limits) (*compared, error) {
	c := &compared{doc: value.Acquire()}
	err := c.read(manifest, l)
	if err == nil {
		return c, nil
	}
	c.release()
	var e *Error
	if what != "manifest" && errors.As(err, &e) {
		told := *e
		told.Message = what + ": " + told.Message
		return nil, &told
	}
	return nil, err
}

func (c *compared) read(manifest Document, l Limits) error {
	text, root, unread := readManifest(c.doc, manifest, l)
	if unread != nil && (text == nil || ReasonOf(unread) != ReasonManifestUnreadable) {
		return unread
	}
	c.text, c.root = text, root
	if root != 0 {
		c.finder = c.doc.Finder()
	}
	m, err := definition.Decode(text)
	if err != nil {
		if unread != nil {
			err = unread
		}
		_, _, failed := undecodable(c.doc, root, err)
		c.undecoded = err
		return failed
	}
	for i := range m.CRD.Spec.Versions {
		if err := plan.Fits(schema.Of(&m.CRD.Spec.Versions[i])); err != nil {
			return unreadable("manifest", ReasonManifestUnreadable, err)
		}
	}
	c.crd = m.CRD
	if c.canonical, err = schema.Canonical(c.crd); err != nil {
		return &Error{Reason: ReasonManifestUnreadable, Message: err.Error(), Err: err}
	}
	return nil
}

// release gives the tree back.
func (c *compared) release() { c.doc.Release() }

// existing is the CRD as one that is registered: as the options know it, or as its own status says, or fresh.
func (c *compared) existing(o Options) *Existing {
	if o.Existing != nil {
		if e := o.Existing(c.crd.Name); e != nil {
			known := *e
			known.Manifest = c.canonical
			return &known
		}
	}
	e := &Existing{Manifest: c.canonical, Generation: max(1, c.crd.Generation)}
	e.Status.AcceptedNames = c.crd.Spec.Names
	for _, condition := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.NamesAccepted, apiextensionsv1.Established} {
		e.Status.Conditions = append(e.Status.Conditions, Condition{Type: condition, Status: apiextensionsv1.ConditionTrue})
	}
	if s := schema.Storage(c.crd); s != nil {
		e.Status.StoredVersions = []string{s.Name}
	}
	var told struct {
		Status struct {
			StoredVersions []string `json:"storedVersions"`
			Conditions     []struct {
				Type   string `json:"type"`
				Status string `json:"status"`
			} `json:"conditions"`
		} `json:"status"`
	}
	e.Terminating = !c.crd.DeletionTimestamp.IsZero()
	if json.Unmarshal(c.text, &told) == nil {
		for _, condition := range told.Status.Conditions {
			if condition.Type == string(apiextensionsv1.Terminating) && condition.Status == string(apiextensionsv1.ConditionTrue) {
				e.Terminating = true
			}
		}
		for _, name := range told.Status.StoredVersions {
			if !slices.Contains(e.Status.StoredVersions, name) && schema.Find(c.crd, name) != nil {
				e.Status.StoredVersions = append(e.Status.StoredVersions, name)
			}
		}
	}
	return e
}

// fill compares the two and adds what is found to the Diff.
func (diff *Diff) fill(ctx context.Context, old, new *compared, o Options, stored []string) error {
	if diff.Identical = bytes.Equal(old.canonical, new.canonical); diff.Identical {
		return nil
	}
	minor := o.KubernetesMinor
	if minor == 0 {
		minor = LatestMinor
	}
	found, err := compare.CRDs(ctx, old.crd, new.crd, compare.Options{Minor: minor, Most: MaxChanges, Stored: stored})
	if err != nil {
		return &Error{Reason: ReasonItemDeadline, Message: "the call ended before the CRDs were compared: " + err.Error(), Err: err}
	}
	diff.Class, diff.OmittedChanges = classes[found.Worst], found.Omitted
	for i := range found.Changes {
		diff.Changes = append(diff.Changes, changeOf(&found.Changes[i], old, new))
	}
	return nil
}

var classes = [...]ChangeClass{compare.Compatible: Compatible, compare.Care: NeedsCare, compare.Breaking: Breaking}

func changeOf(c *compare.Change, old, new *compared) Change {
	out := Change{
		Class: classes[c.Worst()], Side: sideOf(c), Kind: ChangeKind(c.Kind), Version: c.Version,
		Stored: classes[c.Stored], Writers: classes[c.Writers], Readers: classes[c.Readers],
		Message: c.Message, Old: c.Old, New: c.New, OldPosition: old.position(c.OldAt), NewPosition: new.position(c.NewAt),
	}
	out.ManifestPointer = c.NewAt.Pointer()
	if c.InOld && !c.InNew {
		out.ManifestPointer = c.OldAt.Pointer()
	}
	if c.Schema != nil {
		out.SchemaPointer = c.Schema.Pointer()
	}
	return out
}

// sideOf is whom the worst class of a change concerns.
func sideOf(c *compare.Change) ChangeSide {
	clients := max(c.Writers, c.Readers)
	switch {
	case c.Stored > clients:
		return StoredObjects
	case c.Stored < clients:
		return Clients
	}
	return BothSides
}

// position is where a place of a CRD stands in the manifest, or the nearest to it that the manifest has. A manifest at v1beta1 says once what
// holds for all versions.
func (c *compared) position(at value.Path) *Position {
	if c.root == 0 {
		return nil
	}
	there, depth := at, 0
	node := c.root
	follow := func(p value.Path) {
		if n, d := c.deepest(p); d > depth || depth == 0 {
			there, node, depth = p[:d], n, d
		}
	}
	follow(at)
	const shared = 3 // spec, versions, the index
	if len(at) > shared && depth < len(at) && at[1].Key() == "versions" {
		follow(shareds(at[shared:]))
	}
	position := c.doc.PositionOf(node, there)
	if position == (Position{}) {
		return nil
	}
	return &position
}

// shareds is where v1beta1 has what v1 has in a version.
func shareds(inVersion value.Path) value.Path {
	spec := value.Path{value.Name("spec")}
	if inVersion[0].Key() == "schema" {
		inVersion = inVersion[1:].Clone()
		spec = append(spec, value.Name("validation"))
	}
	return append(spec, inVersion...)
}

func (c *compared) deepest(p value.Path) (node uint32, depth int) {
	node = c.root
	for _, s := range p {
		next := c.finder.Child(node, s)
		if next == 0 {
			break
		}
		node, depth = next, depth+1
	}
	return node, depth
}
