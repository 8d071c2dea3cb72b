package workspace

import (
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/internal/hint"
)

// Choose returns the CRDs that apply to the objects of a kind in a file: the first rank of Ranked. The list is empty
// without a CRD of the kind. It has several elements if several CRDs are equally near to the file.
func (w *Workspace) Choose(apiVersion, kind, file string) []*CRD {
	return first(w.ofKind(apiVersion, kind), file)
}

// Ranked returns the CRDs of a kind in the order in which they apply to the objects in a file. file is its Source.Path.
// A rank has several elements if several CRDs are equally near to the file.
//
//   - If the user named CRDs of the kind (Source.Given), no others apply.
//   - CRDs in the file itself come first, then those that share the deepest folder with it.
//   - If API servers reject all CRDs of a rank, the next rank applies.
//   - A CRD without the version of the object stays in its rank: the version can have been removed on purpose.
func (w *Workspace) Ranked(apiVersion, kind, file string) [][]*CRD {
	return ranked(w.ofKind(apiVersion, kind), file)
}

// Considered returns the CRDs on which the result of Candidates depends: those of the ranks up to the first one with an
// accepted CRD. It compiles nothing: a CRD that was not compiled is not accepted.
func (w *Workspace) Considered(apiVersion, kind, file string) (list []*CRD) {
	accepted := func(c *CRD) bool { return c.Compiled() != nil && c.Compiled().Accepted }
	for _, rank := range w.Ranked(apiVersion, kind, file) {
		list = append(list, rank...)
		if slices.ContainsFunc(rank, accepted) {
			break
		}
	}
	return list
}

// ofKind returns the CRDs of a kind.
func (w *Workspace) ofKind(apiVersion, kind string) []*CRD {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.index()
	return w.kinds[schema.GroupKind{Group: GroupOf(apiVersion), Kind: kind}]
}

// Named returns the CRDs with a name that apply to a file, for example a file with their conversion rules. It chooses
// as Choose does.
func (w *Workspace) Named(name, file string) (list []*CRD) {
	for _, c := range w.CRDs() {
		if c.Name == name {
			list = append(list, c)
		}
	}
	return first(list, file)
}

// first returns the first rank.
func first(list []*CRD, file string) []*CRD {
	if len(list) < 2 {
		return list
	}
	return ranked(list, file)[0]
}

// ranked sorts CRDs into ranks.
func ranked(list []*CRD, file string) (ranks [][]*CRD) {
	if len(list) == 1 {
		return [][]*CRD{list}
	}
	given := slices.ContainsFunc(list, func(c *CRD) bool { return c.In.Given })
	byDepth := map[int][]*CRD{}
	for _, c := range list {
		if c.In.Given == given {
			depth := commonDepth(c.In.Path, file)
			byDepth[depth] = append(byDepth[depth], c)
		}
	}
	for _, depth := range slices.Backward(slices.Sorted(maps.Keys(byDepth))) {
		ranks = append(ranks, byDepth[depth])
	}
	return ranks
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
	if similar, found := hint.Nearest(kind, kinds); found {
		return similar, group
	}
	return "", ""
}
