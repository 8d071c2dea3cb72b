package table

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Begin returns the JSON of a meta.k8s.io/v1 Table up to its first row. columns are nil for a table without them.
func Begin(columns []metav1.TableColumnDefinition, list metav1.ListMeta) ([]byte, error) {
	text, err := json.Marshal(&metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}, ListMeta: list,
		ColumnDefinitions: columns, Rows: []metav1.TableRow{},
	})
	return bytes.TrimSuffix(text, []byte("]}")), err
}
