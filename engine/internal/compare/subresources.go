package compare

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

func (c *comparison) subresources(o, n *version) {
	c.compare(path("subresources", "status"), exists(schema.HasStatus(o)), exists(schema.HasStatus(n)),
		effect{"StatusAdded", breaksWriters, "changes of status are ignored, unless clients write to the subresource"},
		effect{"StatusRemoved", breaksWriters,
			"writes to the subresource status get 404, and all other writes replace the status"}, effect{})
	at := path("subresources", "scale")
	switch was, is := schema.ScaleOf(o), schema.ScaleOf(n); {
	case was == nil && is == nil:
	case was == nil:
		c.report("ScaleAdded", careForWrites, at, nil, is,
			"objects are rejected unless %s and %s are from 0 to 2147483647", is.SpecReplicasPath, is.StatusReplicasPath)
	case is == nil:
		c.report("ScaleRemoved", breaksClients, at, was, nil, "kubectl scale and autoscalers get 404")
	default:
		c.scale(was, is, at)
	}
}

func (c *comparison) scale(was, is *apiextensionsv1.CustomResourceSubresourceScale, at tree.Path) {
	for _, p := range []struct{ name, was, is string }{
		{"specReplicasPath", was.SpecReplicasPath, is.SpecReplicasPath},
		{"statusReplicasPath", was.StatusReplicasPath, is.StatusReplicasPath},
	} {
		if p.was != p.is {
			c.report("ScaleChanged", careForAll, at.With(tree.Name(p.name)), p.was, p.is,
				"the replicas are at %s instead of %s, and must be from 0 to 2147483647", p.is, p.was)
		}
	}
	old, new := text(stringOf(was.LabelSelectorPath, "")), text(stringOf(is.LabelSelectorPath, ""))
	c.compare(at.With(tree.Name("labelSelectorPath")), old, new,
		effect{"ScaleChanged", harmless, fmt.Sprintf("the label selector is at %v", new)},
		effect{"ScaleChanged", breaksReaders, "there is no label selector, which autoscalers need"},
		effect{"ScaleChanged", careForReaders, fmt.Sprintf("the label selector is at %v instead of %v", new, old)})
}

// exists returns an empty object, or nil for false.
func exists(yes bool) any {
	if yes {
		return struct{}{}
	}
	return nil
}

// stringOf returns *s, or a default if s is nil.
func stringOf(s *string, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return *s
}

// columns compares printer columns by their names. Of several columns with one name it compares the first.
func (c *comparison) columns(o, n *version) {
	at := path("additionalPrinterColumns")
	type column = apiextensionsv1.CustomResourceColumnDefinition
	find := func(list []column, name string) int {
		return slices.IndexFunc(list, func(c column) bool { return c.Name == name })
	}
	old, new := o.AdditionalPrinterColumns, n.AdditionalPrinterColumns
	for i := range old {
		if was := &old[i]; find(old, was.Name) == i && find(new, was.Name) < 0 {
			c.reportMoved("ColumnRemoved", careForReaders, at.With(tree.At(i)), at, was, nil,
				"tables no longer have the column %s", was.Name)
		}
	}
	for i := range new {
		is, newAt := &new[i], at.With(tree.At(i))
		if find(new, is.Name) != i {
			continue
		}
		j := find(old, is.Name)
		if j < 0 {
			c.reportMoved("ColumnAdded", harmless, at, newAt, nil, is, "tables have the column %s", is.Name)
			continue
		}
		switch was, oldAt := &old[j], at.With(tree.At(j)); {
		case *was == *is:
		case was.Type != is.Type || was.JSONPath != is.JSONPath:
			c.reportMoved("ColumnChanged", careForReaders, oldAt, newAt, was, is, "the column %s shows another value", is.Name)
		default:
			c.reportMoved("ColumnChanged", harmless, oldAt, newAt, was, is, "the column %s has another description", is.Name)
		}
	}
}

// selectableFields compares the fields by which lists can be filtered.
func (c *comparison) selectableFields(o, n *version) {
	paths := func(v *version) (list []string) {
		for _, f := range v.SelectableFields {
			list = append(list, f.JSONPath)
		}
		return list
	}
	c.sets(path("selectableFields"), paths(o), paths(n), func(p string) any { return p },
		effect{"SelectableFieldRemoved", breaksReaders, "lists and watches that select by %s are rejected"},
		effect{"SelectableFieldAdded", harmless, "lists can be filtered by %s"})
}
