package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/publish"
)

// extent counts what was compared.
type extent struct{ documents, bytes int }

// published is a CRD on both sides.
type published struct {
	upstream *apiextensionsv1.CustomResourceDefinition
	ours     publish.CRD
}

// decode reads a CRD in canonical form, as an API server stores it.
func decode(canonical []byte, revision string) (published, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(canonical, crd); err != nil {
		return published{}, err
	}
	p := published{upstream: crd, ours: publish.CRD{
		Name: crd.Name, Group: crd.Spec.Group, Names: crd.Spec.Names, Revision: revision,
		Manifest: func(context.Context) ([]byte, error) { return canonical, nil },
	}}
	for _, v := range crd.Spec.Versions {
		p.ours.Versions = append(p.ours.Versions, engine.VersionInfo{Name: v.Name, Served: v.Served})
	}
	return p, nil
}

// compare compares the documents of the CRDs of one group, v3 and v2, and describes the differences.
func compare(ctx context.Context, crds []published) (n extent, differences []string) {
	versions := map[string][]*apiextensionsv1.CustomResourceDefinition{}
	var upstream []*apiextensionsv1.CustomResourceDefinition
	var ours []publish.CRD
	for _, p := range crds {
		upstream, ours = append(upstream, p.upstream), append(ours, p.ours)
		for _, v := range p.upstream.Spec.Versions {
			if v.Served {
				versions[v.Name] = append(versions[v.Name], p.upstream)
			}
		}
	}
	check := func(what string, want []byte, wantErr error, got *publish.OpenAPIDocument, gotErr error) {
		n.documents++
		switch {
		case wantErr != nil || gotErr != nil:
			if wantErr == nil || gotErr == nil || wantErr.Error() != gotErr.Error() {
				differences = append(differences, fmt.Sprintf("%s: upstream's error is %v, ours %v", what, wantErr, gotErr))
			}
		case !bytes.Equal(want, got.JSON):
			differences = append(differences, what+" differs "+firstDifference(want, got.JSON))
		default:
			n.bytes += len(want)
		}
	}
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		want, wantErr := UpstreamV3(versions[version], version)
		got, gotErr := publish.OpenAPI{}.V3(ctx, crds[0].ours.Group, version, ours...)
		check("v3", want, wantErr, got, gotErr)
	}
	want, wantErr := UpstreamV2(upstream)
	got, gotErr := publish.OpenAPI{}.V2(ctx, ours...)
	check("v2", want, wantErr, got, gotErr)
	return n, differences
}

// firstDifference shows where two texts begin to differ.
func firstDifference(want, got []byte) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	around := func(text []byte) string {
		return string(text[max(0, min(at, len(text))-120):min(len(text), at+120)])
	}
	return fmt.Sprintf("from byte %d\n  upstream …%s…\n  ours     …%s…", at, around(want), around(got))
}

func (p *published) upstreams() []*apiextensionsv1.CustomResourceDefinition {
	return []*apiextensionsv1.CustomResourceDefinition{p.upstream}
}
