package compare

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/internal/value"
)

// subresources compares status and scale.
func (c *comparison) subresources(o, n *version) {
	at := path("subresources", "status")
	switch was, is := schema.HasStatus(o), schema.HasStatus(n); {
	case is && !was:
		c.tell(found{kind: StatusAdded, impact: Impact{Writers: Breaking}, at: at, new: struct{}{},
			message: "what clients write to status is dropped, unless they write to the subresource"})
	case was && !is:
		c.tell(found{kind: StatusRemoved, impact: Impact{Writers: Breaking}, at: at, old: struct{}{},
			message: "writes to the subresource status get 404, and every other write replaces the status"})
	}
	at = path("subresources", "scale")
	switch was, is := scaleOf(o), scaleOf(n); {
	case was == nil && is == nil:
	case was == nil:
		c.tell(found{kind: ScaleAdded, impact: Impact{Stored: Care, Writers: Care}, at: at, new: is,
			message: fmt.Sprintf("objects whose %s or %s is no number from 0 to 2147483647 are refused", is.SpecReplicasPath, is.StatusReplicasPath)})
	case is == nil:
		c.tell(found{kind: ScaleRemoved, impact: Impact{Writers: Breaking, Readers: Breaking}, at: at, old: was,
			message: "kubectl scale and autoscalers get 404"})
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
			c.tell(found{kind: ScaleChanged, impact: everybody(Care), at: at.With(value.Name(p.name)), old: p.was, new: p.is,
				message: fmt.Sprintf("the replicas are at %s instead of %s, and must be a number from 0 to 2147483647", p.is, p.was)})
		}
	}
	was1, is1 := selector(was), selector(is)
	f := found{kind: ScaleChanged, at: at.With(value.Name("labelSelectorPath"))}
	switch {
	case was1 == is1:
		return
	case was1 == "":
		f.new, f.message = is1, "the label selector is at "+is1
	case is1 == "":
		f.old, f.impact, f.message = was1, Impact{Readers: Breaking}, "there is no label selector any more, which autoscalers need"
	default:
		f.old, f.new, f.impact, f.message = was1, is1, Impact{Readers: Care}, fmt.Sprintf("the label selector is at %s instead of %s", is1, was1)
	}
	c.tell(f)
}

func selector(s *apiextensionsv1.CustomResourceSubresourceScale) string {
	if s.LabelSelectorPath == nil {
		return ""
	}
	return *s.LabelSelectorPath
}

// columns compares printer columns by their names; of equal names, the first.
func (c *comparison) columns(o, n *version) {
	at := path("additionalPrinterColumns")
	type column = apiextensionsv1.CustomResourceColumnDefinition
	find := func(list []column, name string) int {
		for i := range list {
			if list[i].Name == name {
				return i
			}
		}
		return -1
	}
	for i := range o.AdditionalPrinterColumns {
		if was := &o.AdditionalPrinterColumns[i]; find(o.AdditionalPrinterColumns, was.Name) == i && find(n.AdditionalPrinterColumns, was.Name) < 0 {
			c.tell(found{kind: ColumnRemoved, impact: Impact{Readers: Care}, at: at, oldAt: at.With(value.At(i)), old: was,
				message: "the column " + was.Name + " is gone from tables"})
		}
	}
	for i := range n.AdditionalPrinterColumns {
		is := &n.AdditionalPrinterColumns[i]
		if find(n.AdditionalPrinterColumns, is.Name) != i {
			continue
		}
		j := find(o.AdditionalPrinterColumns, is.Name)
		if j < 0 {
			c.tell(found{kind: ColumnAdded, at: at.With(value.At(i)), oldAt: at, new: is, message: "tables have the column " + is.Name})
			continue
		}
		was := &o.AdditionalPrinterColumns[j]
		if *was == *is {
			continue
		}
		f := found{kind: ColumnChanged, at: at.With(value.At(i)), oldAt: at.With(value.At(j)), old: was, new: is,
			message: "the column " + is.Name + " is described otherwise"}
		if was.Type != is.Type || was.JSONPath != is.JSONPath {
			f.impact, f.message = Impact{Readers: Care}, "the column "+is.Name+" shows something else"
		}
		c.tell(f)
	}
}

// selectable compares the fields by which lists can be filtered.
func (c *comparison) selectable(o, n *version) {
	at := path("selectableFields")
	has := func(list []apiextensionsv1.SelectableField, p string) bool {
		for i := range list {
			if list[i].JSONPath == p {
				return true
			}
		}
		return false
	}
	for i := range o.SelectableFields {
		if p := o.SelectableFields[i].JSONPath; !has(n.SelectableFields, p) {
			c.tell(found{kind: SelectableFieldRemoved, impact: Impact{Readers: Breaking}, at: at, oldAt: at.With(value.At(i)), old: p,
				message: "lists and watches that select by " + p + " are refused"})
		}
	}
	for i := range n.SelectableFields {
		if p := n.SelectableFields[i].JSONPath; !has(o.SelectableFields, p) {
			c.tell(found{kind: SelectableFieldAdded, at: at.With(value.At(i)), oldAt: at, new: p, message: "lists can be filtered by " + p})
		}
	}
}
