package convert

import (
	"encoding/json"

	"github.com/crdeval/crdeval/engine/value"
)

// None is the strategy None: it changes the apiVersion of the object at root.
func None(d *value.Doc, root uint32, apiVersion string) {
	text, _ := json.Marshal(apiVersion)                   // cannot fail for a string
	made, _ := d.Parse(text, value.Arena, value.Limits{}) // cannot fail for JSON
	if c := d.Field(root, "apiVersion"); c != 0 {
		d.Replace(c, made)
	} else {
		d.SetKey(made, "apiVersion")
		d.Append(root, made)
	}
	d.MarkDirty(root)
}
