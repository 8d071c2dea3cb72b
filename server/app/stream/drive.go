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
)

// named marks where the name of an object goes.
const named = "NAME-OF-THE-OBJECT"

// template is the sample object as JSON, cut in two where its name goes.
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
	metadata["name"] = named
	if text, err = yaml.Marshal(object); err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	before, after, _ = bytes.Cut(text, []byte(named))
	return before, after, err
}

// items yields n objects, each of another name.
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

// drive streams each of the lengths, and judges the memory that it took.
func drive(ctx context.Context, s settings, to *server) error {
	before, after, err := template(s.object)
	if err != nil {
		return err
	}
	var failed error
	for _, n := range s.lengths {
		begin := time.Now()
		answered := 0
		for r, err := range to.client.AdmitStream(ctx, items(n, before, after), crdeval.AdmitOptions{}) {
			switch {
			case err != nil:
				return err
			case !r.Allowed():
				return errors.Join(fmt.Errorf("object %d is not allowed: %v", answered, r.Verdict), r.Err)
			case !bytes.Contains(r.Object(), strconv.AppendInt([]byte(`"c`), int64(answered), 10)):
				return fmt.Errorf("object %d is answered by %s", answered, r.Object())
			}
			answered++
		}
		rate := float64(answered) / time.Since(begin).Seconds()
		if answered != n {
			return fmt.Errorf("%d of %d objects were answered", answered, n)
		}
		client, err := most(os.Getpid())
		if err != nil {
			return err
		}
		server, err := most(to.command.Process.Pid)
		if err != nil {
			return err
		}
		fmt.Printf("stream/crontab  %d objects  ours %.0f objects/s  bar %.0f objects/s  client %s server %s together %s  bar %s  GOMAXPROCS=%d\n",
			n, rate, barRate, mebibytes(client), mebibytes(server), mebibytes(client+server), mebibytes(barMemory), runtime.GOMAXPROCS(0))
		if client+server > barMemory {
			failed = errors.Join(failed, fmt.Errorf("%d objects took %s, which is more than %s", n, mebibytes(client+server), mebibytes(barMemory)))
		}
	}
	return failed
}

func mebibytes(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
