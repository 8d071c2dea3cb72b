package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/internal/casefile"
	"github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/value"
)

// tableCase holds the columns and rows of an object against the reference's. The reference was asked for its converter
// alone: the object is shown as it stands, where Table would read it from storage first and prune what the case's
// schema does not know.
func tableCase(t *testing.T, d *Definition, object []byte, want *casefile.Answer) {
	t.Helper()
	doc := value.Acquire()
	defer doc.Release()
	root, err := doc.ParseJSON(object, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	columns := d.compiled.Inner.Versions[0].Columns
	rows := columns.NewRows(table.Target{}, time.Now())
	defer rows.Release()
	text, _, err := rows.AppendRows(nil, nil, doc, root, table.RowNone, nil)
	if err != nil {
		t.Fatal(err)
	}
	headers, err := json.Marshal(columns.Headers())
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(nil, `{"metadata":{},"columnDefinitions":%s,"rows":[%s]}`, headers, text)
	var got, wanted map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want.Result, &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("table %s\nwant %s", text, want.Result)
	}
}
