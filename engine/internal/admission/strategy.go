package admission

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// prepareCreate changes the object as the strategy does before validation.
//
// Upstream: registry/customresource/strategy.go, PrepareForCreate.
func (p *pass) prepareCreate(v *Version) {
	if v.HasStatus && p.d.Field(p.root, "status") != 0 {
		p.put(p.root, "status", 0)
		p.out.Defaulted = slices.DeleteFunc(p.out.Defaulted, isStatus)
	}
	p.setGeneration(1)
}

func isStatus(c Change) bool { return len(c.Path) > 0 && c.Path[0] == tree.Name("status") }

// setGeneration sets metadata.generation. It does not allocate.
func (p *pass) setGeneration(n int64) {
	d, meta := p.d, p.metadata()
	if c := d.Field(meta, "generation"); c == 0 || d.Nodes[c].Kind != tree.Int || d.Int(c) != n {
		p.put(meta, "generation", p.integer(n))
	}
}

// prepareUpdate changes the new object before validation: it takes the old status if status is a subresource, restores
// immutable metadata, and increments the generation if anything but metadata changes.
//
// Upstream: registry/customresource/strategy.go, PrepareForUpdate; registry/rest/update.go, BeforeUpdate.
func (p *pass) prepareUpdate(v *Version) {
	if v.HasStatus {
		if status := p.put(p.root, "status", p.copyOf(p.d.Field(p.old.root, "status"))); status != 0 {
			p.old.copies, p.old.end = status, status+1
		}
		p.out.Defaulted = slices.DeleteFunc(p.out.Defaulted, isStatus)
	}
	p.prepareUpdateMetadata()
	p.prepareUpdateGeneration(p.sameContent())
}

// prepareUpdateMetadata restores immutable metadata, and the generation if it is missing. It does not allocate.
func (p *pass) prepareUpdateMetadata() {
	d, old, meta := p.d, p.d.Field(p.old.root, "metadata"), p.metadata()
	for _, key := range [...]string{"generation", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		always := key == "creationTimestamp" || key == "deletionTimestamp"
		if from := d.Field(old, key); (from != 0 || key == "uid") && (always || p.absent(meta, key)) {
			p.restore(meta, key, from)
		}
	}
}

// absent reports whether upstream does not see a member of metadata. Mutating admission can set an empty uid, and
// values of other types.
//
// Upstream: apimachinery, unstructured.go, GetUID and GetDeletionGracePeriodSeconds.
func (p *pass) absent(meta uint32, key string) bool {
	d, c := p.d, p.d.Field(meta, key)
	switch key {
	case "uid":
		return d.Nodes[c].Kind != tree.String || d.Str(c) == ""
	case "deletionGracePeriodSeconds":
		return d.Nodes[c].Kind != tree.Int
	}
	return c == 0
}

// restore sets a member to a value of the old object, unless it is equal.
func (p *pass) restore(meta uint32, key string, from uint32) {
	if c := p.d.Field(meta, key); c == 0 || from == 0 || !tree.Equal(p.d, c, p.d, from) {
		p.put(meta, key, p.copyOf(from))
	}
}

// prepareUpdateGeneration sets the generation of the new object. It does not allocate.
func (p *pass) prepareUpdateGeneration(same bool) {
	if same {
		p.restore(p.metadata(), "generation", p.d.Field(p.d.Field(p.old.root, "metadata"), "generation"))
	} else {
		p.countUp()
	}
}

// countUp sets the generation to that of the old object plus one. A generation of zero is printed as absent.
func (p *pass) countUp() {
	d, generation := p.d, int64(1)
	if c := d.Field(d.Field(p.old.root, "metadata"), "generation"); c != 0 && d.Nodes[c].Kind == tree.Int {
		generation += d.Int(c)
	}
	if generation == 0 {
		p.remove("generation")
		return
	}
	p.setGeneration(generation)
}

// sameContent reports whether only metadata differs from the old object.
func (p *pass) sameContent() bool { return same(p.d, p.root, p.d, p.old.root, partContent) }

// sameGeneration reports whether the generation is that of the old object.
func (p *pass) sameGeneration() bool {
	d := p.d
	generation := func(root uint32) uint32 { return d.Field(d.Field(root, "metadata"), "generation") }
	return tree.Equal(d, generation(p.root), d, generation(p.old.root))
}

// prepareStatus makes the new object from the old one, with the status and the managed fields of the request.
//
// Upstream: registry/customresource/status_strategy.go, PrepareForUpdate.
func (p *pass) prepareStatus() {
	d := p.d
	status, sent := d.Field(p.root, "status"), d.Field(p.root, "metadata")
	p.copyOld()
	meta := d.Field(p.root, "metadata")
	p.old.taken = p.put(p.root, "status", p.copyOf(status))
	managed := d.Field(sent, "managedFields")
	if p.r.Stage == StageFinish && metadata.HasUnreadableManagedFields(d, sent) { // mutating admission set them
		managed = 0
	}
	p.put(meta, "managedFields", p.copyOf(managed))
	if read := d.Field(sent, "resourceVersion"); read != 0 && d.Field(meta, "resourceVersion") == 0 {
		// Bytes of a storage have no resourceVersion. Upstream sets the stored one and compares it with the one that
		// was sent.
		p.put(meta, "resourceVersion", p.copyOf(read))
		p.put(d.Field(p.old.root, "metadata"), "resourceVersion", p.copyOf(read))
	}
	p.old.end = uint32(len(d.Nodes))
	d.MarkDirty(p.root, meta)
	p.out.Defaulted = slices.DeleteFunc(p.out.Defaulted, func(c Change) bool { return !isStatus(c) })
}

// copyOld makes the new object a copy of the old one. Its members and those of its metadata can be replaced.
func (p *pass) copyOld() {
	p.old.copies = uint32(len(p.d.Nodes))
	p.root = p.copyOf(p.old.root)
	p.copyMembers(p.root)
	p.copyMembers(p.d.Field(p.root, "metadata"))
}

// warnFinalizers adds the strategy's warnings about new finalizers, sorted by name. Updates of the status cause no such
// warnings.
//
// Upstream: registry/customresource/strategy.go, generateWarningsFromObj; validator.go, validateKubeFinalizerName.
func (p *pass) warnFinalizers() {
	list, old := p.finalizerList(p.root), p.finalizerList(p.old.root)
	if p.r.Status || p.d.Nodes[list].First == 0 || old != 0 && tree.Equal(p.d, list, p.d, old) {
		return
	}
	added := p.namesIn(list).Difference(p.namesIn(old))
	for _, name := range sets.List(added) {
		at := tree.Path{tree.Name("metadata"), tree.Name("finalizers"), tree.At(p.indexOf(list, name))}
		for _, text := range finalizerWarnings(name) {
			p.warnAbout(violation.TypeWarning, text, "metadata.finalizers", at)
		}
	}
}

// finalizerList returns the list of an object's finalizers, or 0 if it is not a list of strings.
//
// Upstream: apimachinery, unstructured.go, GetFinalizers.
func (p *pass) finalizerList(root uint32) uint32 {
	d := p.d
	list := d.Field(d.Field(root, "metadata"), "finalizers")
	if d.Nodes[list].Kind != tree.Array {
		return 0
	}
	for c := d.Nodes[list].First; c != 0; c = d.Nodes[c].Next {
		if d.Nodes[c].Kind != tree.String {
			return 0
		}
	}
	return list
}

func (p *pass) namesIn(list uint32) sets.Set[string] {
	d, names := p.d, sets.New[string]()
	for c := d.Nodes[list].First; c != 0; c = d.Nodes[c].Next {
		if d.Nodes[c].Kind == tree.String {
			names.Insert(strings.Clone(d.Str(c)))
		}
	}
	return names
}

// indexOf returns the index of a string in a list that has it.
func (p *pass) indexOf(list uint32, text string) (i int) {
	for c := p.d.Nodes[list].First; c != 0 && p.d.Str(c) != text; c = p.d.Nodes[c].Next {
		i++
	}
	return i
}

func finalizerWarnings(name string) (texts []string) {
	for _, msg := range validation.IsQualifiedName(name) {
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: %s", name, msg))
	}
	switch {
	case strings.Contains(name, "/"), name == metav1.FinalizerOrphanDependents,
		name == metav1.FinalizerDeleteDependents, name == "kubernetes":
	case strings.Contains(name, "."):
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers", name))
	default:
		texts = append(texts, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers", name))
	}
	return texts
}
