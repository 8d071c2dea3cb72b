package compare

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/value"
)

func (c *comparison) subresources(o, n *version) {
	at := path("subresources", "status")
	switch was, is := schema.HasStatus(o), schema.HasStatus(n); {
	case is && !was:
		c.report(StatusAdded, breaksWriters, at, nil, struct{}{},
			"changes of status are ignored, unless clients write to the subresource")
	case was && !is:
		c.report(StatusRemoved, breaksWriters, at, struct{}{}, nil,
			"writes to the subresource status get 404, and all other writes replace the status")
	}
	at = path("subresources", "scale")
	switch was, is := scaleOf(o), scaleOf(n); {
	case was == nil && is == nil:
	case was == nil:
		c.report(ScaleAdded, careForWrites, at, nil, is,
			"objects are rejected unless %s and %s are from 0 to 2147483647", is.SpecReplicasPath, is.StatusReplicasPath)
	case is == nil:
		c.report(ScaleRemoved, breaksClients, at, was, nil, "kubectl scale and autoscalers get 404")
	default:
		c.scale(was, is, at)
	}
}

func scaleOf(v *version) *apiextensionsv1.CustomResourceSubresourceScale {
	if v.Subresources == nil {
		return nil
	}
	return v.Subresources.Scale
}

func (c *comparison) scale(was, is *apiextensionsv1.CustomResourceSubresourceScale, at value.Path) {
	for _, p := range []struct{ name, was, is string }{
		{"specReplicasPath", was.SpecReplicasPath, is.SpecReplicasPath},
		{"statusReplicasPath", was.StatusReplicasPath, is.StatusReplicasPath},
	} {
		if p.was != p.is {
			c.report(ScaleChanged, careForAll, at.With(value.Name(p.name)), p.was, p.is,
				"the replicas are at %s instead of %s, and must be from 0 to 2147483647", p.is, p.was)
		}
	}
	at = at.With(value.Name("labelSelectorPath"))
	switch was, is := stringOf(was.LabelSelectorPath, ""), stringOf(is.LabelSelectorPath, ""); {
	case was == is:
	case was == "":
		c.report(ScaleChanged, harmless, at, nil, is, "the label selector is at %s", is)
	case is == "":
		c.report(ScaleChanged, breaksReaders, at, was, nil, "there is no label selector, which autoscalers need")
	default:
		c.report(ScaleChanged, careForReaders, at, was, is, "the label selector is at %s instead of %s", is, was)
	}
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
			c.reportMoved(ColumnRemoved, careForReaders, at.With(value.At(i)), at, was, nil,
				"tables no longer have the column %s", was.Name)
		}
	}
	for i := range new {
		is, newAt := &new[i], at.With(value.At(i))
		if find(new, is.Name) != i {
			continue
		}
		j := find(old, is.Name)
		if j < 0 {
			c.reportMoved(ColumnAdded, harmless, at, newAt, nil, is, "tables have the column %s", is.Name)
			continue
		}
		switch was, oldAt := &old[j], at.With(value.At(j)); {
		case *was == *is:
		case was.Type != is.Type || was.JSONPath != is.JSONPath:
			c.reportMoved(ColumnChanged, careForReaders, oldAt, newAt, was, is, "the column %s shows another value", is.Name)
		default:
			c.reportMoved(ColumnChanged, harmless, oldAt, newAt, was, is, "the column %s has another description", is.Name)
		}
	}
}

// selectableFields compares the fields by which lists can be filtered.
func (c *comparison) selectableFields(o, n *version) {
	at := path("selectableFields")
	for i, f := range o.SelectableFields {
		if !slices.Contains(n.SelectableFields, f) {
			c.reportMoved(SelectableFieldRemoved, breaksReaders, at.With(value.At(i)), at, f.JSONPath, nil,
				"lists and watches that select by %s are rejected", f.JSONPath)
		}
	}
	for i, f := range n.SelectableFields {
		if !slices.Contains(o.SelectableFields, f) {
			c.reportMoved(SelectableFieldAdded, harmless, at, at.With(value.At(i)), nil, f.JSONPath,
				"lists can be filtered by %s", f.JSONPath)
		}
	}
}
