package metamorphic

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// maxDocument bounds generated documents in bytes, because histories have many.
const maxDocument = 16 << 10

// family is a CRD in several revisions, with objects.
type family struct {
	name      string
	manifests []*jsontree.Node
	versions  []string
	objects   []generate.Object
	ids       []int // of the registrations so far
	next      int   // the manifest that is registered next
}

type maker struct {
	generate.Rand
	families []*family
	h        history
	ids      int
	writes   []int // IDs of writes since the last restart
	open     int   // watches
}

// makeHistory returns the n-th history of a seed, and the source of the choices that follow.
func makeHistory(seed, n uint64) (history, generate.Rand) {
	m := &maker{Rand: generate.New("metamorphic", seed, n)}
	for i := range m.Between(1, generate.Pick(m.Rand, []int{1, 1, 1, 2, 3})) {
		m.families = append(m.families, m.family(i, int(n)))
	}
	m.register(m.families[0])
	for range m.Between(4, 10) {
		m.step()
	}
	return m.h, m.Rand
}

// family returns a CRD that a generator of the other suites makes, and changed copies of it.
func (m *maker) family(i, n int) *family {
	var g generate.Group
	switch k := m.IntN(100); {
	case k < 40:
		g = generate.Writes(m.Rand)
	case k < 60:
		g = generate.Updates(m.Rand)
	case k < 75:
		g = generate.Pairwise(m.Rand, n)
	case k < 85:
		g = generate.Stored(m.Rand, i)
	case k < 90:
		g = generate.Metadata(m.Rand)
	case k < 95:
		g = generate.Rules(m.Rand)
	default:
		g = generate.Edges(m.Rand)
	}
	rename := strings.NewReplacer()
	if i > 0 {
		number := strconv.Itoa(i)
		rename = strings.NewReplacer("crontab", "crontab"+number, "CronTab", "CronTab"+number)
		if m.Chance(25) { // a conflict of kinds
			rename = strings.NewReplacer(`"crontabs"`, `"crontabs`+number+`"`, "crontabs.", "crontabs"+number+".")
		}
	}
	f := &family{}
	crd, err := jsontree.Parse([]byte(rename.Replace(string(g.CRD))))
	if err != nil || crd.Kind != jsontree.Object {
		crd = generate.Manifest(jsontree.Obj("type", "object"))
	}
	f.name = text(crd.Get("metadata"), "name")
	for _, v := range crd.At("spec", "versions").GetItems() {
		f.versions = append(f.versions, text(v, "name"))
	}
	if len(f.versions) == 0 {
		f.versions = []string{"v1"}
	}
	f.manifests = append(f.manifests, crd)
	for range m.Between(1, 3) {
		f.manifests = append(f.manifests, generate.Revise(m.Rand, generate.Pick(m.Rand, f.manifests)))
	}
	for _, o := range g.Objects {
		o.Body, o.Old = []byte(rename.Replace(string(o.Body))), []byte(rename.Replace(string(o.Old)))
		if len(o.Body) <= maxDocument && len(o.Old) <= maxDocument {
			f.objects = append(f.objects, o)
		}
	}
	return f
}

// id returns a new ID of an operation.
func (m *maker) id() int {
	m.ids++
	return m.ids
}

func (m *maker) step() {
	f := generate.Pick(m.Rand, m.families)
	switch k := m.IntN(100); {
	case k < 48:
		m.evaluate(f)
	case k < 66:
		m.register(f)
	case k < 69:
		all := operation{Do: doRegisterAll, ID: m.write()}
		for _, f := range m.families {
			all.Manifests = append(all.Manifests, m.manifest(f))
			f.ids = append(f.ids, 0)
		}
		m.h = append(m.h, all)
	case k < 74:
		m.h = append(m.h, operation{Do: doDelete, ID: m.write(), CRD: f.name})
	case k < 77:
		o := operation{Do: doVersions, ID: m.write(), CRD: f.name}
		for range m.Between(0, 2) {
			o.Versions = append(o.Versions, generate.Pick(m.Rand, f.versions))
		}
		m.h = append(m.h, o)
	case k < 83:
		o := operation{Do: doGet, CRD: f.name}
		if m.Chance(50) {
			o.Of = m.revision(f)
		}
		m.h = append(m.h, o)
	case k < 86:
		m.h = append(m.h, operation{Do: doList})
	case k < 93 && m.open < 2:
		o := operation{Do: doWatch}
		if len(m.writes) > 0 && m.Chance(50) {
			o.From = generate.Pick(m.Rand, m.writes)
		}
		m.open++
		m.h = append(m.h, o)
	default:
		m.open, m.writes = 0, nil
		m.h = append(m.h, operation{Do: doRestart})
	}
}

// write returns the ID of a new write.
func (m *maker) write() int {
	id := m.id()
	m.writes = append(m.writes, id)
	return id
}

// register registers the next revision of a CRD, or an older one again.
func (m *maker) register(f *family) {
	id := m.write()
	f.ids = append(f.ids, id)
	m.h = append(m.h, operation{Do: doRegister, ID: id, Manifests: []*jsontree.Node{m.manifest(f)}})
}

func (m *maker) manifest(f *family) *jsontree.Node {
	if f.next < len(f.manifests) && m.Chance(60) {
		f.next++
		return f.manifests[f.next-1]
	}
	return generate.Pick(m.Rand, f.manifests[:max(f.next, 1)])
}

// revision returns the ID of a registration of a CRD, or 0.
func (m *maker) revision(f *family) int {
	if len(f.ids) == 0 {
		return 0
	}
	return generate.Pick(m.Rand, f.ids)
}

// evaluate evaluates some objects of a CRD with one call.
func (m *maker) evaluate(f *family) {
	if len(f.objects) == 0 {
		return
	}
	o := operation{Do: doEvaluate}
	m.choose(f, &o)
	for range m.Between(1, 5) {
		source := generate.Pick(m.Rand, f.objects)
		if it, ok := m.item(f, o.Call, source); ok {
			o.Items = append(o.Items, it)
			o.Validation = source.FieldValidation
		}
	}
	if len(o.Items) > 0 {
		m.h = append(m.h, o)
	}
}

func (m *maker) choose(f *family, o *operation) {
	o.Call = generate.Pick(m.Rand, []string{
		callAdmit, callAdmit, callAdmit, callValidate, callPrune, callDefault, callRead, callRead, callConvert,
	})
	if o.Call == callConvert || o.Call == callRead && m.Chance(50) {
		o.Target = generate.Pick(m.Rand, f.versions)
	}
}

// item returns an item that carries an object.
func (m *maker) item(f *family, call string, o generate.Object) (it item, ok bool) {
	if m.Chance(50) {
		it.CRD = f.name
	}
	if m.Chance(15) {
		it.Of = m.revision(f)
	}
	if call != callAdmit && call != callValidate {
		if it.Object = parse(o.Old); it.Object == nil {
			it.Object = parse(o.Body)
		}
		return it, it.Object != nil && it.Object.Kind == jsontree.Object
	}
	it.Version, it.Name, it.Namespace = o.Version, o.Name, o.Namespace
	if it.Object = parse(o.Body); it.Object == nil {
		it.Object = parse(o.Old)
		return it, it.Object != nil && it.Object.Kind == jsontree.Object
	}
	switch o.Op {
	case oracle.Create:
		return it, it.Object.Kind == jsontree.Object
	case oracle.Status:
		it.Subresource = "status"
	case oracle.Scale:
		it.Subresource = "scale"
	}
	switch o.Patch {
	case oracle.MergePatch:
		it.Patch = patchMerge
	case oracle.JSONPatch:
		it.Patch = patchJSON
	}
	it.Old = parse(o.Old)
	return it, it.Old != nil && it.Old.Kind == jsontree.Object && isDocument(it.Object)
}

// parse returns a document that every transport can carry, or nil.
func parse(document []byte) *jsontree.Node {
	n, err := jsontree.Parse(document)
	if err != nil || !isDocument(n) || !json.Valid(n.JSON()) {
		return nil
	}
	return n
}
