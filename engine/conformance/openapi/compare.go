package openapi

import (
	"bytes"
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/definition"
)

// extent is how much was compared.
type extent struct{ documents, bytes int }

// compare compares the documents of definitions of one group, those of v3 and the one of v2, and says what differs.
func compare(ctx context.Context, defs ...*engine.Definition) (n extent, differences []string) {
	crds := make([]*apiextensionsv1.CustomResourceDefinition, len(defs))
	versions := map[string][]*apiextensionsv1.CustomResourceDefinition{}
	for i, d := range defs {
		m, err := definition.Decode(d.Manifest())
		if err != nil {
			return n, []string{err.Error()}
		}
		crds[i] = m.CRD
		for _, v := range m.CRD.Spec.Versions {
			if v.Served {
				versions[v.Name] = append(versions[v.Name], m.CRD)
			}
		}
	}
	check := func(what string, want []byte, wantErr error, got *engine.OpenAPIDocument, gotErr error) {
		n.documents++
		switch {
		case wantErr != nil || gotErr != nil:
			if wantErr == nil || gotErr == nil || wantErr.Error() != gotErr.Error() {
				differences = append(differences, fmt.Sprintf("%s: upstream's error %v, ours %v", what, wantErr, gotErr))
			}
		case !bytes.Equal(want, got.JSON):
			differences = append(differences, what+": "+firstDifference(want, got.JSON))
		default:
			n.bytes += len(want)
		}
	}
	for version, of := range versions {
		want, wantErr := upstreamV3(of, version)
		got, gotErr := engine.OpenAPIV3(ctx, defs[0].Group(), version, engine.Published(defs...)...)
		check("v3 of "+version, want, wantErr, got, gotErr)
	}
	want, wantErr := upstreamV2(crds)
	got, gotErr := engine.OpenAPIV2(ctx, engine.Published(defs...)...)
	check("v2", want, wantErr, got, gotErr)
	return n, differences
}

// firstDifference shows where two texts part.
func firstDifference(want, got []byte) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	around := func(text []byte) string {
		return string(text[max(0, at-120):min(len(text), at+120)])
	}
	return fmt.Sprintf("from byte %d\n  upstream …%s…\n  ours     …%s…", at, around(want), around(got))
}
