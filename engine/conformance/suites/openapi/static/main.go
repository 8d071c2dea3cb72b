// Command static writes what the OpenAPI documents of all custom resources share, as upstream makes it: the definitions
// of ObjectMeta, Status, DeleteOptions and the like in both forms, and the query parameters of each kind of request.
// The engine embeds the result, because the packages it comes from (the API server's builder, client-go's scheme of all
// built-in kinds) are larger than the engine itself.
//
//	go run ./suites/openapi/static > ../internal/openapi/static.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	utilopenapi "k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	group, version = "example.com", "v1"
	kind, listKind = "Sample", "SampleList"
	typeMeta       = "io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta"
)

// Static is what is written. engine/internal/openapi reads it.
type Static struct {
	// Definitions by name.
	Definitions map[string]Definition `json:"definitions"`
	// TypeMeta are the properties that every kind has.
	TypeMeta map[string]json.RawMessage `json:"typeMeta"`
	// Queries are the query parameters of each action, in the order of their names.
	Queries map[string][]Query `json:"queries"`
}

// Definition is one definition in both forms, that of v2 without defaults.
type Definition struct {
	Dependencies []string        `json:"dependencies,omitempty"`
	V2           json.RawMessage `json:"v2"`
	V3           json.RawMessage `json:"v3"`
}

// Query is a query parameter.
type Query struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
}

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	v2, err := builder.BuildOpenAPIV2(sample(), version, builder.Options{V2: true})
	if err != nil {
		return err
	}
	v3, err := builder.BuildOpenAPIV3(sample(), version, builder.Options{})
	if err != nil {
		return err
	}
	out := Static{Definitions: map[string]Definition{}, TypeMeta: map[string]json.RawMessage{}, Queries: queries(v3)}
	generated := utilopenapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + common.EscapeJsonPointer(name))
	})
	for name, schema := range handler.PruneDefaults(v2.Definitions) {
		if strings.HasPrefix(name, "com.example.") {
			continue
		}
		d := Definition{Dependencies: generated[name].Dependencies}
		if d.V2, err = json.Marshal(schema); err != nil {
			return err
		}
		if d.V3, err = json.Marshal(v3.Components.Schemas[name]); err != nil {
			return err
		}
		out.Definitions[name] = d
	}
	for name, schema := range generated[typeMeta].Schema.Properties {
		if out.TypeMeta[name], err = json.Marshal(schema); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err = os.Stdout.Write(text.Bytes())
	return err
}

// sample is a CRD whose documents have every action.
func sample() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: group, Scope: apiextensionsv1.ClusterScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "samples", Kind: kind, ListKind: listKind},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: version, Served: true, Storage: true,
			Subresources: &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{}},
		}},
	}
	return crd
}

// queries collects the parameters of the operations. Those in the path are not of them.
func queries(doc *spec3.OpenAPI) map[string][]Query {
	out := map[string][]Query{}
	for _, p := range doc.Paths.Paths {
		for _, op := range []*spec3.Operation{p.Get, p.Put, p.Post, p.Delete, p.Patch} {
			if op == nil {
				continue
			}
			action := op.Extensions["x-kubernetes-action"].(string)
			var list []Query
			for _, q := range op.Parameters {
				list = append(list, query(q))
			}
			for _, q := range p.Parameters {
				if q.In == "query" {
					list = append(list, query(q))
				}
			}
			sortQueries(list)
			if known, ok := out[action]; ok && !reflect.DeepEqual(known, list) {
				panic("operations of one action differ: " + action)
			}
			out[action] = list
		}
	}
	return out
}

func query(q *spec3.Parameter) Query {
	if q.In != "query" || len(q.Schema.Type) != 1 || q.Schema.Format != "" || !q.Schema.UniqueItems || q.Required {
		panic("a parameter that the engine cannot describe: " + q.Name)
	}
	return Query{Name: q.Name, Description: q.Description, Type: q.Schema.Type[0]}
}

func sortQueries(list []Query) {
	slices.SortFunc(list, func(a, b Query) int { return strings.Compare(a.Name, b.Name) })
}
