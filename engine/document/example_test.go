package document_test

import (
	"fmt"
	"log"

	"github.com/crdeval/crdeval/engine/document"
)

// A manifest in YAML becomes the JSON that a client sends, and its values keep their positions.
func Example() {
	text := document.NewText([]byte("kind: Job\nspec:\n  replicas: 3.0\n  suspend: on # now\n"), document.Position{})
	y, err := document.ReadYAML(text, document.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", y.JSON())

	r, _ := y.Range("/spec/suspend")
	at := text.Position(r.Value.Begin)
	fmt.Printf("line %d, column %d: %s\n", at.Line, at.Column, text.Bytes()[r.Value.Begin:r.Value.End])

	err = document.Read(y.JSON(), document.Limits{}, func(root document.Value) error {
		fmt.Println(root.Field("spec").Any())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"kind":"Job","spec":{"replicas":3,"suspend":true}}
	// line 4, column 12: on
	// map[replicas:3 suspend:true]
}

func ExampleJSONPatch() {
	patch, err := document.JSONPatch(
		[]byte(`{"kind":"Job","spec":{"suspend":true,"image":"example.com/job:1.2.3"}}`),
		[]byte(`{"kind":"Job","spec":{"suspend":false,"image":"example.com/job:1.2.3"}}`),
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", patch)
	// Output: [{"op":"replace","path":"/spec/suspend","value":false}]
}
