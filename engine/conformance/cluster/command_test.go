//go:build cluster

package cluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// runCommand migrates with crdeval migrate: first without --write, then with it. The process is killed while it writes
// the second page. When it continues, the token of that page has expired, and others edit and delete objects.
func (m *migration) runCommand() {
	folder := m.t.TempDir()
	c := &command{t: m.t, binary: filepath.Join(folder, "crdeval")}
	build := exec.CommandContext(m.t.Context(), "go", "build", "-o", c.binary, "./server/cmd/crdeval")
	build.Dir = filepath.Join("..", "..", "..") // the command's own module: this one does not have all its dependencies
	if out, err := build.CombinedOutput(); err != nil {
		m.t.Fatalf("%v\n%s", err, out)
	}
	rules, state := filepath.Join(folder, "rules.yaml"), filepath.Join(folder, "state")
	if err := os.WriteFile(rules, []byte(crontabRules), 0o600); err != nil {
		m.t.Fatal(err)
	}
	direct := writeKubeconfig(m.t, m.config)
	proxy := startProxy(m.t, m.config)
	throughProxy := writeKubeconfig(m.t, &rest.Config{Host: proxy.URL})
	before := m.inEtcd()

	stdout, stderr, err := c.run(m.t.Context(), direct, "--crds", rules)
	m.checkPrinted(stdout)
	want := fmt.Sprintf("nothing was written: use --write to migrate; then status.storedVersions of crontabs.example.com, "+
		"now v1beta1, v1, becomes v1\n%d objects: %[1]d would be written\n", len(m.want))
	if err != nil || stderr != want {
		m.t.Errorf("without --write: %v\n%s", err, stderr)
	}
	if got := m.inEtcd(); !reflect.DeepEqual(got, before) {
		m.t.Error("a run without --write changed objects in etcd")
	}
	m.checkStoredVersions("v1beta1", "v1")

	ctx, kill := context.WithCancel(m.t.Context())
	defer kill()
	proxy.afterWrites(proxyPage+proxyPage/2, kill)
	if stdout, stderr, err = c.run(ctx, throughProxy, "--write", "--state", state); ctx.Err() == nil || err == nil {
		m.t.Fatalf("the process was not killed: %v\n%s%s", err, stdout, stderr)
	}
	m.checkStoredVersions("v1beta1", "v1")
	if got := m.storedAt(); got["v1beta1"] == 0 || got["v1"] < proxyPage+proxyPage/2 {
		m.t.Errorf("objects by stored version after the kill: %v", got)
	}
	killed := proxy.written()

	m.compact()
	proxy.aging.Store(true)
	const edited, deleted = "crontab-7", "crontab-8"
	proxy.beforeWrite(edited, func() error {
		patch := []byte(`{"metadata": {"labels": {"edited": "yes"}}}`)
		_, err := m.at(after).Patch(m.t.Context(), edited, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	proxy.beforeWrite(deleted, func() error {
		return m.at(after).Delete(m.t.Context(), deleted, metav1.DeleteOptions{})
	})
	stdout, stderr, err = c.run(m.t.Context(), throughProxy, "--write", "--state", state)
	delete(m.want, deleted)
	want = fmt.Sprintf("status.storedVersions of crontabs.example.com: v1\n%d objects: %d migrated, 1 deleted in the meantime\n",
		len(m.want)+1, len(m.want))
	if err != nil || stdout != "" || stderr != want {
		m.t.Errorf("the run that continues: %v\n%s%s", err, stdout, stderr)
	}
	// The first page is done. The second one is written again.
	if total := len(killed) + len(m.want) - proxyPage; len(proxy.written()) != total {
		m.t.Errorf("%d writes before the kill, and %d in all, want %d", len(killed), len(proxy.written()), total)
	}
	for _, object := range killed[:proxyPage] {
		if slices.Contains(proxy.written()[len(killed):], object) {
			m.t.Errorf("%s of the first page was written again", object)
		}
	}
	if proxy.expired.Load() != 1 {
		m.t.Errorf("%d tokens have expired", proxy.expired.Load())
	}
	delete(before, edited)
	m.checkMigrated(before)

	migrated := m.inEtcd()
	if o := (&unstructured.Unstructured{Object: migrated[edited].Object}); o.GetLabels()["edited"] != "yes" {
		m.t.Errorf("the edit of %s is lost: %v", edited, o.Object)
	}
	if _, stderr, err := c.run(m.t.Context(), direct, "--write"); err != nil {
		m.t.Errorf("the second migration: %v\n%s", err, stderr)
	}
	if got := m.inEtcd(); !reflect.DeepEqual(got, migrated) {
		m.t.Error("a second migration changed objects in etcd")
	}
	m.read()
}

// command is the binary of crdeval.
type command struct {
	t      *testing.T
	binary string
}

// run runs migrate. The process is killed if ctx is cancelled.
func (c *command) run(ctx context.Context, kubeconfig string, args ...string) (stdout, stderr string, err error) {
	c.t.Helper()
	args = append([]string{"migrate", "--kubeconfig", kubeconfig, "crontabs.example.com"}, args...)
	var out, errs bytes.Buffer
	process := exec.CommandContext(ctx, c.binary, args...)
	process.Stdout, process.Stderr = &out, &errs
	err = process.Run()
	return out.String(), errs.String(), err
}

// writeKubeconfig writes a kubeconfig with the address and the credentials of a configuration.
func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: "test",
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		Clusters: map[string]*clientcmdapi.Cluster{"test": {
			Server: config.Host, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {Token: config.BearerToken}},
	}, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// proxyPage is the number of objects of a page through a proxy.
const proxyPage = 20

// proxy forwards requests to an API server. It makes the pages of lists smaller, and notes the objects that are written.
type proxy struct {
	*httptest.Server
	t       *testing.T
	aging   atomic.Bool  // makes the token of the next page old
	expired atomic.Int64 // lists that failed because their token has expired
	mu      sync.Mutex
	writes  []string // paths, in the order of the responses
	killAt  int      // the number of writes after which kill is called instead of a response
	kill    func()
	before  map[string]func() error // called once before a write of an object
}

func startProxy(t *testing.T, config *rest.Config) *proxy {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, before: map[string]func() error{}}
	forward := &httputil.ReverseProxy{
		Transport: transport, ErrorLog: log.New(io.Discard, "", 0), ModifyResponse: p.note,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			p.prepare(r.In)
			if query := r.In.URL.Query(); query.Has("limit") {
				query.Set("limit", fmt.Sprint(proxyPage))
				if query.Get("continue") != "" && p.aging.CompareAndSwap(true, false) {
					query.Set("continue", p.aged(query.Get("continue")))
				}
				r.Out.URL.RawQuery = query.Encode()
			}
		},
	}
	p.Server = httptest.NewServer(forward)
	t.Cleanup(p.Close)
	return p
}

// aged returns a token as it would be if the list had begun long ago.
func (p *proxy) aged(token string) string {
	var content map[string]any
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if content["rv"] = 1; err == nil {
		text, err = json.Marshal(content)
	}
	if err != nil {
		p.t.Error(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// prepare calls the function before a write.
func (p *proxy) prepare(r *http.Request) {
	name := path.Base(r.URL.Path)
	p.mu.Lock()
	before := p.before[name]
	if r.Method == http.MethodPut {
		delete(p.before, name)
	}
	p.mu.Unlock()
	if r.Method == http.MethodPut && before != nil {
		if err := before(); err != nil {
			p.t.Error(err)
		}
	}
}

// note records a successful write of an object. If it is the last one before the kill, its response is lost.
func (p *proxy) note(r *http.Response) error {
	if r.StatusCode == http.StatusGone {
		p.expired.Add(1)
	}
	if r.Request.Method != http.MethodPut || r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Request.URL.Path, "/apis/example.com/") {
		return nil
	}
	p.mu.Lock()
	p.writes = append(p.writes, r.Request.URL.Path)
	last := len(p.writes) == p.killAt
	p.mu.Unlock()
	if !last {
		return nil
	}
	p.kill()
	<-r.Request.Context().Done() // the process is gone
	return errors.New("killed")
}

// afterWrites sets a function that ends the client after a number of writes.
func (p *proxy) afterWrites(n int, kill func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killAt, p.kill = n, kill
}

// beforeWrite sets a function that is called before the first write of an object.
func (p *proxy) beforeWrite(name string, do func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before[name] = do
}

func (p *proxy) written() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

// storedObject is a value in etcd.
type storedObject struct {
	Revision int64 // of the last write
	Object   map[string]any
}

// inEtcd returns all CronTabs in etcd by name.
func (m *migration) inEtcd() map[string]storedObject {
	m.t.Helper()
	prefix := path.Join("/", m.prefix, "example.com", "crontabs") + "/"
	found, err := m.etcd.Get(m.t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		m.t.Fatal(err)
	}
	all := map[string]storedObject{}
	for _, kv := range found.Kvs {
		o := storedObject{Revision: kv.ModRevision}
		if err := json.Unmarshal(kv.Value, &o.Object); err != nil {
			m.t.Fatal(err)
		}
		all[path.Base(string(kv.Key))] = o
	}
	return all
}

// compact removes all earlier states from etcd. API servers keep some of them in their cache.
func (m *migration) compact() {
	m.t.Helper()
	now, err := m.etcd.Get(m.t.Context(), "nothing")
	if err == nil {
		_, err = m.etcd.Compact(m.t.Context(), now.Header.Revision)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// storedAt counts the CronTabs in etcd by version.
func (m *migration) storedAt() map[string]int {
	m.t.Helper()
	counts := map[string]int{}
	for _, o := range m.inEtcd() {
		counts[path.Base(o.Object["apiVersion"].(string))]++
	}
	return counts
}

// checkMigrated checks that etcd has all objects at v1, and that the metadata of those that were given is the same.
func (m *migration) checkMigrated(was map[string]storedObject) {
	m.t.Helper()
	m.checkStoredVersions("v1")
	is := m.inEtcd()
	if len(is) != len(m.want) {
		m.t.Errorf("%d objects in etcd, want %d", len(is), len(m.want))
	}
	for name, o := range is {
		m.check(after, &unstructured.Unstructured{Object: o.Object}, nil, m.want[name])
		old, known := was[name]
		if got, want := o.Object["metadata"], old.Object["metadata"]; known && !reflect.DeepEqual(got, want) {
			m.t.Errorf("the migration changed metadata of %s from\n%v to\n%v", name, want, got)
		}
	}
}

func (m *migration) checkStoredVersions(want ...string) {
	m.t.Helper()
	if got := m.crd().Status.StoredVersions; !slices.Equal(got, want) {
		m.t.Errorf("stored versions %v, want %v", got, want)
	}
}

// checkPrinted checks that each line is an object at v1, and that no object is missing.
func (m *migration) checkPrinted(lines string) {
	m.t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for line := range strings.Lines(lines) {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON([]byte(line)); err != nil {
			m.t.Fatal(err)
		}
		all[object.GetName()] = object
	}
	if got, want := slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(m.want)); !slices.Equal(got, want) {
		m.t.Errorf("printed %v, want %v", got, want)
	}
	m.checkAll(after, all)
}
