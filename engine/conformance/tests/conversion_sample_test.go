package tests

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/server/app"
)

// TestConversionSample: the manifests of deploy/conversion.yaml fit together, and an API server's converter, which calls
// the service of the CRD over TLS, converts objects by the rules in both directions.
func TestConversionSample(t *testing.T) {
	const samples = "../../../deploy/samples/conversion"
	service, deployment := conversionSample(t)
	text, err := os.ReadFile(filepath.Join(samples, "crontabs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatal(err)
	}
	registered, answer := oracle.Register(manifest, false)
	if !answer.Accepted() {
		t.Fatalf("an API server rejects the CRD: %+v", answer)
	}
	crd := registered.V1
	client := crd.Spec.Conversion.Webhook.ClientConfig
	if s := client.Service; s.Name != service.Name || s.Namespace != service.Namespace || s.Port == nil || *s.Port != service.Spec.Ports[0].Port {
		t.Errorf("the CRD calls %+v, and the service is %s/%s", s, service.Namespace, service.Name)
	}
	settings := map[string]string{}
	container := deployment.Spec.Template.Spec.Containers[0]
	for _, e := range container.Env {
		settings[e.Name] = e.Value
	}
	if https := service.Spec.Ports[0].TargetPort.String(); container.Ports[0].Name != https ||
		settings["CRDEVAL_HTTP_ADDRESS"] != ":"+strconv.Itoa(int(container.Ports[0].ContainerPort)) ||
		deployment.Spec.Template.Labels["app"] != service.Spec.Selector["app"] {
		t.Errorf("the service does not reach the container: %+v", container.Ports)
	}

	var address string
	client.CABundle, address = serveSample(t, samples, service.Name+"."+service.Namespace+".svc")
	factory, err := conversion.NewCRConverterFactory(sampleResolver(address), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v1", "v1beta1"} {
		crd.Name = version + ".crontabs.example.com" // each with its own metrics
		crd.Spec.Conversion.Webhook.ConversionReviewVersions = []string{version}
		converter, _, err := factory.NewConverter(crd)
		if err != nil {
			t.Fatal(err)
		}
		convert := func(to string, object map[string]any) (map[string]any, error) {
			object["kind"], object["metadata"] = "CronTab", map[string]any{"name": "a", "namespace": "b"}
			u, err := converter.ConvertToVersion(&unstructured.Unstructured{Object: object}, schema.GroupVersion{Group: "example.com", Version: to})
			if err != nil {
				return nil, err
			}
			return u.(*unstructured.Unstructured).Object, nil
		}
		if o, err := convert("v1", map[string]any{"apiVersion": "example.com/v1beta1", "hostPort": "h:80"}); err != nil || o["host"] != "h" || o["port"] != "80" || o["hostPort"] != nil {
			t.Errorf("%s: to v1: %v %v", version, o, err)
		}
		if o, err := convert("v1beta1", map[string]any{"apiVersion": "example.com/v1", "host": "h", "port": "80"}); err != nil || o["hostPort"] != "h:80" || o["host"] != nil {
			t.Errorf("%s: to v1beta1: %v %v", version, o, err)
		}
		const want = "conversion webhook for example.com/v1beta1, Kind=CronTab failed: CronTab b/a: from v1beta1 to v1: rules[0].back.port (cel): hostPort: \"h\" "
		if _, err := convert("v1", map[string]any{"apiVersion": "example.com/v1beta1", "hostPort": "h"}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", version, err, want)
		}
	}
}

// conversionSample reads deploy/conversion.yaml.
func conversionSample(t *testing.T) (*corev1.Service, *appsv1.Deployment) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/conversion.yaml")
	if err != nil {
		t.Fatal(err)
	}
	service, deployment := &corev1.Service{}, &appsv1.Deployment{}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var about metav1.TypeMeta
		if err := yaml.Unmarshal(document, &about); err != nil {
			t.Fatal(err)
		}
		switch about.Kind {
		case "Service":
			err = yaml.UnmarshalStrict(document, service)
		case "Deployment":
			err = yaml.UnmarshalStrict(document, deployment)
		default:
			t.Errorf("a %s", about.Kind)
		}
		if err != nil {
			t.Fatalf("%s: %v", about.Kind, err)
		}
	}
	return service, deployment
}

// serveSample starts a server with the CRDs and the rules of a directory and returns its CA and address. Its certificate
// is valid for host.
func serveSample(t *testing.T, crds, host string) (ca []byte, address string) {
	t.Helper()
	ca, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	for name, text := range map[string][]byte{"crt": ca, "key": key} {
		if err := os.WriteFile(filepath.Join(files, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, err := app.Defaults("--grpc-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0", "--store=memory",
		"--drain-timeout=2s", "--crds="+crds, "--tls-cert="+filepath.Join(files, "crt"), "--tls-key="+filepath.Join(files, "key"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.Start(t.Context(), config, app.Build{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Log(err) // connections of the converter may be open
		}
	})
	addresses := a.HTTPAddresses()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if ready(t, "http://"+addresses[1].String()+"/readyz") {
			return ca, addresses[0].String()
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not get ready")
		}
	}
}

func ready(t *testing.T, url string) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// sampleResolver is the address of all services.
type sampleResolver string

// ResolveEndpoint returns the address.
func (r sampleResolver) ResolveEndpoint(string, string, int32) (*url.URL, error) {
	if _, _, err := net.SplitHostPort(string(r)); err != nil {
		return nil, err
	}
	return &url.URL{Scheme: "https", Host: string(r)}, nil
}
