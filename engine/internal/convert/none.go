package convert

import (
	"encoding/json"

	"github.com/crdeval/crdeval/internal/value"
)

// None is the strategy None: the object at root gets another apiVersion, and nothing else changes.
func None(d *value.Doc, root uint32, apiVersion string) {
	text, _ := json.Marshal(apiVersion)                   // a string has a JSON text
	made, _ := d.Parse(text, value.Arena, value.Limits{}) // which is JSON
	if c := d.Field(root, "apiVersion"); c != 0 {
		d.Replace(c, made)
	} else {
		d.SetKey(made, "apiVersion")
		d.Append(root, made)
	}
	d.MarkDirty(root)
}
