package compare

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/internal/value"
)

// CRD is a CustomResourceDefinition with its defaults filled in.
type CRD = apiextensionsv1.CustomResourceDefinition

// CRDs compares two. Of two that do not have the same name, that is all there is to say. The error is the context's.
func CRDs(ctx context.Context, old, new *CRD, o Options) (*Result, error) {
	c := &comparison{Options: o, ctx: ctx}
	if old.Name != new.Name {
		c.tell(found{kind: NameChanged, impact: everybody(Breaking), at: path("metadata", "name"), old: old.Name, new: new.Name,
			message: fmt.Sprintf("this is another CRD: %s and its objects are no part of it", old.Name)})
		return &c.Result, nil
	}
	c.names(old, new)
	c.conversion(old, new)
	c.metadata(old, new)
	c.versions(old, new)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &c.Result, nil
}

// path is one of member names.
func path(names ...string) value.Path {
	p := make(value.Path, len(names))
	for i, name := range names {
		p[i] = value.Name(name)
	}
	return p
}

// names compares what a CRD and its objects are called, and where they live.
func (c *comparison) names(old, new *CRD) {
	changed := func(kind Kind, class Impact, at value.Path, was, is, message string) {
		if was != is {
			c.tell(found{kind: kind, impact: class, at: at, old: was, new: is, message: message})
		}
	}
	o, n := &old.Spec.Names, &new.Spec.Names
	changed(GroupChanged, everybody(Breaking), path("spec", "group"), old.Spec.Group, new.Spec.Group,
		"a CRD cannot change its group: no stored object is of the new one")
	changed(ScopeChanged, everybody(Breaking), path("spec", "scope"), string(old.Spec.Scope), string(new.Spec.Scope),
		"an established CRD cannot change its scope")
	changed(PluralChanged, everybody(Breaking), path("spec", "names", "plural"), o.Plural, n.Plural,
		"a CRD cannot change its plural, by which URLs name it")
	changed(KindChanged, everybody(Breaking), path("spec", "names", "kind"), o.Kind, n.Kind,
		"an established CRD cannot change its kind, which every object and client states")
	changed(ListKindChanged, Impact{Readers: Care}, path("spec", "names", "listKind"), o.ListKind, n.ListKind,
		"lists are of another kind")
	changed(SingularChanged, Impact{Writers: Care, Readers: Care}, path("spec", "names", "singular"), o.Singular, n.Singular,
		fmt.Sprintf("kubectl get %s finds nothing any more", o.Singular))
	c.words(o.ShortNames, n.ShortNames, path("spec", "names", "shortNames"), ShortNameAdded, ShortNameRemoved, "the short name ")
	c.words(o.Categories, n.Categories, path("spec", "names", "categories"), CategoryAdded, CategoryRemoved, "the category ")
	if was, is := old.Spec.PreserveUnknownFields, new.Spec.PreserveUnknownFields; was != is {
		f := found{kind: PreserveUnknownFieldsChanged, at: path("spec", "preserveUnknownFields"), old: was, new: is}
		if f.impact, f.message = everybody(Breaking), "fields that no schema declares are pruned from now on: when objects are read, and for good with their next write"; is {
			f.impact, f.message = Impact{Readers: Care}, "fields that no schema declares are kept"
		}
		c.tell(f)
	}
}

// words compares lists whose order means nothing.
func (c *comparison) words(old, new []string, at value.Path, added, removed Kind, what string) {
	for i, word := range old {
		if !slices.Contains(new, word) {
			c.tell(found{kind: removed, impact: Impact{Writers: Care, Readers: Care}, at: at, oldAt: at.With(value.At(i)), old: word,
				message: what + word + " is gone: commands that use it find nothing"})
		}
	}
	for i, word := range new {
		if !slices.Contains(old, word) {
			c.tell(found{kind: added, at: at.With(value.At(i)), oldAt: at, new: word, message: what + word + " is new"})
		}
	}
}

// conversion compares how objects go from version to version.
func (c *comparison) conversion(old, new *CRD) {
	o, n := conversionOf(old), conversionOf(new)
	at := path("spec", "conversion", "strategy")
	switch {
	case o.Strategy == n.Strategy:
	case n.Strategy == apiextensionsv1.NoneConverter:
		c.tell(found{kind: ConversionStrategyChanged, impact: everybody(Breaking), at: at, old: o.Strategy, new: n.Strategy,
			message: "nothing but apiVersion changes between versions: what the webhook translated is lost"})
	default:
		c.tell(found{kind: ConversionStrategyChanged, impact: everybody(Care), at: at, old: o.Strategy, new: n.Strategy,
			message: "a webhook converts: objects at other versions than the stored one are read and written only while it answers"})
	}
	if o.Webhook == nil || n.Webhook == nil {
		return
	}
	at = path("spec", "conversion", "webhook")
	if !slices.Equal(o.Webhook.ConversionReviewVersions, n.Webhook.ConversionReviewVersions) {
		c.tell(found{kind: ConversionWebhookChanged, impact: everybody(Care), at: at.With(value.Name("conversionReviewVersions")),
			old: o.Webhook.ConversionReviewVersions, new: n.Webhook.ConversionReviewVersions,
			message: "the webhook has to understand other versions of ConversionReview"})
	}
	if was, is := o.Webhook.ClientConfig, n.Webhook.ClientConfig; !reflect.DeepEqual(was, is) {
		message := "another webhook is called"
		if was != nil && is != nil && reflect.DeepEqual(was.URL, is.URL) && reflect.DeepEqual(was.Service, is.Service) && !bytes.Equal(was.CABundle, is.CABundle) {
			message = "the webhook has to present a certificate of another authority"
		}
		c.tell(found{kind: ConversionWebhookChanged, impact: everybody(Care), at: at.With(value.Name("clientConfig")), old: was, new: is, message: message})
	}
}

func conversionOf(crd *CRD) apiextensionsv1.CustomResourceConversion {
	if crd.Spec.Conversion == nil {
		return apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	return *crd.Spec.Conversion
}

// metadata compares what metadata a user sets.
func (c *comparison) metadata(old, new *CRD) {
	var names []string
	for _, part := range []struct {
		name     string
		old, new map[string]string
	}{{"annotations", old.Annotations, new.Annotations}, {"labels", old.Labels, new.Labels}} {
		keys := map[string]struct{}{}
		for key, v := range part.old {
			if w, there := part.new[key]; !there || v != w {
				keys[key] = struct{}{}
			}
		}
		for key := range part.new {
			if _, there := part.old[key]; !there {
				keys[key] = struct{}{}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			names = append(names, part.name+"["+key+"]")
		}
	}
	if !slices.Equal(old.Finalizers, new.Finalizers) {
		names = append(names, "finalizers")
	}
	if len(names) > 0 {
		c.tell(found{kind: MetadataChanged, at: path("metadata"), old: struct{}{}, new: struct{}{}, message: "of the CRD itself: " + few(names)})
		last := &c.Changes[max(len(c.Changes)-1, 0)]
		if last.Kind == MetadataChanged {
			last.Old, last.New = nil, nil
		}
	}
}

// few lists the first of many names.
func few(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
