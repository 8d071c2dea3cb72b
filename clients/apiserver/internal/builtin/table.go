package builtin

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Column prints one field of an object.
type Column struct {
	Name, Type, Format string
	// Wide hides the column unless a client asks for all columns.
	Wide        bool
	Description string
	Cell        func(runtime.Object) any
}

var descriptions = metav1.ObjectMeta{}.SwaggerDoc()

// NameColumn prints the name.
func NameColumn() Column {
	return Column{Name: "Name", Type: "string", Format: "name", Description: descriptions["name"],
		Cell: func(obj runtime.Object) any { return obj.(metav1.Object).GetName() }}
}

// AgeColumn prints the time since the creation.
func AgeColumn() Column {
	return Column{Name: "Age", Type: "string", Description: descriptions["creationTimestamp"],
		Cell: func(obj runtime.Object) any { return Since(obj.(metav1.Object).GetCreationTimestamp().Time) }}
}

// CreatedColumn prints the time of the creation.
func CreatedColumn() Column {
	return Column{Name: "Created At", Type: "date", Description: descriptions["creationTimestamp"],
		Cell: func(obj runtime.Object) any {
			return obj.(metav1.Object).GetCreationTimestamp().UTC().Format(time.RFC3339)
		}}
}

// Since prints the time since t as kubectl does.
func Since(t time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t))
}

// Table implements rest.TableConvertor with columns.
type Table []Column

// ConvertToTable implements rest.TableConvertor.
func (c Table) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	t := &metav1.Table{}
	add := func(obj runtime.Object) error {
		cells := make([]any, len(c))
		for i := range c {
			cells[i] = c[i].Cell(obj)
		}
		t.Rows = append(t.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: obj}})
		return nil
	}
	if list, err := meta.ListAccessor(obj); err == nil {
		t.ResourceVersion, t.Continue, t.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
		if err := meta.EachListItem(obj, add); err != nil {
			return nil, err
		}
	} else {
		m, err := meta.CommonAccessor(obj)
		if err != nil {
			return nil, err
		}
		t.ResourceVersion = m.GetResourceVersion()
		if err := add(obj); err != nil {
			return nil, err
		}
	}
	if o, ok := options.(*metav1.TableOptions); ok && o.NoHeaders {
		return t, nil
	}
	for _, column := range c {
		definition := metav1.TableColumnDefinition{Name: column.Name, Type: column.Type, Format: column.Format, Description: column.Description}
		if column.Wide {
			definition.Priority = 1
		}
		t.ColumnDefinitions = append(t.ColumnDefinitions, definition)
	}
	return t, nil
}
