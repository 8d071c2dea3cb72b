package metamorphic

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// What an operation does.
const (
	doRegister    = "register"    // each manifest with a call of its own
	doRegisterAll = "registerAll" // all manifests in one call
	doDelete      = "delete"
	doVersions    = "setStoredVersions"
	doGet         = "get"
	doList        = "list"
	doEvaluate    = "evaluate"
	doWatch       = "watch"
	doRestart     = "restart"
)

// A history is a list of operations on one catalog.
type history []operation

// An operation is one step of a history. Its fields are those that Do uses.
type operation struct {
	Do string
	// ID names the operation for later ones. 0: no name.
	ID int
	// CRD is the name of a CRD.
	CRD string
	// Manifests are CRDs to register.
	Manifests []*jsontree.Node
	// Versions are the new status.storedVersions.
	Versions []string
	// Call is the evaluation: validate, admit, prune, default, read or convert.
	Call string
	// Validation is the field validation: Ignore, Warn, Strict or empty.
	Validation string
	// Target is the version to read at or to convert to.
	Target string
	// Items are what Call evaluates.
	Items []item
	// From is the ID of the operation after which a watch begins. 0: it begins with all CRDs.
	From int
	// Of is the ID of the registration whose revision a get returns. 0: the current one.
	Of int
}

// An item is an object to evaluate.
type item struct {
	CRD, Version, Subresource, Name, Namespace string
	// Object is the object, or the patch if Patch is merge or json.
	Object, Old *jsontree.Node
	Patch       string
	// Of is the ID of the registration whose revision evaluates the item. 0: the current one.
	Of int
}

// encode returns the JSON of a history. It shares the documents.
func (h history) encode() *jsontree.Node {
	all := jsontree.Arr()
	for i := range h {
		o := &h[i]
		n := jsontree.Obj("do", o.Do)
		putInt(n, "id", o.ID)
		putText(n, "crd", o.CRD)
		if len(o.Manifests) > 0 {
			n.Set("manifests", jsontree.Arr(o.Manifests...))
		}
		for _, v := range o.Versions {
			if n.Get("versions") == nil {
				n.Set("versions", jsontree.Arr())
			}
			list := n.Get("versions")
			list.Items = append(list.Items, jsontree.Str(v))
		}
		putText(n, "call", o.Call)
		putText(n, "validation", o.Validation)
		putText(n, "target", o.Target)
		putInt(n, "from", o.From)
		putInt(n, "of", o.Of)
		if len(o.Items) > 0 {
			items := jsontree.Arr()
			for k := range o.Items {
				items.Items = append(items.Items, o.Items[k].encode())
			}
			n.Set("items", items)
		}
		all.Items = append(all.Items, n)
	}
	return all
}

func (it *item) encode() *jsontree.Node {
	n := jsontree.Obj()
	putText(n, "crd", it.CRD)
	putText(n, "version", it.Version)
	putText(n, "subresource", it.Subresource)
	putText(n, "name", it.Name)
	putText(n, "namespace", it.Namespace)
	putText(n, "patch", it.Patch)
	putInt(n, "of", it.Of)
	n.Set("object", it.Object)
	if it.Old != nil {
		n.Set("old", it.Old)
	}
	return n
}

func putText(n *jsontree.Node, key, text string) {
	if text != "" {
		n.Set(key, text)
	}
}

func putInt(n *jsontree.Node, key string, i int) {
	if i != 0 {
		n.Set(key, i)
	}
}

// decode reads what encode returned, and what is left of it while it is shrunk. It returns an error for a history that
// the generator would not return.
func decode(n *jsontree.Node) (history, error) {
	if n == nil || n.Kind != jsontree.Array {
		return nil, fmt.Errorf("the history is not a list")
	}
	var h history
	known := map[int]bool{}
	for i, n := range n.Items {
		o := operation{
			Do: text(n, "do"), ID: number(n, "id"), CRD: text(n, "crd"), Call: text(n, "call"),
			Validation: text(n, "validation"), Target: text(n, "target"), From: number(n, "from"), Of: number(n, "of"),
			Manifests: n.Get("manifests").GetItems(),
		}
		for _, v := range n.Get("versions").GetItems() {
			s, _ := v.Text()
			o.Versions = append(o.Versions, s)
		}
		for _, n := range n.Get("items").GetItems() {
			o.Items = append(o.Items, item{
				CRD: text(n, "crd"), Version: text(n, "version"), Subresource: text(n, "subresource"), Name: text(n, "name"),
				Namespace: text(n, "namespace"), Patch: text(n, "patch"), Of: number(n, "of"),
				Object: n.Get("object"), Old: n.Get("old"),
			})
		}
		if err := o.check(known); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		h = append(h, o)
	}
	return h, nil
}

// check checks an operation. known are the IDs of earlier operations. Those before a restart are false: a watch cannot
// begin there.
func (o *operation) check(known map[int]bool) error {
	for _, m := range o.Manifests {
		if m.Kind != jsontree.Object {
			return fmt.Errorf("a manifest is not an object")
		}
	}
	for i := range o.Items {
		it := &o.Items[i]
		if !isDocument(it.Object) || it.Old != nil && it.Old.Kind != jsontree.Object {
			return fmt.Errorf("item %d lacks an object", i)
		}
	}
	if o.From != 0 && !known[o.From] {
		return fmt.Errorf("it begins after an operation that does not precede it, or before a restart")
	}
	switch o.Do {
	case doRegister, doRegisterAll, doDelete, doVersions, doGet, doList, doWatch:
	case doEvaluate:
		if len(o.Items) == 0 {
			return fmt.Errorf("it has no items")
		}
	case doRestart:
		for id := range known {
			known[id] = false
		}
	default:
		return fmt.Errorf("it does %q", o.Do)
	}
	if o.ID != 0 {
		known[o.ID] = true
	}
	return nil
}

// isDocument reports whether REST can carry n in place of a document: null means that a document is absent.
func isDocument(n *jsontree.Node) bool { return n != nil && n.Kind != jsontree.Scalar }

func text(n *jsontree.Node, key string) string {
	s, _ := n.Get(key).Text()
	return s
}

func number(n *jsontree.Node, key string) (i int) {
	if v := n.Get(key); v != nil {
		_, _ = fmt.Sscan(v.Raw, &i)
	}
	return i
}
