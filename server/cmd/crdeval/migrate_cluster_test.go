package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/server/cmd/crdeval/cluster"
)

// fakeCluster is an API server with the CRD of convert-crd.yaml and its objects.
type fakeCluster struct {
	*httptest.Server
	t          *testing.T
	kubeconfig string

	mu       sync.Mutex
	objects  map[string]*fakeObject // by namespace and name
	crd      map[string]any
	revision int
	requests int
	pageSize int
	// before is called before each request, with its number from 1. It returns true if it has answered.
	before func(n int, w http.ResponseWriter, r *http.Request) bool
}

// fakeObject is an object in storage.
type fakeObject struct {
	version  string // in storage
	revision int
	edits    int // by others
	writes   int // that were successful
}

// newFakeCluster starts a cluster with n objects. Each second one is stored at v1beta1.
func newFakeCluster(t *testing.T, n, pageSize int) *fakeCluster {
	t.Helper()
	f := &fakeCluster{t: t, objects: map[string]*fakeObject{}, pageSize: pageSize}
	text, err := os.ReadFile(filepath.Join("testdata", "convert-crd.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &f.crd)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.crd["metadata"] = map[string]any{"name": "lamps.example.com", "uid": "1", "resourceVersion": "1"}
	f.crd["status"] = map[string]any{"storedVersions": []any{"v1beta1", "v1"},
		"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	for i := range n {
		f.revision++
		f.objects[fmt.Sprintf("n%d/lamp%04d", i%2, i)] = &fakeObject{version: []string{"v1", "v1beta1"}[i%2], revision: f.revision}
	}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	f.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: %q}}]}`, f.URL)
	if err := os.WriteFile(f.kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	if f.before != nil && f.before(f.requests, w, r) {
		return
	}
	switch at := r.URL.Path; {
	case strings.HasPrefix(at, cluster.CRDPath):
		f.serveCRD(w, r)
	case at == "/apis/example.com/v1/lamps":
		f.list(w, r)
	default:
		at = strings.Replace(strings.TrimPrefix(at, "/apis/example.com/v1/namespaces/"), "/lamps/", "/", 1)
		f.serveObject(w, r, at)
	}
}

func (f *fakeCluster) answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		f.t.Error(err)
	}
}

// fail answers with a Status.
func (f *fakeCluster) fail(w http.ResponseWriter, code int, reason, token string) {
	f.answer(w, code, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason,
		"message": "it is " + reason, "metadata": map[string]any{"continue": token}})
}

// object returns an object at v1.
func (f *fakeCluster) object(key string) map[string]any {
	namespace, name, _ := strings.Cut(key, "/")
	o := f.objects[key]
	return map[string]any{"apiVersion": "example.com/v1", "kind": "Lamp", "spec": map[string]any{"watts": o.edits},
		"metadata": map[string]any{"namespace": namespace, "name": name, "resourceVersion": strconv.Itoa(o.revision)}}
}

func (f *fakeCluster) list(w http.ResponseWriter, r *http.Request) {
	if limit := r.URL.Query().Get("limit"); limit != "500" {
		f.t.Errorf("limit %s", limit)
	}
	items, token, remaining := []any{}, "", 0
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		switch {
		case key <= r.URL.Query().Get("continue"):
		case len(items) < f.pageSize:
			items, token = append(items, f.object(key)), key
		default:
			remaining++
		}
	}
	if remaining == 0 {
		token = ""
	}
	f.answer(w, http.StatusOK, map[string]any{"apiVersion": "example.com/v1", "kind": "LampList", "items": items,
		"metadata": map[string]any{"continue": token, "remainingItemCount": remaining}})
}

// serveObject reads an object, or updates it and stores it at v1.
func (f *fakeCluster) serveObject(w http.ResponseWriter, r *http.Request, key string) {
	o := f.objects[key]
	if o == nil {
		f.fail(w, http.StatusNotFound, "NotFound", "")
		return
	}
	if r.Method == http.MethodPut {
		var sent struct {
			Metadata struct{ ResourceVersion string }
			Spec     struct{ Watts int }
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			f.t.Error(err)
		}
		if sent.Metadata.ResourceVersion != strconv.Itoa(o.revision) {
			f.fail(w, http.StatusConflict, "Conflict", "")
			return
		}
		if sent.Spec.Watts != o.edits {
			f.t.Errorf("the edit of %s is lost", key)
		}
		f.revision++
		o.version, o.revision = "v1", f.revision
		o.writes++
	}
	f.answer(w, http.StatusOK, f.object(key))
}

func (f *fakeCluster) serveCRD(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		var sent map[string]any
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || !strings.HasSuffix(r.URL.Path, "/lamps.example.com/status") {
			f.t.Errorf("%s %v", r.URL.Path, err)
		}
		was, is := f.crd["metadata"].(map[string]any), sent["metadata"].(map[string]any)
		if was["resourceVersion"] != is["resourceVersion"] {
			f.fail(w, http.StatusConflict, "Conflict", "")
			return
		}
		is["resourceVersion"] = is["resourceVersion"].(string) + "1"
		f.crd = sent
	}
	f.answer(w, http.StatusOK, f.crd)
}

// edit changes an object as another client does, which stores it at v1beta1.
func (f *fakeCluster) edit(key string) {
	f.revision++
	f.objects[key].revision, f.objects[key].version = f.revision, "v1beta1"
	f.objects[key].edits++
}

// onRequest sets before.
func (f *fakeCluster) onRequest(before func(n int, w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

func (f *fakeCluster) storedVersions() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprint(f.crd["status"].(map[string]any)["storedVersions"])
}

// migrate runs the command on the cluster.
func (f *fakeCluster) migrate(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	args = append([]string{"migrate", "--kubeconfig", f.kubeconfig, "lamps.example.com"}, args...)
	code = run(ctx, args, environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, interrupted: ctx.Done()})
	return code, out.String(), errs.String()
}

// checkMigrated checks that all objects are stored at v1, and that each was written so often.
func (f *fakeCluster) checkMigrated(least, most int) {
	f.t.Helper()
	if got := f.storedVersions(); got != "[v1]" {
		f.t.Errorf("stored versions %s", got)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, o := range f.objects {
		if o.version != "v1" || o.writes < least || o.writes > most {
			f.t.Errorf("%s is stored at %s after %d writes", key, o.version, o.writes)
		}
	}
}

// TestMigrateCluster migrates pages of objects, while others edit and delete some.
func TestMigrateCluster(t *testing.T) {
	f := newFakeCluster(t, 25, 10)
	f.onRequest(func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		switch r.Method + " " + r.URL.Path {
		case "PUT /apis/example.com/v1/namespaces/n1/lamps/lamp0003":
			if f.objects["n1/lamp0003"].edits < 2 {
				f.edit("n1/lamp0003")
			}
		case "PUT /apis/example.com/v1/namespaces/n0/lamps/lamp0004":
			delete(f.objects, "n0/lamp0004")
		case "PUT /apis/example.com/v1/namespaces/n1/lamps/lamp0005":
			if o := f.objects["n1/lamp0005"]; o != nil {
				f.edit("n1/lamp0005")
			}
		case "GET /apis/example.com/v1/namespaces/n1/lamps/lamp0005":
			delete(f.objects, "n1/lamp0005")
		}
		return false
	})
	code, stdout, stderr := f.migrate(t.Context(), "--write", "--state", filepath.Join(t.TempDir(), "state"))
	want := "status.storedVersions of lamps.example.com: v1\n25 objects: 23 migrated, 2 deleted in the meantime\n"
	if code != 0 || stdout != "" || stderr != want {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	f.checkMigrated(1, 1)
}

// TestMigrateClusterDryRun prints the objects at the storage version and writes nothing.
func TestMigrateClusterDryRun(t *testing.T) {
	f := newFakeCluster(t, 5, 2)
	f.onRequest(func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		return false
	})
	code, stdout, stderr := f.migrate(t.Context())
	want := "nothing was written: use --write to migrate; then status.storedVersions of lamps.example.com, now v1beta1, v1, becomes v1\n" +
		"5 objects: 5 would be written\n"
	if code != 0 || strings.Count(stdout, "\n") != 5 || strings.Count(stdout, `"apiVersion":"example.com/v1",`) != 5 || stderr != want {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	dir := t.TempDir()
	if code, _, stderr := f.migrate(t.Context(), "--out", dir); code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "Lamp.example.com", "n1", "lamp0003.json")); err != nil || !json.Valid(text) {
		t.Errorf("%s %v", text, err)
	}
}

// TestMigrateClusterErrors keeps the stored versions if an object cannot be written.
func TestMigrateClusterErrors(t *testing.T) {
	f := newFakeCluster(t, 6, 4)
	f.onRequest(func(_ int, w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method != http.MethodPut:
			return false
		case strings.HasSuffix(r.URL.Path, "/lamp0001"):
			f.fail(w, http.StatusUnprocessableEntity, "Invalid", "")
		case strings.HasSuffix(r.URL.Path, "/lamp0002"):
			f.fail(w, http.StatusConflict, "Conflict", "")
		default:
			return false
		}
		return true
	})
	code, _, stderr := f.migrate(t.Context(), "--write")
	want := "status.storedVersions of lamps.example.com stays v1beta1, v1, because not all objects are migrated\n" +
		"Lamp n0/lamp0002: not migrated: it is Conflict\nLamp n1/lamp0001: not migrated: it is Invalid\n" +
		"6 objects: 4 migrated, 2 not migrated\n"
	if code != exitRejected || stderr != want || f.storedVersions() != "[v1beta1 v1]" {
		t.Errorf("exit code %d, stored versions %s\n%s", code, f.storedVersions(), stderr)
	}
}

// TestMigrateClusterInterrupted ends runs at each request and continues them with their state.
func TestMigrateClusterInterrupted(t *testing.T) {
	const objects, pageSize = 7, 3
	whole := newFakeCluster(t, objects, pageSize)
	if code, _, stderr := whole.migrate(t.Context(), "--write"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	whole.mu.Lock()
	requests := whole.requests
	whole.mu.Unlock()
	if requests < objects+3 {
		t.Fatalf("%d requests", requests)
	}
	for _, tc := range []struct {
		name string
		end  func(cancel func(), w http.ResponseWriter, f *fakeCluster, r *http.Request) bool
		most int // writes of an object
	}{
		{"signal", func(cancel func(), _ http.ResponseWriter, _ *fakeCluster, _ *http.Request) bool {
			cancel()
			return false
		}, 1},
		{"unavailable", func(_ func(), w http.ResponseWriter, f *fakeCluster, _ *http.Request) bool {
			f.fail(w, http.StatusServiceUnavailable, "ServiceUnavailable", "")
			return true
		}, 1},
		{"lost response", func(_ func(), _ http.ResponseWriter, f *fakeCluster, r *http.Request) bool {
			if r.Method != http.MethodPut { // client-go sends it again
				return false
			}
			if !strings.HasPrefix(r.URL.Path, cluster.CRDPath) {
				f.serveObject(httptest.NewRecorder(), r, strings.Replace(strings.TrimPrefix(r.URL.Path, "/apis/example.com/v1/namespaces/"), "/lamps/", "/", 1))
			}
			panic(http.ErrAbortHandler)
		}, 2},
	} {
		for at := 1; at <= requests; at++ {
			t.Run(fmt.Sprintf("%s at %d", tc.name, at), func(t *testing.T) {
				f := newFakeCluster(t, objects, pageSize)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				f.onRequest(func(n int, w http.ResponseWriter, r *http.Request) bool {
					return n >= at && tc.end(cancel, w, f, r)
				})
				state := filepath.Join(t.TempDir(), "state")
				code, _, stderr := f.migrate(ctx, "--write", "--state", state)
				if code != exitError && (tc.name != "signal" || code != 0) {
					t.Fatalf("the first run: exit code %d\n%s", code, stderr)
				}
				f.onRequest(nil)
				if code == 0 { // The signal came after the last response. Another run would start again.
					f.checkMigrated(1, tc.most)
					return
				}
				code, _, stderr = f.migrate(t.Context(), "--write", "--state", state)
				if code != 0 || !strings.HasSuffix(stderr, "7 objects: 7 migrated\n") {
					t.Errorf("the second run: exit code %d\n%s", code, stderr)
				}
				f.checkMigrated(1, tc.most)
			})
		}
	}
}

// TestMigrateClusterExpired continues lists whose token expires.
func TestMigrateClusterExpired(t *testing.T) {
	for _, tc := range []struct {
		name, token string // in the error
		args        []string
		code, most  int
		stderr      string
	}{
		{"a new token", "n0/lamp0002", []string{"--write"}, 0, 1, "7 objects: 7 migrated\n"},
		{"no token", "", []string{"--write"}, 0, 2, "7 objects: 7 migrated\n"},
		{"printed", "", nil, exitError, 0, "it is Expired; remove the file of --state to start again"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFakeCluster(t, 7, 2)
			expired := false
			f.onRequest(func(_ int, w http.ResponseWriter, r *http.Request) bool {
				if expired || r.URL.Query().Get("continue") == "" {
					return false
				}
				expired = true
				f.fail(w, http.StatusGone, "Expired", tc.token)
				return true
			})
			code, _, stderr := f.migrate(t.Context(), tc.args...)
			if code != tc.code || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("exit code %d\n%s", code, stderr)
			}
			if tc.code == 0 {
				f.checkMigrated(1, tc.most)
			}
		})
	}
}

// TestMigrateClusterState does not use the state of another migration.
func TestMigrateClusterState(t *testing.T) {
	f := newFakeCluster(t, 3, 2)
	f.onRequest(func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n > 3 {
			f.fail(w, http.StatusServiceUnavailable, "ServiceUnavailable", "")
		}
		return n > 3
	})
	state := filepath.Join(t.TempDir(), "state")
	if code, _, stderr := f.migrate(t.Context(), "--write", "--state", state); code != exitError || !strings.Contains(stderr, "run the command again to continue") {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	f.onRequest(nil)
	f.mu.Lock()
	f.crd["metadata"].(map[string]any)["uid"] = "2"
	f.mu.Unlock()
	code, _, stderr := f.migrate(t.Context(), "--write", "--state", state)
	if code != exitError || !strings.Contains(stderr, `is the state of another migration (the uid of the CRD: "1", now "2")`) {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	// The storage version changes during the migration.
	f.onRequest(func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			for i, storage := range []bool{true, false} {
				f.crd["spec"].(map[string]any)["versions"].([]any)[i].(map[string]any)["storage"] = storage
			}
		}
		return false
	})
	code, _, stderr = f.migrate(t.Context(), "--write")
	if code != exitError || !strings.Contains(stderr, "changed during the migration") || f.storedVersions() != "[v1beta1 v1]" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// TestMigrateClusterRejectsChangedCRD changes the spec of the CRD in a cluster between two runs that print objects.
func TestMigrateClusterRejectsChangedCRD(t *testing.T) {
	f := newFakeCluster(t, 3, 2)
	f.onRequest(func(_ int, w http.ResponseWriter, r *http.Request) bool {
		second := r.URL.Query().Get("continue") != ""
		if second {
			f.fail(w, http.StatusForbidden, "Forbidden", "")
		}
		return second
	})
	state := filepath.Join(t.TempDir(), "state")
	const done = "2 objects done: run the command again to continue"
	if code, _, stderr := f.migrate(t.Context(), "--state", state); code != exitError || !strings.Contains(stderr, done) {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	f.onRequest(nil)
	change := func(part, field string, value any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.crd[part].(map[string]any)[field] = value
	}
	names := map[string]any{"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList"}
	change("spec", "names", names)
	code, stdout, stderr := f.migrate(t.Context(), "--state", state)
	if code != exitError || stdout != "" || !strings.HasSuffix(stderr, "remove "+state+" to start again\n") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	// Metadata does not matter.
	delete(names, "listKind")
	change("metadata", "resourceVersion", "9")
	if code, _, stderr := f.migrate(t.Context(), "--state", state); code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
