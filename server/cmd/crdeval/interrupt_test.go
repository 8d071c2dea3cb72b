package main

import (
	"bytes"
	"context"
	"testing"
)

// cancelingReader is an endless input that interrupts the command at its third read.
type cancelingReader struct {
	cancel func()
	reads  int
}

func (r *cancelingReader) Read(p []byte) (int, error) {
	if r.reads++; r.reads == 3 {
		r.cancel()
	}
	return len(p), nil
}

// TestInterruptedInput interrupts commands that read an endless input. They end without a further result.
func TestInterruptedInput(t *testing.T) {
	for _, args := range [][]string{{"admit", "-"}, {"admit", "--crds", "-", "-R", "testdata/boats.yaml"}, {"check", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		in := &cancelingReader{cancel: cancel}
		var stdout, stderr bytes.Buffer
		code := run(ctx, args, environment{stdin: in, stdout: &stdout, stderr: &stderr, interrupted: ctx.Done()})
		if code != exitError || !bytes.Contains(append(stdout.Bytes(), stderr.Bytes()...), []byte("interrupted")) || in.reads > 4 {
			t.Errorf("%v: %d %s %s after %d reads", args, code, &stdout, &stderr, in.reads)
		}
	}
}
