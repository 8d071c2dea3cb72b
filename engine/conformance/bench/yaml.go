package bench

import (
	"fmt"
	"runtime"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// readObject compares parses of the object in YAML.
func readObject(o Options, name string, obj *object) (string, error) {
	return readYAML(o, name, obj.body)
}

// readCRD compares parses of the object's CRD in YAML.
func readCRD(o Options, name string, obj *object) (string, error) { return readYAML(o, name, obj.text) }

// readYAML compares parses of a document, given in JSON, on one core.
func readYAML(o Options, name string, json []byte) (string, error) {
	text, err := kubectlYAML(json)
	if err != nil {
		return "", err
	}
	if json, err = yaml.YAMLToJSONStrict(text); err != nil {
		return "", err
	}
	d := tree.Acquire()
	defer d.Release()
	parse := func() error {
		d.Reset()
		_, err := d.ParseYAML(text, tree.Request, tree.Limits{})
		return err
	}
	if err := parse(); err != nil {
		return "", err
	}
	if got := string(d.AppendCanonical(nil, d.Root(tree.Request))); got != string(json) {
		return "", fmt.Errorf("ours is %s, upstream's %s", got, json)
	}
	last := lastValue(d)
	ours, upstream, err := compare(o, parse, func() error {
		_, err := yaml.YAMLToJSONStrict(text)
		return err
	})
	if err != nil {
		return "", err
	}
	again, plain, err := compare(o, parse, func() error {
		d.Reset()
		_, err := d.ParseJSON(json, tree.Limits{})
		return err
	})
	if err != nil {
		return "", err
	}
	located, _, err := compare(o, func() error {
		err := parse()
		if d.PositionAt(last).Line == 0 {
			return fmt.Errorf("%s has no position", last)
		}
		return err
	}, parse)
	line, procs, _ := strings.Cut(timeLine(name, ours, upstream, runtime.GOMAXPROCS(0)), "  GOMAXPROCS")
	return fmt.Sprintf("%s  json %s ms ratio %.2f  position %s ms  GOMAXPROCS%s", line,
		milliseconds(plain.seconds), again.seconds/plain.seconds, milliseconds(located.seconds), procs), err
}

// lastValue returns the path of the last value of the document.
func lastValue(d *tree.Doc) (p tree.Path) {
	for node := d.Root(tree.Request); d.Nodes[node].First != 0; {
		parent := d.Nodes[node].Kind
		for node = d.Nodes[node].First; d.Nodes[node].Next != 0; {
			node = d.Nodes[node].Next
		}
		if parent == tree.Array {
			p = append(p, tree.At(int(d.Nodes[node].Key)))
		} else {
			p = append(p, tree.Name(string([]byte(d.Key(node)))))
		}
	}
	return p
}
