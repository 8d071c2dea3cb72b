package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/clients/apiserver/e2e/servers"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar/sidecartest"
	"github.com/crdeval/crdeval/clients/apiserver/standalone"
)

// script is a file of testdata: CRDs, and requests that are sent in their order.
type script struct {
	CRDs     []json.RawMessage `json:"crds"`
	Requests []request         `json:"requests"`
}

// request is sent with each body to each path, Repeat times, by default once.
type request struct {
	Name   string   `json:"name"`
	Method string   `json:"method"` // default PATCH
	Paths  []string `json:"paths"`  // below /apis
	Type   string   `json:"type"`   // a key of types
	// Bodies may contain META, which stands for Metadata, and VERSION, the resourceVersion of the last object in a
	// response.
	Bodies   []string `json:"bodies"`
	Metadata string   `json:"metadata"`
	Repeat   int      `json:"repeat"`
	// Code is that of upstream's responses, 0 for any.
	Code int `json:"code"`
}

// types are the Content-Types.
var types = map[string]string{
	"": "application/json", "yaml": "application/yaml", "apply": "application/apply-patch+yaml",
	"merge": "application/merge-patch+json", "json-patch": "application/json-patch+json",
	"strategic": "application/strategic-merge-patch+json",
}

// side is a server, and the resourceVersions of its responses in their order.
type side struct {
	name    string
	client  *rest.RESTClient
	version string
	seen    map[string]string
}

// TestResponses sends each script to upstream's server, and to crdeval-apiserver with each evaluator.
func TestResponses(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	check(t, err)
	sides := startSides(t)
	webhook := startWebhook(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			check(t, err)
			s := &script{}
			check(t, yaml.UnmarshalStrict([]byte(webhook.Replace(string(text))), s))
			for _, crd := range s.CRDs {
				for _, at := range sides {
					at.register(t, crd)
				}
			}
			for i := range s.Requests {
				s.Requests[i].compare(t, sides)
			}
		})
	}
}

// compare sends the request to all sides.
func (r *request) compare(t *testing.T, sides []*side) {
	t.Helper()
	if r.Bodies == nil {
		r.Bodies = []string{""}
	}
	for _, path := range r.Paths {
		for _, body := range r.Bodies {
			for range max(1, r.Repeat) {
				r.compareOne(t, sides, path, strings.ReplaceAll(body, "META", r.Metadata))
			}
		}
	}
}

func (r *request) compareOne(t *testing.T, sides []*side, path, body string) {
	t.Helper()
	want := ""
	for i, at := range sides {
		code, got := at.do(t, r, path, body)
		if i == 0 {
			want = got
			if r.Code != 0 && code != r.Code {
				t.Errorf("%s: %s: HTTP %d, the script has %d\n%s", r.Name, at.name, code, r.Code, got)
			}
		} else if got != want {
			t.Errorf("%s: %s %s\n%s:\n%s\n%s:\n%s", r.Name, path, body, sides[0].name, want, at.name, got)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// startSides starts upstream's server, and crdeval-apiserver with each evaluator. Each has an etcd of its own.
func startSides(t *testing.T) []*side {
	t.Helper()
	genuine, own := servers.Build(t, "e2e/genuine"), servers.Build(t, "cmd/crdeval-apiserver")
	evaluator, err := sidecartest.New("--conversion-webhooks=localhost,127.0.0.1")
	check(t, err)
	t.Cleanup(func() { check(t, evaluator.Close()) })
	check(t, evaluator.Start())
	var sides []*side
	start := func(name, binary string, evaluator *sidecartest.Server) {
		etcd, err := standalone.StartEtcd(t.TempDir(), false)
		check(t, err)
		t.Cleanup(etcd.Close)
		s := servers.Start(t, binary, etcd.Transport().ServerList[0], evaluator)
		s.Config.WarningHandler = rest.NoWarnings{} // the responses have them
		client, err := servers.Client(s.Config)
		check(t, err)
		sides = append(sides, &side{name: name, client: client, seen: map[string]string{}})
	}
	start("upstream", genuine, nil)
	start("in process", own, nil)
	start("sidecar", own, evaluator)
	return sides
}

const toCRDs = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// register creates a CRD, and waits until all its served versions can be listed.
func (s *side) register(t *testing.T, text []byte) {
	t.Helper()
	var crd struct {
		Metadata struct{ Name string }
		Spec     struct {
			Group    string
			Names    struct{ Plural string }
			Versions []struct {
				Name   string
				Served bool
			}
		}
	}
	check(t, json.Unmarshal(text, &crd))
	if err := s.client.Post().AbsPath(toCRDs).Body(text).Do(t.Context()).Error(); err != nil {
		t.Fatalf("%s: CRD %s: %v", s.name, crd.Metadata.Name, err)
	}
	last := error(nil)
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		for _, v := range crd.Spec.Versions {
			if last = s.client.Get().AbsPath("/apis", crd.Spec.Group, v.Name, crd.Spec.Names.Plural).Do(ctx).Error(); v.Served && last != nil {
				return false, nil //nolint:nilerr // it is not established yet
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatalf("%s: CRD %s: %v: %v", s.name, crd.Metadata.Name, err, last)
	}
}

// do sends a request, and returns the code and the text of the response, with the same resourceVersions, uids and times for
// all sides.
func (s *side) do(t *testing.T, r *request, path, body string) (code int, response string) {
	t.Helper()
	method := r.Method
	if method == "" {
		method = "PATCH"
	}
	path, query, _ := strings.Cut(path, "?")
	q := s.client.Verb(method).AbsPath("/apis", path).SetHeader("Content-Type", types[r.Type]).SetHeader("Accept", "application/json")
	for _, part := range strings.Split(query, "&") {
		if key, v, ok := strings.Cut(part, "="); ok {
			q.Param(key, v)
		}
	}
	if method != "GET" {
		q.Body([]byte(strings.ReplaceAll(body, "VERSION", s.version)))
	}
	result := q.Do(t.Context()).StatusCode(&code)
	text, _ := result.Raw() // of a rejection, the body too
	if m := versions.FindSubmatch(text); m != nil && code < 300 {
		s.version = string(m[1])
	}
	var warnings []string
	for _, w := range result.Warnings() {
		warnings = append(warnings, w.Text)
	}
	return code, fmt.Sprintf("%d %s %q", code, s.normalize(bytes.TrimSpace(text)), warnings)
}

var (
	versions = regexp.MustCompile(`resourceVersion\\*":\\*"([0-9]+)`)
	uids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`)
	times    = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)
)

// normalize replaces times and uids, and numbers resourceVersions in their order.
func (s *side) normalize(text []byte) string {
	text = versions.ReplaceAllFunc(text, func(found []byte) []byte {
		key := strings.ReplaceAll(string(found), `\`, "")
		if s.seen[key] == "" {
			s.seen[key] = fmt.Sprintf("#%d", len(s.seen)+1)
		}
		return bytes.ReplaceAll(found, versions.FindSubmatch(found)[1], []byte(s.seen[key]))
	})
	return sorted(uids.ReplaceAll(times.ReplaceAll(text, []byte("TIME")), []byte("UID")))
}

// sorted returns an object with its managed fields in one order: upstream's order depends on their times.
func sorted(text []byte) string {
	u := &unstructured.Unstructured{}
	if u.UnmarshalJSON(text) != nil || len(u.GetManagedFields()) < 2 {
		return string(text) // a Status, for example
	}
	managed, _, _ := unstructured.NestedSlice(u.Object, "metadata", "managedFields")
	slices.SortFunc(managed, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	u.Object["metadata"].(map[string]any)["managedFields"] = managed
	return fmt.Sprint(u.Object)
}
