package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/clients/apiserver/sidecar/sidecartest"
)

// maxMemory is the highest ratio of the memory to that of upstream's server.
const maxMemory = 0.2

// memory is what the processes of a server use together.
type memory struct {
	resident, heap int64 // bytes; the heap after a garbage collection
	goroutines     int64
}

// TestMemory compares the memory of crdeval-apiserver, in process and with its sidecar, with that of upstream's server. Each
// serves the same CRDs, and creates one object of each. MEMORY_CRDS is the number of CRDs. Profiles of the heaps are
// written to the directory CRDEVAL_PROFILES.
func TestMemory(t *testing.T) {
	if os.Getenv("MEMORY_CRDS") == "" {
		t.Skip("make apiserver-memory runs this test: set MEMORY_CRDS to a number of CRDs")
	}
	n, err := strconv.Atoi(os.Getenv("MEMORY_CRDS"))
	check(t, err)
	crds := scaleCRDs(t, n)
	upstream := measure(t, "upstream", crds)
	for _, name := range []string{"inprocess", "sidecar"} {
		m := measure(t, name, crds)
		heap, resident := float64(m.heap)/float64(upstream.heap), float64(m.resident)/float64(upstream.resident)
		t.Logf("%s: %.2f of upstream's heap, %.2f of its resident memory", name, heap, resident)
		if heap > maxMemory || resident > maxMemory {
			t.Errorf("%s: more than %.2f of upstream's memory", name, maxMemory)
		}
	}
}

// measure starts a server, creates the CRDs, starts it again, and returns its memory after one creation for each CRD.
func measure(t *testing.T, name string, crds []*apiextensionsv1.CustomResourceDefinition) memory {
	t.Helper()
	dir, err := os.MkdirTemp("", "memory") // short, because the path of a socket has at most 107 bytes
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	executable, err := exec.LookPath("etcd") // of TestMain
	check(t, err)
	etcd := newProcess(t, "etcd", executable, filepath.Join(dir, "etcd"))
	check(t, etcd.Start())
	source, arguments := "cmd/crdeval-apiserver", []string{"serve"}
	if name == "upstream" {
		source, arguments = "e2e/genuine", nil
	}
	binary, err := buildServer(source)
	check(t, err)
	arguments = append(arguments, "--address="+freeAddress(t), "--data-dir="+filepath.Join(dir, "server"),
		"--etcd-servers=unix://"+filepath.Join(dir, "etcd", "client.sock"))
	var sidecar *sidecartest.Server
	profiles := freeAddress(t)
	if name == "sidecar" {
		sidecar, err = sidecartest.New("--pprof-address=" + profiles)
		check(t, err)
		t.Cleanup(func() { check(t, sidecar.Close()) })
		check(t, sidecar.Start())
		arguments = append(arguments, "--sidecar="+sidecar.Address())
	}
	s := &stack{TB: t, etcd: etcd, server: newProcess(t, "server", append([]string{binary}, arguments...)...)}
	start := func() *client {
		check(t, s.server.Start())
		kubeconfig := filepath.Join(dir, "server", "kubeconfig")
		s.await("kubeconfig", func() bool { _, err := os.Stat(kubeconfig); return err == nil })
		c := newClient(t, kubeconfig)
		s.await("readiness", func() bool {
			code, _, err := c.do(t.Context(), http.MethodGet, "/readyz", "", nil)
			return err == nil && code == http.StatusOK
		})
		return c
	}
	c := start()
	parallel(crds, func(crd *apiextensionsv1.CustomResourceDefinition) {
		code, text, err := c.do(t.Context(), http.MethodPost, toJobsCRD, "application/json", crd)
		if err != nil || code != http.StatusCreated {
			t.Errorf("CRD %s: %v, HTTP %d: %s", crd.Name, err, code, text)
		}
	})
	for _, crd := range crds {
		s.await("established CRD", func() bool {
			_, text, err := c.do(t.Context(), http.MethodGet, toJobsCRD+"/"+crd.Name, "", nil)
			return err == nil && strings.Contains(string(text), `"reason":"InitialNamesAccepted"`)
		})
	}
	check(t, s.server.Kill())
	c = start()
	parallel(crds, func(crd *apiextensionsv1.CustomResourceDefinition) {
		v := crd.Spec.Versions[0].Name
		path := fmt.Sprintf("/apis/%s/%s/namespaces/default/%s", crd.Spec.Group, v, crd.Spec.Names.Plural)
		object := map[string]any{
			"apiVersion": crd.Spec.Group + "/" + v, "kind": crd.Spec.Names.Kind,
			"metadata": map[string]any{"name": "a"}, "spec": map[string]any{},
		}
		s.await("creation", func() bool {
			code, text, err := c.do(t.Context(), http.MethodPost, path, "application/json", object)
			if code == http.StatusBadRequest || code == http.StatusForbidden || code == http.StatusUnprocessableEntity {
				t.Errorf("%s: HTTP %d: %s", path, code, text)
				return true
			}
			return err == nil && (code == http.StatusCreated || code == http.StatusConflict)
		})
	})
	m := memory{}
	m.add(t, s.server.running.Process.Pid, func(profile string) (string, error) { return pprof(c.http, c.host, profile) })
	if sidecar != nil {
		m.add(t, sidecar.Process(), func(profile string) (string, error) {
			return pprof(http.DefaultClient, "http://"+profiles, profile)
		})
	}
	check(t, s.server.Kill())
	const mib = 1 << 20
	t.Logf("%s: heap %d MiB, resident %d MiB, %d goroutines", name, m.heap/mib, m.resident/mib, m.goroutines)
	return m
}

// parallel calls f for each CRD, a few at a time.
func parallel(crds []*apiextensionsv1.CustomResourceDefinition, f func(*apiextensionsv1.CustomResourceDefinition)) {
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for ; i < len(crds); i += 4 {
				f(crds[i])
			}
		})
	}
	wait.Wait()
}

// pprof returns a profile of a process.
func pprof(c *http.Client, host, profile string) (string, error) {
	code, text, err := (&client{c, host}).do(context.Background(), http.MethodGet, "/debug/pprof/"+profile, "", nil)
	if err != nil || code != http.StatusOK {
		return "", fmt.Errorf("%s: %w, HTTP %d: %s", profile, err, code, text)
	}
	return string(text), nil
}

var (
	heapLine      = regexp.MustCompile(`# HeapAlloc = (\d+)`)
	goroutineLine = regexp.MustCompile(`goroutine profile: total (\d+)`)
	residentLine  = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)
)

// add adds the memory of a process after garbage collections.
func (m *memory) add(t *testing.T, pid int, pprof func(profile string) (string, error)) {
	t.Helper()
	for range 2 {
		time.Sleep(5 * time.Second) // caches and connections of the last requests end, and the runtime returns free memory
		_, err := pprof("heap?gc=1")
		check(t, err)
	}
	time.Sleep(5 * time.Second)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // before the profile below, which takes much memory
	check(t, err)
	heap, err := pprof("heap?gc=1&debug=1")
	check(t, err)
	goroutines, err := pprof("goroutine?debug=1")
	check(t, err)
	if dir := os.Getenv("CRDEVAL_PROFILES"); dir != "" {
		check(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", pid)), []byte(heap), 0o600))
	}
	find := func(line *regexp.Regexp, text string) int64 {
		found := line.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("no %s", line)
		}
		n, err := strconv.ParseInt(found[1], 10, 64)
		check(t, err)
		return n
	}
	m.heap += find(heapLine, heap)
	m.goroutines += find(goroutineLine, goroutines)
	m.resident += find(residentLine, string(status)) * 1024
}

// scaleCRDs returns CRDs under different names: each tenth is HTTPRoute of the Gateway API, the others are CronTab with some
// more fields.
func scaleCRDs(t *testing.T, n int) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "sigs.k8s.io/gateway-api@v1.5.1").Output()
	check(t, err)
	module := struct{ Dir string }{}
	check(t, json.Unmarshal(out, &module))
	texts := make([][]byte, 2)
	for i, path := range []string{
		"../../../deploy/samples/crds/crontabs.yaml",
		filepath.Join(module.Dir, "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"),
	} {
		texts[i], err = os.ReadFile(path)
		check(t, err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	bytes := 0
	for i := range n {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		large := i%10 == 9
		if large {
			check(t, yaml.Unmarshal(texts[1], crd))
		} else {
			check(t, yaml.Unmarshal(texts[0], crd))
		}
		crd.Annotations = nil // the group needs no approval
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		crd.Spec.Group = fmt.Sprintf("g%d.scale.example.com", i/10)
		kind := fmt.Sprintf("Scale%d", i)
		crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{
			Plural: strings.ToLower(kind) + "s", Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List",
		}
		crd.Name = crd.Spec.Names.Plural + "." + crd.Spec.Group
		for v := range crd.Spec.Versions {
			properties := crd.Spec.Versions[v].Schema.OpenAPIV3Schema.Properties
			spec := properties["spec"]
			spec.Required, spec.XValidations = nil, nil // an object without fields is valid
			if !large {
				for section := range 1 + i%8 {
					spec.Properties[fmt.Sprintf("section%d", section)] = newSection(i, section)
				}
			}
			properties["spec"] = spec
		}
		text, err := json.Marshal(crd)
		check(t, err)
		bytes += len(text)
		all = append(all, crd)
	}
	t.Logf("%d CRDs of %.1f KiB on average", n, float64(bytes)/float64(n)/1024)
	return all
}

// newSection returns a part of a schema: descriptions, nested objects, lists and a pattern.
func newSection(crd, n int) apiextensionsv1.JSONSchemaProps {
	text := apiextensionsv1.JSONSchemaProps{Type: "string", MaxLength: new(int64), Description: fmt.Sprintf(
		"Option of section %d of kind %d. The controller reads it when it reconciles the object. A change restarts the workload.", n, crd)}
	*text.MaxLength = int64(100 + crd)
	properties := map[string]apiextensionsv1.JSONSchemaProps{
		"name": {Type: "string", Pattern: fmt.Sprintf("^[a-z][a-z0-9-]{0,%d}$", 1+crd%60), Description: text.Description},
		"conditions": {
			Type: "array", XListType: new(string), XListMapKeys: []string{"type"}, Items: &apiextensionsv1.JSONSchemaPropsOrArray{
				Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"type"},
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"type": text, "status": text, "message": text}},
			},
		},
	}
	*properties["conditions"].XListType = "map"
	for i := range 3 {
		properties[fmt.Sprintf("option%d", i)] = text
	}
	return apiextensionsv1.JSONSchemaProps{Type: "object", Description: text.Description, Properties: properties}
}
