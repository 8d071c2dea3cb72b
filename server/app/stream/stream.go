package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"strconv"
	"time"

	"sigs.k8s.io/yaml"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/app/childserver"
)

// namePlaceholder marks the position of the name in the template.
const namePlaceholder = "NAME-OF-THE-OBJECT"

// template returns the sample object as JSON, split at its name.
func template(path string) (before, after []byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("%s has no metadata", path)
	}
	metadata["name"] = namePlaceholder
	if text, err = yaml.Marshal(object); err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	before, after, _ = bytes.Cut(text, []byte(namePlaceholder))
	return before, after, err
}

// items yields n objects with different names.
func items(n int, before, after []byte) iter.Seq[*crdevalv1.EvaluationItem] {
	return func(yield func(*crdevalv1.EvaluationItem) bool) {
		for i := range n {
			text := make([]byte, 0, len(before)+len(after)+8)
			text = strconv.AppendInt(append(append(text, before...), 'c'), int64(i), 10)
			text = append(text, after...)
			if !yield(&crdevalv1.EvaluationItem{Object: crdeval.Document(text)}) {
				return
			}
		}
	}
}

// stream streams each number of objects and checks the memory.
func stream(ctx context.Context, s settings, server *childserver.Server) error {
	manifest, err := os.ReadFile(s.crd)
	if err != nil {
		return err
	}
	if _, err := server.Client.RegisterCRD(ctx, manifest); err != nil {
		return err
	}
	before, after, err := template(s.object)
	if err != nil {
		return err
	}
	var failed error
	for _, n := range s.lengths {
		begin := time.Now()
		answered := 0
		for r, err := range server.Client.AdmitStream(ctx, items(n, before, after), crdeval.AdmitOptions{}) {
			switch {
			case err != nil:
				return err
			case !r.Allowed():
				return errors.Join(fmt.Errorf("object %d is not allowed: %v", answered, r.Verdict), r.Err)
			case !bytes.Contains(r.Object(), strconv.AppendInt([]byte(`"c`), int64(answered), 10)):
				return fmt.Errorf("the result for object %d is %s", answered, r.Object())
			}
			answered++
		}
		rate := float64(answered) / time.Since(begin).Seconds()
		if answered != n {
			return fmt.Errorf("%d results for %d objects", answered, n)
		}
		own, err := childserver.Memory(os.Getpid(), "VmHWM")
		if err != nil {
			return err
		}
		of, err := server.Memory("VmHWM")
		if err != nil {
			return err
		}
		fmt.Printf("stream/crontab  %d objects  ours %.0f objects/s  bar %.0f objects/s  client %s server %s together %s  bar %s  GOMAXPROCS=%d\n",
			n, rate, targetRate, childserver.MiB(own), childserver.MiB(of), childserver.MiB(own+of), childserver.MiB(maxMemory), runtime.GOMAXPROCS(0))
		if own+of > maxMemory {
			failed = errors.Join(failed, fmt.Errorf("%d objects took more memory than %s", n, childserver.MiB(maxMemory)))
		}
	}
	return failed
}
