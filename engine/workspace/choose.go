package workspace

import (
	"path"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/hint"
)

// Choose returns the CRDs that apply to the objects of a kind in a file. file is its Source.Path. The list is empty
// without a CRD of the kind. It has several elements if the workspace does not say which one is right:
//
//   - CRDs that the user named (Source.Given) take precedence.
//   - Of the rest, those in the file itself do, then those that share the deepest folder with it. If such a CRD does not
//     have the version of the object, no other one replaces it: it can have been removed on purpose.
func (w *Workspace) Choose(apiVersion, kind, file string) []*CRD {
	w.mu.Lock()
	w.index()
	list := w.kinds[groupKind{GroupOf(apiVersion), kind}]
	w.mu.Unlock()
	if len(list) < 2 {
		return list
	}
	list = most(list, func(c *CRD) int { return number(c.In.Given) })
	return nearest(list, file)
}

// Named returns the CRDs of a name that apply to a file, such as one with their conversion rules. It chooses as Choose
// does.
func (w *Workspace) Named(name, file string) (list []*CRD) {
	for _, c := range w.CRDs() {
		if c.Name == name {
			list = append(list, c)
		}
	}
	return nearest(most(list, func(c *CRD) int { return number(c.In.Given) }), file)
}

// nearest returns the CRDs that share the deepest folder with a file.
func nearest(list []*CRD, file string) []*CRD {
	return most(list, func(c *CRD) int { return commonDepth(c.In.Path, file) })
}

// most returns the elements for which a function returns the largest number, in their order.
func most(list []*CRD, of func(*CRD) int) (best []*CRD) {
	largest := -1
	for _, c := range list {
		switch n := of(c); {
		case n > largest:
			largest, best = n, []*CRD{c}
		case n == largest:
			best = append(best, c)
		}
	}
	return best
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// commonDepth returns how many folders two files share from the root on. The same file counts as one more.
func commonDepth(a, b string) (depth int) {
	if a == "" || b == "" {
		return 0
	}
	if a == b {
		depth++
	}
	inA, inB := strings.Split(path.Dir(a), "/"), strings.Split(path.Dir(b), "/")
	for i := 0; i < len(inA) && i < len(inB) && inA[i] == inB[i]; i++ {
		depth++
	}
	return depth
}

// Similar returns the kind that was probably meant by a kind without a CRD, with its group, or "".
func (w *Workspace) Similar(apiVersion, kind string) (similar, group string) {
	group = GroupOf(apiVersion)
	var kinds []string
	for _, c := range w.CRDs() {
		switch {
		case c.ObjectKind == kind && strings.EqualFold(c.Group, group):
			return kind, c.Group
		case c.Group == group && !slices.Contains(kinds, c.ObjectKind):
			kinds = append(kinds, c.ObjectKind)
		}
	}
	if similar = hint.Closest(kind, kinds); similar != "" {
		return similar, group
	}
	return "", ""
}
