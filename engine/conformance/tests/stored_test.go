package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/testenv"
)

var (
	groups = flag.Int("groups", testenv.Volume(10), "CRDs per generator")
	seed   = flag.Uint64("seed", 1, "seed of the generators")
)

func TestAgainstReference(t *testing.T) {
	generators := []struct {
		name string
		make func(generate.Rand) generate.Group
	}{{"random", generate.Random}, {"metadata", generate.Metadata}, {"edges", generate.Edges}}
	objects, failures := 0, 0
	for _, g := range generators {
		for n := range *groups {
			group := g.make(generate.New(g.name, *seed, uint64(n)))
			crd := withSecondVersion(group.CRD)
			registered, answer := oracle.Register(crd, false)
			if registered == nil || !answer.Accepted() {
				continue
			}
			theirs, err := oracle.Compile(registered)
			if err != nil {
				continue
			}
			ours, err := kubeserver.CompileStored(context.Background(), crd, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, request := range group.Objects {
				if request.YAML {
					continue
				}
				objects++
				for _, diff := range compareStored(theirs, ours, request.Body) {
					if failures++; failures < 12 {
						t.Errorf("%s %d\ncrd %s\nobject %s\n%s", g.name, n, short(crd), request.Body, diff)
					}
				}
			}
		}
	}
	t.Logf("%d objects, %d disagreements", objects, failures)
}

func short(text []byte) string {
	if len(text) > 700 {
		return string(text[:700]) + "…"
	}
	return string(text)
}

// withSecondVersion adds v2 with the same schema without its first property, so that there is something to convert.
func withSecondVersion(crd []byte) []byte {
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(crd))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return crd
	}
	spec, _ := m["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	if len(versions) != 1 {
		return crd
	}
	text, _ := json.Marshal(versions[0])
	var second map[string]any
	d = json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&second) != nil {
		return crd
	}
	second["name"], second["storage"] = "v2", false
	schema, _ := second["schema"].(map[string]any)
	root, _ := schema["openAPIV3Schema"].(map[string]any)
	properties, _ := root["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	sort.Strings(names)
	if len(names) > 1 {
		delete(properties, names[0])
	}
	spec["versions"] = append(versions, second)
	out, _ := json.Marshal(m)
	return out
}

// validText returns the text of an error as in a Status: JSON replaces each invalid byte of UTF-8 by U+FFFD.
func validText(err error) string { return string([]rune(err.Error())) }

func compareStored(theirs *oracle.Definition, ours *engine.Definition, body []byte) (diffs []string) {
	ctx, object := context.Background(), engine.JSON(body)
	one := func(what string, object []byte, theirErr error, got *engine.Transformed, err error) bool {
		switch {
		case errors.Is(theirErr, oracle.ErrNoMetadata):
		case (theirErr == nil) != (err == nil):
			diffs = append(diffs, fmt.Sprintf("%s: upstream %v, ours %v", what, theirErr, err))
		case err != nil:
			if validText(err) != validText(theirErr) && !unordered(theirErr) {
				diffs = append(diffs, fmt.Sprintf("%s: upstream %q, ours %q", what, theirErr.Error(), err.Error()))
			}
		case canonical(object) != canonical(got.Object):
			diffs = append(diffs, fmt.Sprintf("%s:\nupstream %s\nours     %s", what, canonical(object), canonical(got.Object)))
		case !got.Changed && canonical(object) != canonical(body):
			diffs = append(diffs, what+": the object is reported as unchanged")
		default:
			return true
		}
		return false
	}
	for _, target := range []string{"v1", "v2", "v9"} {
		theirObject, theirErr := theirs.Stored(body, target)
		got, err := ours.Read(ctx, object, engine.ReadOptions{TargetVersion: target})
		one("read at "+target, theirObject, theirErr, got, err)
		theirObject, theirErr = theirs.Converted(body, target)
		got, err = ours.Convert(ctx, object, target, engine.TransformOptions{})
		one("convert to "+target, theirObject, theirErr, got, err)
	}
	version, _, _ := strings.Cut(string(peek(body)), "\x00")
	if !strings.HasPrefix(version, ours.Group()+"/v") {
		return diffs
	}
	version = strings.TrimPrefix(version, ours.Group()+"/")
	if version != "v1" && version != "v2" {
		return diffs
	}
	theirObject, unknown, theirErr := theirs.Pruned(body, version)
	got, err := ours.Prune(ctx, object, engine.TransformOptions{})
	if one("prune", theirObject, theirErr, got, err) && err == nil {
		var paths []string
		for _, c := range got.Pruned {
			paths = append(paths, c.Path)
		}
		if strings.Join(paths, "\n") != strings.Join(unknown, "\n") {
			diffs = append(diffs, fmt.Sprintf("pruned: upstream %q, ours %q", unknown, paths))
		}
	}
	theirObject, theirErr = theirs.Defaulted(body, version)
	got, err = ours.Default(ctx, object, engine.TransformOptions{})
	one("default", theirObject, theirErr, got, err)
	return diffs
}

// unordered: for two broken embedded resources upstream reports either.
func unordered(err error) bool { return strings.Contains(err.Error(), "Invalid value") }

func peek(body []byte) []byte {
	version, kind, _ := engine.JSON(body).TypeMeta(engine.Limits{})
	return []byte(version + "\x00" + kind)
}
