package kubeserver

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestTablePrinter: a table without a compiled publish.CRD has the columns, the rows in order, and the objects that the caller
// appends.
func TestTablePrinter(t *testing.T) {
	p := NewTablePrinter(&apiextensionsv1.CustomResourceDefinitionVersion{
		AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Size", Type: "integer", JSONPath: ".spec.size"}},
	})
	objects := []engine.Document{engine.JSON([]byte(`{"metadata":{"name":"a"},"spec":{"size":2}}`)), engine.JSON([]byte(`{"metadata":{"name":"b"}}`))}
	o := publish.TableOptions{ResourceVersion: "7", NoHeaders: true, Now: time.Now()}
	text, err := p.Print(t.Context(), objects, o, func(dst []byte, i int) ([]byte, error) { return append(dst, "01"[i]), nil })
	if err != nil || !strings.HasSuffix(string(text), `"rows":[{"cells":["a",2],"object":0},{"cells":["b",null],"object":1}]}`) ||
		!strings.Contains(string(text), `"resourceVersion":"7"`) {
		t.Errorf("%s, %v", text, err)
	}
	if text, err = p.Print(t.Context(), objects[:1], o, nil); !strings.HasSuffix(string(text), `"rows":[{"cells":["a",2],"object":null}]}`) {
		t.Errorf("%s, %v", text, err)
	}
	if _, err = p.Print(t.Context(), []engine.Document{engine.JSON([]byte(`{`))}, o, nil); engine.ReasonOf(err) != engine.ReasonObjectUnreadable {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = p.Print(ctx, objects, o, nil); engine.ReasonOf(err) != engine.ReasonItemDeadline {
		t.Error(err)
	}
}

// TestTablePrinterReserve: long rows at the start do not reserve memory for many short ones.
func TestTablePrinterReserve(t *testing.T) {
	const rows, long = 5000, 256 << 10
	objects := make([]engine.Document, rows)
	for i := range objects {
		objects[i] = engine.JSON([]byte(`{"metadata":{"name":"a"}}`))
	}
	p := NewTablePrinter(&apiextensionsv1.CustomResourceDefinitionVersion{})
	text, err := p.Print(t.Context(), objects, publish.TableOptions{}, func(dst []byte, i int) ([]byte, error) {
		if i < sampledRows {
			return append(dst, strings.Repeat("0", long)...), nil
		}
		return append(dst, '0'), nil
	})
	if err != nil || strings.Count(string(text), `"cells"`) != rows {
		t.Fatal(len(text), err)
	}
	if most := 2*len(text) + maxReserved; cap(text) > most {
		t.Errorf("%d bytes of capacity for %d bytes; at most %d expected", cap(text), len(text), most)
	}
}
