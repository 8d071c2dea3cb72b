// Package table builds the table rows that an API server returns for custom resources, and prints tables as kubectl
// does.
package table

import (
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine/internal/jsonpath"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Columns holds the columns of a version's tables. It is compiled when the first row is built, because most versions
// are never printed. It is safe for concurrent use.
type Columns struct {
	additional []apiextensionsv1.CustomResourceColumnDefinition
	once       sync.Once

	headers []metav1.TableColumnDefinition
	// columns holds the paths of the columns after the name.
	columns []*jsonpath.Path
	// fault is the error of all rows, or nil: a *tree.LimitError.
	fault error
	// ranges is set if a path has a range, so that rows depend on earlier ones.
	ranges bool
}

// maxPaths bounds the JSONPaths of all columns of a version, in bytes. Upstream has no such bound. Parsing this much
// takes half a second and is recursive.
const maxPaths = 64 << 10

// descriptions holds the field descriptions of ObjectMeta for the columns Name and Age.
var descriptions = metav1.ObjectMeta{}.SwaggerDoc()

// AgeColumn is the only column after the name if a version declares none. A Scale has it too.
var AgeColumn = apiextensionsv1.CustomResourceColumnDefinition{
	Name: "Age", Type: "date", Description: descriptions["creationTimestamp"], JSONPath: ".metadata.creationTimestamp",
}

// CompileColumns returns the columns for the additional printer columns of a version, which it retains. It adds a
// column Name before them, or Name and Age if the version has no columns. As on a server, a column whose JSONPath
// cannot be parsed and all columns after it are omitted.
//
// Upstream: apiextensions-apiserver pkg/registry/customresource/tableconvertor New, pkg/apiserver/helpers.go.
func CompileColumns(additional []apiextensionsv1.CustomResourceColumnDefinition) *Columns {
	if len(additional) == 0 {
		additional = []apiextensionsv1.CustomResourceColumnDefinition{AgeColumn}
	}
	return &Columns{additional: additional}
}

func (c *Columns) compile() {
	c.headers = []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: descriptions["name"]}}
	total := int64(0)
	for i := range c.additional {
		a := &c.additional[i]
		if total += int64(len(a.JSONPath)); total > maxPaths {
			c.fault = &tree.LimitError{Name: "max_column_path_bytes", Limit: fmt.Sprintf("JSONPaths up to the column %q", a.Name), Unit: "bytes", Maximum: maxPaths, Actual: total, AtLeast: true,
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
		c.columns = append(c.columns, p)
		c.ranges = c.ranges || p.Ranges
	}
	c.headers, c.columns = slices.Clip(c.headers), slices.Clip(c.columns)
}

// Headers returns the definitions of the columns, starting with the name. The caller must not change them.
func (c *Columns) Headers() []metav1.TableColumnDefinition {
	c.once.Do(c.compile)
	return c.headers
}

// Size returns the approximate number of bytes that the compiled columns retain.
func (c *Columns) Size() int64 {
	const (
		columnsSize = 512       // including the name column
		columnSize  = 120 + 120 // as declared and as returned
		perByte     = 50        // of a path
	)
	n, total := int64(columnsSize), 0
	for i := range c.additional {
		a := &c.additional[i]
		n += columnSize + int64(len(a.Name)+len(a.Type)+len(a.Format)+len(a.Description)+2*len(a.JSONPath))
		if total += len(a.JSONPath); total <= maxPaths && jsonpath.PlainNames(a.JSONPath) == nil {
			n += perByte * int64(len(a.JSONPath))
		}
	}
	return n
}
