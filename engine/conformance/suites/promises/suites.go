package promises

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// suite is a file in the format that corpus/modules.go calls openshift.
type suite struct {
	Name, CRDName, Version string
	FeatureGates           []string
	Tests                  struct{ OnCreate, OnUpdate []suiteCase }
}

type suiteCase struct {
	Name, Initial, Updated, Expected   string
	ExpectedError, ExpectedStatusError string
	InitialCRDPatches                  []struct {
		Op, Path string
		Value    any
	}
}

// suites runs the cases of such files with their CRDs.
func (p *promiser) suites(c *corpus.Corpus) {
	for _, file := range c.Suites {
		if file.Format != "openshift" {
			continue
		}
		var s suite
		if err := yaml.Unmarshal(file.Data, &s); err != nil {
			p.Broken = append(p.Broken, fmt.Sprintf("%s: %v", file.Path, err))
			continue
		}
		crd := s.definition(c, file.Module)
		if crd == nil {
			p.Broken = append(p.Broken, fmt.Sprintf("%s: there is no definition %s", file.Path, s.CRDName))
			continue
		}
		b := p.register(file.Path, crd.JSON())
		if b == nil {
			p.Broken = append(p.Broken, fmt.Sprintf("%s: the definition is rejected", file.Path))
			continue
		}
		for _, k := range s.Tests.OnCreate {
			s.create(b, crd, k)
		}
		for _, k := range s.Tests.OnUpdate {
			s.update(b, crd, k)
		}
	}
}

// definition finds the suite's CRD and removes its other versions. There is a CRD per set of features. Cases that need
// features use the set that contains all of them.
func (s *suite) definition(c *corpus.Corpus, module string) *jsontree.Node {
	set := "Default"
	if len(s.FeatureGates) > 0 {
		set = "CustomNoUpgrade"
	}
	var found *jsontree.Node
	for _, crd := range c.CRDs {
		if crd.Module != module || crd.Name != s.CRDName {
			continue
		}
		n, err := jsontree.Parse(crd.Doc)
		if err != nil {
			continue
		}
		features, _ := n.At("metadata", "annotations").Get("release.openshift.io/feature-set").Text()
		if found == nil || features == set {
			found = n
		}
	}
	if found == nil {
		return nil
	}
	for _, v := range found.At("spec", "versions").GetItems() {
		if name, _ := v.Get("name").Text(); name == s.Version || s.Version == "" {
			found.Get("spec").Set("versions", jsontree.Arr(v.Set("storage", true).Set("served", true)))
			break
		}
	}
	found.Get("spec").Delete("conversion")
	return found
}

// object decodes a manifest of a case and sets its name.
func object(text string) (*jsontree.Node, error) {
	doc, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	o, err := jsontree.Parse(doc)
	if err != nil {
		return nil, err
	}
	m := o.Get("metadata")
	if m == nil {
		m = jsontree.Obj()
		o.Set("metadata", m)
	}
	m.Set("name", "x").Set("namespace", "default")
	return o, nil
}

// create runs a case that creates an object.
func (s *suite) create(b *both, _ *jsontree.Node, k suiteCase) {
	o, err := object(k.Initial)
	if err != nil {
		b.expect(k.Name+": "+err.Error(), false, oracle.Answer{})
		return
	}
	b.check(k.Name, b.ask(k.Name, oracle.Request{Version: s.Version, Body: o.JSON()}), k.ExpectedError, k.Expected)
}

// check compares an answer with a promise.
func (b *both) check(name string, a oracle.Answer, wantError, wantObject string) {
	if wantError != "" {
		b.expect(name+": want error "+strconv.Quote(wantError), !a.Accepted() && strings.Contains(textOf(a), wantError), a)
		return
	}
	b.expect(name+": want no error", a.Accepted(), a)
	if a.Accepted() && wantObject != "" {
		b.expect(fmt.Sprintf("%s: want %s, got %s", name, wantObject, a.Object), sameBody(wantObject, a.Object), a)
	}
}

// sameBody compares a manifest with an object, without metadata.
func sameBody(manifest string, object []byte) bool {
	var want, got map[string]any
	if yaml.Unmarshal([]byte(manifest), &want) != nil || json.Unmarshal(object, &got) != nil {
		return false
	}
	delete(want, "metadata")
	delete(got, "metadata")
	return reflect.DeepEqual(want, got)
}

// update runs a case that changes an object. The object is created, possibly with another CRD, and gets its status.
// Then the object is updated, then its status.
func (s *suite) update(b *both, crd *jsontree.Node, k suiteCase) {
	first, err := object(k.Initial)
	if err != nil {
		b.expect(k.Name+": "+err.Error(), false, oracle.Answer{})
		return
	}
	before := b
	if len(k.InitialCRDPatches) > 0 {
		patched := crd.Clone()
		for _, patch := range k.InitialCRDPatches {
			if err := apply(patched, patch.Op, patch.Path, patch.Value); err != nil {
				b.expect(k.Name+": "+err.Error(), false, oracle.Answer{})
				return
			}
		}
		if before = b.p.register(b.name+": "+k.Name+", patched", patched.JSON()); before == nil {
			b.expect(k.Name+": the patched definition is rejected", false, oracle.Answer{})
			return
		}
	}
	hasStatus := crd.At("spec", "versions").Items[0].At("subresources", "status") != nil
	a := before.ask(k.Name+": create", oracle.Request{Version: s.Version, Body: first.JSON()})
	b.expect(k.Name+": create", a.Accepted(), a)
	stored := asStored(a.Object)
	if hasStatus && first.Get("status") != nil {
		a = before.ask(k.Name+": first status", oracle.Request{Op: oracle.Status, Version: s.Version, Body: asStored(first.JSON()), Old: stored})
		b.expect(k.Name+": first status", a.Accepted(), a)
		stored = asStored(a.Object)
	}
	second, err := object(k.Updated)
	if err != nil {
		b.expect(k.Name+": "+err.Error(), false, oracle.Answer{})
		return
	}
	body := asStored(second.JSON())
	a = b.ask(k.Name, oracle.Request{Op: oracle.Update, Version: s.Version, Body: body, Old: stored})
	if k.ExpectedError != "" || !hasStatus || second.Get("status") == nil {
		b.check(k.Name, a, k.ExpectedError, k.Expected)
		return
	}
	b.expect(k.Name+": update before the status", a.Accepted(), a)
	a = b.ask(k.Name+": status", oracle.Request{Op: oracle.Status, Version: s.Version, Body: body, Old: asStored(a.Object)})
	b.check(k.Name+": status", a, k.ExpectedStatusError, k.Expected)
}

// asStored adds the metadata of a stored object.
func asStored(doc []byte) []byte {
	o, err := jsontree.Parse(doc)
	if err != nil || o.Get("metadata") == nil {
		return doc
	}
	o.Get("metadata").Set("uid", "1").Set("resourceVersion", "1")
	return o.JSON()
}

// apply applies one operation of a JSON patch.
func apply(doc *jsontree.Node, op, path string, value any) error {
	steps := strings.Split(strings.TrimPrefix(path, "/"), "/")
	at := doc
	for i, step := range steps {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		last := i == len(steps)-1
		index := -1
		if at.Kind == jsontree.Array {
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(at.Items) {
				return fmt.Errorf("patch: %s is not there", path)
			}
			index = n
		} else {
			for k := range at.GetMembers() {
				if at.Members[k].Key == step {
					index = k
				}
			}
		}
		switch {
		case last && op == "add" && at.Kind == jsontree.Object:
			at.Set(step, jsontree.From(value))
		case index < 0:
			return fmt.Errorf("patch: %s is not there", path)
		case last && op == "remove":
			at.RemoveChild(index)
		case last && op == "replace":
			at.SetChild(index, jsontree.From(value))
		case last:
			return fmt.Errorf("patch: operation %s", op)
		default:
			at = at.Child(index)
		}
	}
	return nil
}
