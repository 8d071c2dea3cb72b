package gateway

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	kubejson "sigs.k8s.io/json"
)

// FuzzReadConversion: a body is read as encoding/json reads it, and its objects are slices of it. Only errors in objects
// are not found.
func FuzzReadConversion(f *testing.F) {
	const review = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":"e.com/v1","objects":[{"a":[1,"]"]}, {}]}}`
	f.Add([]byte(review))
	f.Add([]byte(strings.Replace(review, `[{"a":[1,"]"]}, {}]`, `null`, 1)))
	f.Add([]byte(strings.Replace(review, `"uid":"u"`, `"objects":[1e400,tru],"x":{"y":[0]},"uid":"\u00e4\\"`, 1)))
	f.Add([]byte(strings.Replace(review, `"request":`, `"request":{},"response":null,"request":`, 1)))
	f.Add([]byte(review[:len(review)-9]))
	f.Add([]byte(strings.Replace(review, `{}`, strings.Repeat(`[`, 100), 1)))
	f.Add([]byte(strings.Replace(review, `{}`, "\"\xff\"", 1)))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := readConversion(body)
		if err != nil {
			return
		}
		if r.UID == "" || r.DesiredAPIVersion == "" || !strings.HasPrefix(r.APIVersion, "apiextensions.k8s.io/v1") {
			t.Errorf("%+v", r)
		}
		valid := true
		for _, o := range r.Objects {
			valid = valid && json.Valid(o)
		}
		if !valid {
			return
		}
		var want struct {
			Kind, APIVersion string
			Request          struct {
				UID               string            `json:"uid"`
				DesiredAPIVersion string            `json:"desiredAPIVersion"`
				Objects           []json.RawMessage `json:"objects"`
			} `json:"request"`
		}
		if err := kubejson.UnmarshalCaseSensitivePreserveInts(body, &want); err != nil {
			t.Fatal(err)
		}
		if r.UID != want.Request.UID || r.DesiredAPIVersion != want.Request.DesiredAPIVersion || len(r.Objects) != len(want.Request.Objects) {
			t.Fatalf("%+v, want %+v", r, want)
		}
		for i, o := range r.Objects {
			if !bytes.Equal(o, want.Request.Objects[i]) {
				t.Errorf("objects[%d]: %q, want %q", i, o, want.Request.Objects[i])
			}
		}
	})
}

// TestReadConversionAllocations: objects are not copied.
func TestReadConversionAllocations(t *testing.T) {
	review := []byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":"e.com/v1","objects":[{}` +
		strings.Repeat(`,{"kind":"X"}`, 1000) + `]}}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := readConversion(review); err != nil {
			t.Fatal(err)
		}
	}); n > 30 {
		t.Errorf("%v allocations for 1,001 objects", n)
	}
}
