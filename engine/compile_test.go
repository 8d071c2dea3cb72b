package engine

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// What is stored of a CRD gives the same Definition again, and what it is stored as does not depend on how it was
// written.
func TestCompileStored(t *testing.T) {
	ctx := context.Background()
	for name, o := range map[string]Options{"latest": {}, "1.30": {Kubernetes: "1.30"}} {
		first, _, err := Compile(ctx, JSON([]byte(cronTabCRD)), o)
		if err != nil {
			t.Fatal(name, err)
		}
		again, err := compileStored(ctx, first.Manifest(), o)
		if err != nil {
			t.Fatal(name, err)
		}
		if again.Revision() != first.Revision() || !bytes.Equal(again.Manifest(), first.Manifest()) || again.Size() != first.Size() {
			t.Errorf("%s: %s of %d bytes, was %s of %d", name, again.Revision(), again.Size(), first.Revision(), first.Size())
		}
	}
	written := mustCompile(t, strings.Replace(cronTabCRD, `"default":1`, `"default": 1.0`, 1))
	if got := mustCompile(t, cronTabCRD); got.Revision() != written.Revision() {
		t.Error("1.0 is stored as 1, and makes another revision")
	}
	old, _, err := Compile(ctx, JSON([]byte(cronTabCRD)), Options{Kubernetes: "1.30"})
	if err != nil || old.Revision() == written.Revision() {
		t.Error("another minor means something else, and makes the same revision")
	}

	_, err = compileStored(ctx, []byte("{"), Options{})
	if e := (*Error)(nil); !errors.As(err, &e) || e.Reason != ReasonManifestUnreadable || !strings.HasPrefix(e.Message, "stored CRD: ") {
		t.Errorf("broken: %v", err)
	}
	if _, err = compileStored(ctx, written.Manifest(), Options{Kubernetes: "1.24"}); ReasonOf(err) != ReasonInvalidArgument {
		t.Errorf("1.24: %v", err)
	}
}

// Defaults within defaults can make much of a small CRD.
func TestCompileIsBounded(t *testing.T) {
	crd := strings.Replace(cronTabCRD, `"image":{"type":"string"}`, `"list":{"type":"array","default":[{}`+strings.Repeat(",{}", 300)+
		`],"items":{"type":"object","properties":{"a":{"type":"string","default":"`+strings.Repeat("x", 100_000)+`"}}}}`, 1)
	_, _, err := Compile(context.Background(), JSON([]byte(crd)), Options{})
	if e := (*Error)(nil); !errors.As(err, &e) || e.Reason != ReasonLimitExceeded || e.Limit == 0 || !strings.Contains(e.Message, "CRD crontabs.stable.example.com, version v1: ") {
		t.Errorf("%v", err)
	}
}
