package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// kind is a kind of objects. bars are the highest ratios of the CPU time to that of upstream's server by phase, in process
// and with a sidecar.
type kind struct {
	name       string
	objects    int
	crd        []byte
	object     *unstructured.Unstructured
	path, mark string
	bars       map[string][2]float64
}

var (
	crontabBars   = map[string][2]float64{"create": {0.7, 1}, "update": {0.7, 1}, "list": {0.5, 0.5}, "table": {0.7, 0.7}}
	httpRouteBars = map[string][2]float64{"create": {0.3, 0.4}, "update": {0.3, 0.4}, "list": {0.5, 0.5}, "table": {0.7, 0.7}}
)

// gatewayAPI is the module that has the CRD HTTPRoute.
const gatewayAPI = "sigs.k8s.io/gateway-api@v1.5.1"

// readKinds returns the kinds that are measured. Their objects are those of make bench.
func readKinds(t *testing.T) []*kind {
	t.Helper()
	routes := filepath.Join(directory(t, "mod", "download", "-json", gatewayAPI), "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml")
	objects := filepath.Join(directory(t, "list", "-m", "-json", "github.com/crdeval/crdeval"), "engine/conformance/testdata/bench")
	return []*kind{
		newKind(t, "CronTab", 1000, "testdata/crontab-crd.yaml", "testdata/crontab.json", crontabBars),
		newKind(t, "HTTPRoute", 1000, routes, filepath.Join(objects, "httproute-small.json"), httpRouteBars),
		newKind(t, "HTTPRoute 12 kB", 100, routes, filepath.Join(objects, "httproute-large.json"), httpRouteBars),
	}
}

// directory returns the directory that a go command prints for a module.
func directory(t *testing.T, args ...string) string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m.Dir
}

func newKind(t *testing.T, name string, objects int, crd, object string, bars map[string][2]float64) *kind {
	t.Helper()
	k := &kind{name: name, objects: objects, object: &unstructured.Unstructured{}, bars: bars}
	definition := &unstructured.Unstructured{}
	for file, into := range map[string]*unstructured.Unstructured{crd: definition, object: k.object} {
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(text, &into.Object)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	k.crd = encode(definition)
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	k.path = fmt.Sprintf("/apis/%s/namespaces/%s/%s", k.object.GetAPIVersion(), k.object.GetNamespace(), plural)
	k.mark = `"name":"` + k.objectName(0)[:len(k.objectName(0))-4]
	return k
}

func encode(u *unstructured.Unstructured) []byte {
	text, err := json.Marshal(u.Object)
	if err != nil {
		panic(err) // it was read from JSON or YAML
	}
	return text
}

func (k *kind) objectName(i int) string { return fmt.Sprintf("object-%04d", i) }

// body returns object i. With a resourceVersion it is an update, which changes a label.
func (k *kind) body(i int, resourceVersion string) []byte {
	u := k.object.DeepCopy()
	u.SetName(k.objectName(i))
	if resourceVersion != "" {
		u.SetResourceVersion(resourceVersion)
		u.SetLabels(map[string]string{"changed": "yes"})
	}
	return encode(u)
}

// register creates the CRD and the namespace, and waits until objects can be created.
func (k *kind) register(t *testing.T, s *side) {
	t.Helper()
	ctx := t.Context()
	namespace := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, k.object.GetNamespace())
	_ = s.client.Post().AbsPath("/api/v1/namespaces").Body([]byte(namespace)).Do(ctx).Error() // upstream's server has none
	_ = s.client.Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").Body(k.crd).Do(ctx).Error()
	last := error(nil)
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		last = s.client.Post().AbsPath(k.path).Body(k.body(9999, "")).Do(ctx).Error()
		if last == nil {
			last = s.client.Delete().AbsPath(k.path, k.objectName(9999)).Do(ctx).Error()
		}
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v: %v", k.name, err, last)
	}
}

// readVersions reads the resourceVersions of the objects for an update.
func (s *side) readVersions(t *testing.T, k *kind) {
	t.Helper()
	text, err := s.client.Get().AbsPath(k.path).DoRaw(t.Context())
	list := &unstructured.UnstructuredList{}
	if err == nil {
		err = list.UnmarshalJSON(text)
	}
	if err != nil || len(list.Items) != k.objects {
		t.Fatalf("%d of %d objects: %v", len(list.Items), k.objects, err)
	}
	s.versions = make([]string, len(list.Items))
	for i := range list.Items { // in the order of their names
		s.versions[i] = list.Items[i].GetResourceVersion()
	}
}
