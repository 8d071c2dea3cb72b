package page

import (
	"embed"
	"fmt"
	"path"

	"sigs.k8s.io/yaml"
)

//go:embed examples/*.yaml
var exampleFiles embed.FS

// exampleIDs lists the examples in their order. examples/ID.yaml has the other fields.
var exampleIDs = []string{
	"defaults", "ratcheting", "transition", "cost", "map-list", "int-or-string", "quantity", "one-of",
}

// Examples returns the examples of the page.
func Examples() []Example {
	list := make([]Example, 0, len(exampleIDs))
	for _, id := range exampleIDs {
		e, err := readExample(id)
		if err != nil {
			panic(err) // the files are compiled in, and a test reads all
		}
		list = append(list, e)
	}
	return list
}

func readExample(id string) (e Example, err error) {
	text, err := exampleFiles.ReadFile(path.Join("examples", id+".yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &e)
	}
	if err != nil {
		return e, fmt.Errorf("example %s: %w", id, err)
	}
	e.ID = id
	return e, nil
}
