package load

import (
	"bytes"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine/testenv"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

const (
	targetRate      = 1_000_000.0 / 60 // objects per second with two cores for client and server
	maxStreamMemory = 200 << 20        // resident bytes of client and server together
)

var lengths = flag.String("lengths", "20000,100000", "comma-separated numbers of objects, one for each stream")

// TestStream streams CronTabs through AdmitStream. The results are in order, and memory does not grow with the length of
// the stream.
func TestStream(t *testing.T) {
	testenv.E2E(t)
	t.Setenv("GOMAXPROCS", "2") // of the server: more cores use more memory
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	dir := t.TempDir()
	s := start(t, build(t, dir), dir, "--store=memory")
	manifest, err := os.ReadFile(filepath.Join(samplesDir, "crds", "crontabs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RegisterCRD(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets VmHWM
		t.Fatal(err)
	}
	before, after := template(t, filepath.Join(samplesDir, "objects", "crontab-valid.yaml"))
	for text := range strings.SplitSeq(*lengths, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal("-lengths: ", err)
		}
		begin, received := time.Now(), 0
		for r, err := range s.AdmitStream(t.Context(), items(n, before, after), crdeval.AdmitOptions{}) {
			if err != nil || r.Err != nil || !r.Allowed() {
				t.Fatalf("object %d is not allowed: %v, %v", received, err, r)
			}
			if !bytes.Contains(r.Object(), strconv.AppendInt([]byte(`"c`), int64(received), 10)) {
				t.Fatalf("the result for object %d is %s", received, r.Object())
			}
			received++
		}
		rate := float64(received) / time.Since(begin).Seconds()
		if received != n {
			t.Fatalf("%d results for %d objects", received, n)
		}
		client, served := memory(t, os.Getpid(), "VmHWM"), s.peak(t)
		fmt.Printf("stream/crontab  %d objects  ours %.0f objects/s  bar %.0f objects/s  client %s server %s together %s  bar %s  GOMAXPROCS=%d\n",
			n, rate, targetRate, mib(client), mib(served), mib(client+served), mib(maxStreamMemory), runtime.GOMAXPROCS(0))
		if client+served > maxStreamMemory {
			t.Errorf("%d objects took more memory than %s", n, mib(maxStreamMemory))
		}
	}
}

// namePlaceholder marks the position of the name in the template.
const namePlaceholder = "NAME-OF-THE-OBJECT"

// template returns the object of a file as JSON, split at its name.
func template(t *testing.T, path string) (before, after []byte) {
	t.Helper()
	var object map[string]any
	read(t, path, &object)
	object["metadata"].(map[string]any)["name"] = namePlaceholder
	text, err := yaml.Marshal(object)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ = bytes.Cut(text, []byte(namePlaceholder))
	return before, after
}

// items yields n objects with different names.
func items(n int, before, after []byte) iter.Seq[*crdevalv1.WriteItem] {
	return func(yield func(*crdevalv1.WriteItem) bool) {
		for i := range n {
			text := make([]byte, 0, len(before)+len(after)+8)
			text = strconv.AppendInt(append(append(text, before...), 'c'), int64(i), 10)
			text = append(text, after...)
			if !yield(&crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: crdeval.Document(text)}}}) {
				return
			}
		}
	}
}
