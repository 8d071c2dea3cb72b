package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/testenv"
)

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// catalogs is the number of catalogs with generated CRDs.
var catalogs = testenv.Volume(50)

func TestDiscoveryIsUpstreams(t *testing.T) {
	resources, groups := 0, 0
	for n := range uint64(catalogs) {
		ours, theirs := catalog(t, generate.New("discovery", 1, n))
		d := publish.Discover(ours...)
		u, err := serveDocuments(theirs)
		if err != nil {
			t.Fatal(err)
		}
		same := func(what string, our, their []byte) {
			t.Helper()
			if !bytes.Equal(bytes.TrimSpace(our), bytes.TrimSpace(their)) {
				t.Errorf("catalog %d, %s\nours     %s\nupstream %s", n, what, our, their)
			}
		}
		for _, group := range groupNames {
			their, _ := get(u.groups, "/apis/"+group, "application/json")
			our := d.Group(group)
			same(group, our, their)
			if our != nil {
				groups++
			}
			for _, version := range versionNames {
				their, _ := get(u.versions, "/apis/"+group+"/"+version, "application/json")
				our := d.Resources(group, version)
				same(group+"/"+version, sorted(t, our), sorted(t, their))
				if our != nil {
					resources++
				}
			}
		}
		their, theirTag := get(u.aggregated, "/apis", aggregatedType)
		our, tag := d.Aggregated()
		same("aggregated", our, their)
		if theirTag != `"`+tag+`"` {
			t.Errorf("catalog %d: ETag %s, upstream %s", n, tag, theirTag)
		}
		listed(t, d)
	}
	if resources < catalogs || groups < catalogs {
		t.Errorf("catalogs of little use: %d resource lists, %d groups", resources, groups)
	}
}

// sorted sorts the resources of a list by name, because upstream's order is random.
func sorted(t *testing.T, list []byte) []byte {
	if list == nil {
		return nil
	}
	var l metav1.APIResourceList
	if err := json.Unmarshal(list, &l); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(l.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(&l)
	if err != nil {
		t.Fatal(err)
	}
	if !keysAgree(list, text) {
		t.Errorf("%s has other members than %s", list, text)
	}
	return text
}

// keysAgree reports whether two documents have the same length without white space: sorting changes nothing else.
func keysAgree(a, b []byte) bool { return len(bytes.TrimSpace(a)) == len(bytes.TrimSpace(b)) }

// listed compares the list of groups with the groups. It comes from kube-aggregator, which is not in the module.
func listed(t *testing.T, d *publish.Discovery) {
	var list metav1.APIGroupList
	if err := json.Unmarshal(d.GroupList(), &list); err != nil || list.Kind != "APIGroupList" || list.APIVersion != "v1" {
		t.Fatalf("%v: %s", err, d.GroupList())
	}
	before := ""
	for _, g := range list.Groups {
		var one metav1.APIGroup
		if err := json.Unmarshal(d.Group(g.Name), &one); err != nil {
			t.Fatal(err)
		}
		one.TypeMeta = metav1.TypeMeta{}
		if !reflect.DeepEqual(one, g) {
			t.Errorf("listed as %+v, and by itself %+v", g, one)
		}
		service := ""
		for _, v := range g.Versions {
			if s := v.Version + "." + g.Name; service == "" || s < service {
				service = s
			}
		}
		if service < before {
			t.Errorf("%s comes behind %s", service, before)
		}
		before = service
	}
}

var (
	groupNames   = []string{"stable.example.com", "a.example.com", "zz.example.org"}
	versionNames = []string{"v1", "v2", "v1beta1", "v1alpha1", "v10", "foo"}
	plurals      = []string{"crontabs", "apples", "zebras"}
)

// compileCRD compiles a CRD that upstream's code uses as well.
func compileCRD(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *engine.Definition {
	t.Helper()
	crd = crd.DeepCopy()
	crd.TypeMeta = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"}
	manifest, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	d, report, err := engine.Compile(t.Context(), engine.JSON(manifest), engine.Options{})
	if err != nil || d == nil {
		t.Fatalf("%v %+v", err, report)
	}
	return d
}

// catalog generates CRDs and their statuses for both sides.
func catalog(t *testing.T, r generate.Rand) (ours []publish.CRD, theirs []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	for _, group := range groupNames {
		for _, plural := range plurals {
			if r.Chance(40) {
				continue
			}
			crd := discoveredCRD(r, group, plural)
			d := compileCRD(t, crd)
			crd.Status = status(r, crd)
			ours, theirs = append(ours, publish.NewCRD(d, crd.Status)), append(theirs, crd)
		}
	}
	r.Shuffle(len(ours), func(i, j int) { ours[i], ours[j] = ours[j], ours[i] })
	return ours, theirs
}

func discoveredCRD(r generate.Rand, group, plural string) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.TrimSuffix(plural, "s")
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: generate.Pick(r, []apiextensionsv1.ResourceScope{apiextensionsv1.NamespaceScoped, apiextensionsv1.ClusterScoped}),
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: plural, Singular: singular, Kind: strings.ToUpper(singular[:1]) + singular[1:], ListKind: singular + "List",
			},
		},
	}
	if r.Chance(50) {
		crd.Spec.Names.ShortNames = []string{singular[:2], singular[:1]}
	}
	if r.Chance(50) {
		crd.Spec.Names.Categories = []string{"all", "mine"}
	}
	schema := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"spec":   {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"replicas": {Type: "integer"}, "size": {Type: "integer"}}},
			"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"replicas": {Type: "integer"}}},
		},
	}}
	names := slices.Clone(versionNames)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:r.Between(1, 4)]
	stored := r.IntN(len(names))
	for i, name := range names {
		v := apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: r.Chance(75), Storage: i == stored, Schema: schema}
		if r.Chance(60) {
			v.Subresources = &apiextensionsv1.CustomResourceSubresources{}
			if r.Chance(60) {
				v.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
			}
			if r.Chance(50) {
				path := generate.Pick(r, []string{".spec.replicas", ".spec.size"})
				v.Subresources.Scale = &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: path, StatusReplicasPath: ".status.replicas"}
			}
		}
		crd.Spec.Versions = append(crd.Spec.Versions, v)
	}
	return crd
}

// status returns a possible status of the CRD: served, waiting, terminating, or with names that it no longer requests.
func status(r generate.Rand, crd *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.CustomResourceDefinitionStatus {
	s := apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: crd.Spec.Names}
	if r.Chance(15) {
		s.AcceptedNames.Kind, s.AcceptedNames.ShortNames = "Former", []string{"former"}
	}
	if r.Chance(10) {
		s.AcceptedNames.Singular, s.AcceptedNames.Categories = "", nil
	}
	add := func(condition apiextensionsv1.CustomResourceDefinitionConditionType, percent int) {
		if r.Chance(5) {
			return
		}
		is := apiextensionsv1.ConditionFalse
		if r.Chance(percent) {
			is = apiextensionsv1.ConditionTrue
		} else if r.Chance(20) {
			is = apiextensionsv1.ConditionUnknown
		}
		s.Conditions = append(s.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: condition, Status: is})
	}
	add(apiextensionsv1.NamesAccepted, 90)
	add(apiextensionsv1.Established, 80)
	add(apiextensionsv1.Terminating, 20)
	return s
}

// TestGroupListOrder tests the order of kube-aggregator's SortedByGroupAndVersion for APIServices of equal priority: by
// name, which begins with the version.
func TestGroupListOrder(t *testing.T) {
	served := func(group string, versions ...string) publish.CRD {
		crd := discoveredCRD(generate.New("order", 1, 1), group, "crontabs")
		crd.Spec.Versions = crd.Spec.Versions[:1]
		v := crd.Spec.Versions[0]
		crd.Spec.Versions = nil
		for i, name := range versions {
			v.Name, v.Served, v.Storage = name, true, i == 0
			crd.Spec.Versions = append(crd.Spec.Versions, v)
		}
		d := compileCRD(t, crd)
		crd.Status.AcceptedNames = crd.Spec.Names
		crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
		return publish.NewCRD(d, crd.Status)
	}
	d := publish.Discover(served("z.example.com", "v1"), served("a.example.com", "v2"), served("b.example.com", "v1beta1", "v3"), served("y.example.com", "v1"))
	var got []string
	for _, gv := range d.GroupVersions() {
		got = append(got, gv.String())
	}
	if want := "[y.example.com/v1 z.example.com/v1 b.example.com/v3 b.example.com/v1beta1 a.example.com/v2]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}
