// Package table makes the rows of an API server's tables of custom resources, and the text that kubectl prints of a table.
package table

import (
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/jsonpath"
	"github.com/crdeval/crdeval/engine/value"
)

// Columns are the columns of a version's tables. They are compiled when the first row is made: most versions are never shown. Any number of goroutines share
// them.
type Columns struct {
	additional []apiextensionsv1.CustomResourceColumnDefinition
	once       sync.Once

	headers []metav1.TableColumnDefinition
	// columns are those behind the name.
	columns []column
	// fault is why there can be no rows, nil mostly: a *value.LimitError.
	fault error
	// ranges: a column's path has a range, so rows depend on those before them.
	ranges bool
}

// maxPaths is how long the JSONPaths of all columns of a version may be, in bytes. Upstream has no such bound; it takes half a second to parse as much, by recursion.
const maxPaths = 64 << 10

// column is one column behind the name.
type column struct {
	name string
	kind columnKind
	path *jsonpath.Path
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

// ageColumn is shown where a version has no columns of its own.
var ageColumn = []apiextensionsv1.CustomResourceColumnDefinition{
	{Name: "Age", Type: "date", Description: descriptions["creationTimestamp"], JSONPath: ".metadata.creationTimestamp"},
}

// CompileColumns makes columns of the additional printer columns of a version, which are kept: a column Name comes before them, and if there are none a
// column Age behind it. A column whose JSONPath cannot be parsed is left out, and so are all behind it, as a server does.
//
// Upstream: apiextensions-apiserver pkg/registry/customresource/tableconvertor New, pkg/apiserver/helpers.go.
func CompileColumns(additional []apiextensionsv1.CustomResourceColumnDefinition) *Columns {
	if len(additional) == 0 {
		additional = ageColumn
	}
	return &Columns{additional: additional}
}

func (c *Columns) compile() {
	c.headers = []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: descriptions["name"]}}
	total := int64(0)
	for i := range c.additional {
		a := &c.additional[i]
		if total += int64(len(a.JSONPath)); total > maxPaths {
			c.fault = &value.LimitError{Name: "max_column_path_bytes", Limit: fmt.Sprintf("JSONPaths up to the column %q", a.Name), Unit: "bytes", Maximum: maxPaths, Actual: total, AtLeast: true,
				Advice: "shorten the paths in the CRD's additionalPrinterColumns"}
			break
		}
		p, err := jsonpath.Parse(a.Name, a.JSONPath)
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
		c.ranges = c.ranges || p.Ranges
	}
	c.headers, c.columns = slices.Clip(c.headers), slices.Clip(c.columns)
}

// Headers describe the columns, the name first. The caller must not change them.
func (c *Columns) Headers() []metav1.TableColumnDefinition {
	c.once.Do(c.compile)
	return c.headers
}

// Size is what the columns retain once they are compiled, in bytes, roughly.
func (c *Columns) Size() int64 {
	const (
		columnsSize = 512       // and that of the name
		columnSize  = 120 + 120 // as it was declared, and as it is shown
		perByte     = 50        // of a path that does more than name members
	)
	n, total := int64(columnsSize), 0
	for i := range c.additional {
		a := &c.additional[i]
		n += columnSize + int64(len(a.Name)+len(a.Type)+len(a.Format)+len(a.Description)+2*len(a.JSONPath))
		if total += len(a.JSONPath); total > maxPaths {
			continue
		}
		if names := jsonpath.PlainNames(a.JSONPath); names != nil {
			n += int64(24 * len(names))
		} else {
			n += perByte * int64(len(a.JSONPath))
		}
	}
	return n
}
