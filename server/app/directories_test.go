package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// ready waits until a server says so.
func (r *running) ready(t *testing.T) {
	t.Helper()
	r.fetchUntil(t, "/readyz", http.StatusOK, "")
}

// A server is ready when its directories are loaded, has what is in them then, and follows their changes.
func TestDirectoriesOfCRDs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "crontabs.yaml")
	put := func(content string) {
		t.Helper()
		for _, err := range []error{os.WriteFile(path+".new", []byte(content), 0o600), os.Rename(path+".new", path)} { // atomically
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	put(crontabs)
	r := start(t, "--crds="+dir, "--crds-catalog=files")
	r.ready(t)
	rest := r.HTTPAddresses()[0]
	if code, body := fetch(t, rest, http.MethodGet, "/v1/catalogs/files/crds/crontabs.stable.example.com", "", ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	put(crontabs + "\n---\nnot: [yaml\n")
	metrics := func(words ...string) {
		t.Helper()
		for _, w := range words {
			r.fetchUntil(t, "/metrics", http.StatusOK, w+"\n")
		}
	}
	metrics("crdeval_directory_broken 1", "crdeval_directory_crds 1", `crdeval_registrations_total{outcome="created",subject="crd"} 1`)
	put(strings.Replace(crontabs, "maximum: 10", "maximum: 11", 1))
	metrics("crdeval_directory_broken 0", `crdeval_registrations_total{outcome="updated",subject="crd"} 1`)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	metrics("crdeval_directory_crds 0")
	if code, body := fetch(t, rest, http.MethodGet, "/v1/catalogs/files/crds/crontabs.stable.example.com", "", ""); code != http.StatusNotFound {
		t.Errorf("%d %s", code, body)
	}
	operations, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"crdeval_directory_files", "crdeval_directory_broken", "crdeval_directory_crds", "crdeval_directory_last_success_seconds"} {
		if !strings.Contains(string(operations), "`"+name+"`") {
			t.Errorf("docs/operations.md does not explain %s", name)
		}
	}
}

func TestADirectoryThatIsMissing(t *testing.T) {
	c, err := Defaults("--grpc-address=127.0.0.1:0", "--http-address=off", "--store=memory", "--crds=/does/not/exist")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), c, Build{}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "/does/not/exist cannot be read") {
		t.Errorf("got %v", err)
	}
}

// A watch does not delay the shutdown and ends with a reason.
func TestWatchesEndWhenTheServerDrains(t *testing.T) {
	r := start(t)
	r.ready(t)
	watch, err := crdevalv1.NewRegistryServiceClient(r.conn(t)).WatchCrds(t.Context(), &crdevalv1.WatchCrdsRequest{Catalog: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := watch.Recv(); err != nil || first.GetType() != crdevalv1.WatchEventType_WATCH_EVENT_TYPE_SYNCED {
		t.Fatalf("%v, %v", first, err)
	}
	if _, body := fetch(t, r.HTTPAddresses()[0], http.MethodGet, "/metrics", "", ""); !strings.Contains(body, "crdeval_registry_watches 1\n") {
		t.Error("the watch is not among the metrics")
	}
	if err := r.stop(); err != nil { // --drain-timeout would abort the watch
		t.Error(err)
	}
	if _, err := watch.Recv(); status.Code(err) != codes.Unavailable || !strings.Contains(fmt.Sprint(err), "shutting down") {
		t.Errorf("the watch ended with %v", err)
	}
}
