package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// endingReader calls a function when it is read to its end.
type endingReader struct {
	io.Reader
	atEnd func()
}

func (r *endingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.atEnd()
	}
	return n, err
}

// TestInterruptedStart interrupts commands before CRDs are registered, and while the laws of rules are tested.
func TestInterruptedStart(t *testing.T) {
	t.Chdir("testdata")
	fewer := testedObjects
	testedObjects = 1e9 // only the interruption ends the tests
	defer func() { testedObjects = fewer }()
	rules, err := os.ReadFile("convert-rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"migrate convert-objects.yaml --crds convert-crd.yaml --crds -",
		"migrate convert-objects.yaml --crds convert-crd.yaml --crds - --crd lamps.example.com",
		"convert convert-objects.yaml --crds convert-crd.yaml --crds - --to v1",
	} {
		for _, after := range []time.Duration{0, 200 * time.Millisecond} {
			t.Run(command+" "+after.String(), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stdin := &endingReader{bytes.NewReader(rules), cancel}
				if after > 0 {
					stdin.atEnd = func() { time.AfterFunc(after, cancel) }
				}
				var out, errs bytes.Buffer
				code := run(ctx, strings.Fields(command), environment{stdin: stdin, stdout: &out, stderr: &errs})
				if code != exitError || out.Len() > 0 || errs.String() != "crdeval: interrupted\n" {
					t.Errorf("exit code %d\n%s%s", code, &out, &errs)
				}
			})
		}
	}
}
