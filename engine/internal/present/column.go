package present

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/value"
)

// Columns are the columns of a version's tables, compiled. They are immutable; any number of goroutines share them.
type Columns struct {
	headers []metav1.TableColumnDefinition
	// columns are those behind the name.
	columns []column
	// fault is why there can be no rows, nil mostly: a *value.LimitError.
	fault error
	// ranges: a column's path has a range, so rows depend on those before them.
	ranges bool
}

// column is one column behind the name.
type column struct {
	name string
	kind columnKind
	path *path
}

// columnKind is the type of a column.
type columnKind uint8

// The types of columns. Registration takes no other.
const (
	otherColumn columnKind = iota
	integerColumn
	numberColumn
	stringColumn
	booleanColumn
	dateColumn
)

var columnKinds = map[string]columnKind{
	"integer": integerColumn, "number": numberColumn, "string": stringColumn, "boolean": booleanColumn, "date": dateColumn,
}

// descriptions are those of the fields of ObjectMeta, which describe the columns Name and Age.
var descriptions = metav1.ObjectMeta{}.SwaggerDoc()

// CompileColumns compiles the additional printer columns of a version: a column Name comes before them, and if there are none a column Age behind
// it. A column whose JSONPath cannot be parsed is left out, and so are all behind it, as a server does.
//
// Upstream: apiextensions-apiserver pkg/registry/customresource/tableconvertor New, pkg/apiserver/helpers.go.
func CompileColumns(additional []apiextensionsv1.CustomResourceColumnDefinition) *Columns {
	if len(additional) == 0 {
		additional = []apiextensionsv1.CustomResourceColumnDefinition{
			{Name: "Age", Type: "date", Description: descriptions["creationTimestamp"], JSONPath: ".metadata.creationTimestamp"},
		}
	}
	c := &Columns{headers: []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: descriptions["name"]}}}
	for i := range additional {
		a := &additional[i]
		if n := len(a.JSONPath); n > maxPath {
			c.fault = &value.LimitError{Limit: fmt.Sprintf("JSONPath of the column %q", a.Name), Unit: "bytes", Maximum: maxPath, Actual: int64(n),
				Advice: "shorten the path in the CRD's additionalPrinterColumns"}
			break
		}
		p, err := parsePath(a.Name, a.JSONPath)
		if err != nil {
			break
		}
		description := a.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + a.JSONPath
		}
		c.headers = append(c.headers, metav1.TableColumnDefinition{
			Name: a.Name, Type: a.Type, Format: a.Format, Description: description, Priority: a.Priority,
		})
		c.columns = append(c.columns, column{name: a.Name, kind: columnKinds[a.Type], path: p})
		c.ranges = c.ranges || p.ranges
	}
	c.headers, c.columns = slices.Clip(c.headers), slices.Clip(c.columns)
	return c
}

// Headers describe the columns, the name first. The caller must not change them.
func (c *Columns) Headers() []metav1.TableColumnDefinition { return c.headers }

// Size is what the columns retain, in bytes, roughly.
func (c *Columns) Size() int64 {
	const columnsSize, headerSize, columnSize = 96, 72, 40
	n := int64(columnsSize)
	for i := range c.headers {
		h := &c.headers[i]
		n += headerSize + int64(len(h.Name)+len(h.Type)+len(h.Format)+len(h.Description))
	}
	for i := range c.columns {
		n += columnSize + c.columns[i].path.size()
	}
	return n
}
