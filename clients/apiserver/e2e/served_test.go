package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// served waits until the server publishes the resources of a CRD: kubectl reads discovery and OpenAPI once per command.
func served(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: served CRD")
	}
	config := rest.CopyConfig(ts.Value(configKey{}).(*rest.Config))
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	ts.Check(err)
	last := error(nil)
	err = wait.PollUntilContextTimeout(context.Background(), 10*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		last = publishes(ctx, client, args[0])
		return last == nil, nil
	})
	if err != nil {
		ts.Fatalf("%s: %v: %v", args[0], err, last)
	}
}

// publishes returns nil if discovery and OpenAPI have each served version of a CRD.
func publishes(ctx context.Context, client rest.Interface, name string) error {
	text, err := client.Get().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", name).DoRaw(ctx)
	if err != nil {
		return err
	}
	crd := apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(text, &crd); err != nil {
		return err
	}
	for _, v := range crd.Spec.Versions {
		version := "apis/" + crd.Spec.Group + "/" + v.Name
		plural := `"` + crd.Spec.Names.Plural + `"`
		for path, want := range map[string]string{
			"/" + version: plural, "/openapi/v3": version, "/openapi/v3/" + version: crd.Spec.Names.Plural,
			"/openapi/v2": version + "/namespaces/{namespace}/" + crd.Spec.Names.Plural, "/apis": plural,
		} {
			r := client.Get().AbsPath(path)
			switch {
			case !v.Served || path == "/openapi/v2" && crd.Spec.Scope != apiextensionsv1.NamespaceScoped:
				continue
			case path == "/apis":
				r.SetHeader("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			}
			text, err := r.DoRaw(ctx)
			if err != nil {
				return err
			}
			if !strings.Contains(string(text), want) {
				return fmt.Errorf("%s lacks %s", path, want)
			}
		}
	}
	return nil
}
