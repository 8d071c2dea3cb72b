package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// job is an object that a writer writes.
type job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              jobSpec `json:"spec"`
}

type jobSpec struct {
	Sequence int64  `json:"sequence"` // of the attempts of all writers
	Level    int64  `json:"level"`    // at most the generation of the schema
	Judge    *int64 `json:"judge"`    // its default is the generation of the schema
}

// version returns the resourceVersion as a number.
func version(resourceVersion string) int64 {
	n, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("resourceVersion %q: %v", resourceVersion, err))
	}
	return n
}

const (
	jobsGroup = "chaos.example.com"
	toJobs    = "/apis/" + jobsGroup + "/v1/namespaces/default/jobs"
	toJobsCRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// jobsCRD returns the CRD of the jobs with a generation of its schema.
func jobsCRD(t testing.TB, generation int64) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	schema := fmt.Sprintf(`{openAPIV3Schema: {type: object, properties: {spec: {type: object, required: [sequence], properties: {`+
		`sequence: {type: integer}, level: {type: integer, maximum: %d}, judge: {type: integer, default: %[1]d}}}}}}`, generation)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	check(t, yaml.UnmarshalStrict([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: jobs.`+jobsGroup+`}
spec:
  group: `+jobsGroup+`
  scope: Namespaced
  names: {plural: jobs, singular: job, kind: Job, listKind: JobList}
  versions:
  - {name: v1, served: true, storage: true, schema: `+schema+`}
  - {name: v1beta1, served: true, storage: false, schema: `+schema+`}
`), crd))
	return crd
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// client sends single requests. client-go would retry them.
type client struct {
	http *http.Client
	host string
}

// newClient returns a client for the server of a kubeconfig.
func newClient(t testing.TB, kubeconfig string) *client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	check(t, err)
	c, err := rest.HTTPClientFor(config)
	check(t, err)
	return &client{c, config.Host}
}

// requestTimeout bounds a request that is not a watch. The server ends its requests earlier.
const requestTimeout = 90 * time.Second

// do sends a request and returns the code and the body of the response. The body is sent as JSON, unless it is nil.
func (c *client) do(ctx context.Context, method, path, contentType string, body any) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r, err := c.open(ctx, method, path, contentType, body)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	return r.StatusCode, text, err
}

// open sends a request. The caller closes the body of the response.
func (c *client) open(ctx context.Context, method, path, contentType string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.host+path, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", contentType)
	}
	return c.http.Do(r)
}

// pause waits, or returns false at the end of the context.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
