// Package compare finds the changes between two CRDs, and classifies the effect of each on stored objects, on clients
// that write and on clients that read.
//
// Schemas are compared by the values that they accept. parts.go has their normal form, facts.go what all values of a
// node have in common. A constraint of one schema holds for all values of another one if search.go finds no value that
// satisfies the other schema and the negation of the constraint (negation.go). implies.go asks, and constraints.go
// reports the constraints that do not hold. If a limit ends the search, the class is NeedsCare. expression.go has the
// normal form of rules.
//
// A change is Compatible for stored objects only if every object that is valid under the old schema is valid under the
// new one and keeps its value. A property test of package engine checks this. If two schemas do not suffice to decide,
// for example about rules, the class is NeedsCare.
//
// The package does not check whether the new CRD is acceptable; package definition does.
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

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// CRD is a CustomResourceDefinition with defaults.
type CRD = apiextensionsv1.CustomResourceDefinition

// CRDs compares two CRDs. If their names differ, that is the only change. The error is that of ctx.
func CRDs(ctx context.Context, old, new *CRD, o Options) (*Result, error) {
	c := &comparison{Options: o, ctx: ctx, languages: map[string]inclusion{}, languageWork: totalLanguageWork,
		proofSteps: totalSteps, enums: map[*apiextensionsv1.JSON]*enum{}}
	if old.Name != new.Name {
		c.report("NameChanged", breaksAll, path("metadata", "name"), old.Name, new.Name,
			"this is another CRD: %s and its objects are not part of it", old.Name)
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

func path(names ...string) tree.Path {
	p := make(tree.Path, len(names))
	for i, name := range names {
		p[i] = tree.Name(name)
	}
	return p
}

func (c *comparison) names(old, new *CRD) {
	changed := func(kind string, impact Impact, at tree.Path, old, new, message string) {
		if old != new {
			c.report(kind, impact, at, old, new, "%s", message)
		}
	}
	o, n := &old.Spec.Names, &new.Spec.Names
	changed("GroupChanged", breaksAll, path("spec", "group"), old.Spec.Group, new.Spec.Group,
		"a CRD cannot change its group: stored objects belong to the old one")
	changed("ScopeChanged", breaksAll, path("spec", "scope"), string(old.Spec.Scope), string(new.Spec.Scope),
		"an established CRD cannot change its scope")
	changed("PluralChanged", breaksAll, path("spec", "names", "plural"), o.Plural, n.Plural,
		"a CRD cannot change its plural, which is part of its name and of URLs")
	changed("KindChanged", breaksAll, path("spec", "names", "kind"), o.Kind, n.Kind,
		"an established CRD cannot change its kind, which all objects have")
	changed("ListKindChanged", careForReaders, path("spec", "names", "listKind"), o.ListKind, n.ListKind,
		"lists have another kind")
	changed("SingularChanged", careForClients, path("spec", "names", "singular"), o.Singular, n.Singular,
		fmt.Sprintf("kubectl get %s no longer works", o.Singular))
	c.words(o.ShortNames, n.ShortNames, "shortNames", "short name", "ShortNameRemoved", "ShortNameAdded")
	c.words(o.Categories, n.Categories, "categories", "category", "CategoryRemoved", "CategoryAdded")
	at := path("spec", "preserveUnknownFields")
	switch was, is := old.Spec.PreserveUnknownFields, new.Spec.PreserveUnknownFields; {
	case is && !was:
		c.report("PreserveUnknownFieldsChanged", careForReaders, at, was, is, "undeclared fields are kept")
	case was && !is:
		c.report("PreserveUnknownFieldsChanged", breaksAll, at, was, is,
			"undeclared fields are pruned when objects are read, and lost with the next write")
	}
}

// words compares short names or categories.
func (c *comparison) words(old, new []string, keyword, what, removed, added string) {
	c.sets(path("spec", "names", keyword), old, new, func(word string) any { return word },
		effect{removed, careForClients, "the " + what + " %s is removed: commands that use it fail"},
		effect{added, harmless, "the " + what + " %s is new"})
}

func (c *comparison) conversion(old, new *CRD) {
	o, n := conversionOf(old), conversionOf(new)
	at := path("spec", "conversion", "strategy")
	switch {
	case o.Strategy == n.Strategy:
	case n.Strategy == apiextensionsv1.NoneConverter:
		c.report("ConversionStrategyChanged", breaksAll, at, o.Strategy, n.Strategy,
			"versions differ in apiVersion only: what the webhook converted is lost")
	default:
		c.report("ConversionStrategyChanged", careForAll, at, o.Strategy, n.Strategy,
			"a webhook converts: objects at other versions than the stored one need its answer")
	}
	if o.Webhook == nil || n.Webhook == nil {
		return
	}
	at = path("spec", "conversion", "webhook")
	if was, is := o.Webhook.ConversionReviewVersions, n.Webhook.ConversionReviewVersions; !slices.Equal(was, is) {
		c.report("ConversionWebhookChanged", careForAll, at.With(tree.Name("conversionReviewVersions")), was, is,
			"the webhook must support other versions of ConversionReview")
	}
	was, is := o.Webhook.ClientConfig, n.Webhook.ClientConfig
	if reflect.DeepEqual(was, is) {
		return
	}
	message := "another webhook is called"
	if was != nil && is != nil && reflect.DeepEqual(was.URL, is.URL) && reflect.DeepEqual(was.Service, is.Service) &&
		!bytes.Equal(was.CABundle, is.CABundle) {
		message = "the webhook must present a certificate of another authority"
	}
	c.report("ConversionWebhookChanged", careForAll, at.With(tree.Name("clientConfig")), was, is, "%s", message)
}

func conversionOf(crd *CRD) apiextensionsv1.CustomResourceConversion {
	if crd.Spec.Conversion == nil {
		return apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	return *crd.Spec.Conversion
}

// metadata compares annotations, labels and finalizers.
func (c *comparison) metadata(old, new *CRD) {
	var names []string
	for _, part := range []struct {
		name     string
		old, new map[string]string
	}{{"annotations", old.Annotations, new.Annotations}, {"labels", old.Labels, new.Labels}} {
		all := maps.Clone(part.old)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, part.new)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			was, before := part.old[key]
			if is, after := part.new[key]; before != after || was != is {
				names = append(names, part.name+"["+key+"]")
			}
		}
	}
	if !slices.Equal(old.Finalizers, new.Finalizers) {
		names = append(names, "finalizers")
	}
	if len(names) > 0 {
		c.report("MetadataChanged", harmless, path("metadata"), present{}, present{},
			"the metadata of the CRD itself: %s", some(names))
	}
}

// some lists the first names of a list.
func some(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
