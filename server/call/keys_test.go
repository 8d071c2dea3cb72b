package call_test

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestContextKeys checks that packages of the server read a call with Of, and add no values of their own to its context.
func TestContextKeys(t *testing.T) {
	allowed := []string{
		"call/call.go: key{}",                  // the call
		"conversion/client.go: batchKey{}",     // a call of a webhook, for the batch that shares it
		"conversion/load.go: batchKey{}",       // a batch, of which a stream has many
		"registry/etcd/failures.go: sentKey{}", // a request to etcd, for the interceptor of its client
		"access/issuer.go: checkKey{}",         // a verification, for a callback of go-oidc without parameters for it
	}
	value := regexp.MustCompile(`context\.WithValue\([^,]*(?:\([^)]*\))?[^,]*, ([\w.]+(?:\{\})?)`)
	var found []string
	server := os.DirFS("..")
	err := fs.WalkDir(server, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "loadtest/") {
			return err
		}
		text, err := fs.ReadFile(server, path)
		if n := strings.Count(string(text), "context.WithValue("); n != len(value.FindAll(text, -1)) {
			t.Errorf("%s: a key is not found", path)
		}
		for _, key := range value.FindAllSubmatch(text, -1) {
			found = append(found, path+": "+string(key[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(allowed)
	slices.Sort(found)
	if !slices.Equal(found, allowed) {
		t.Errorf("values of contexts: %q, want %q: add a field to call.Call instead", found, allowed)
	}
}
