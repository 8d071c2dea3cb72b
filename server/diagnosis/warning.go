package diagnosis

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// Warned is the place that the text of a warning names.
type Warned struct {
	Pointer string // "" if the text names no place, or only a line
	Field   string // of a warning about an unknown field
	IsKey   bool   // the warning is about the member and not about its value
	Fixes   []Fix
}

// The texts of warnings that name a place.
var (
	fieldWarning     = regexp.MustCompile(`(?s)^(unknown|duplicate) field "(.*)"$`)
	finalizerWarning = regexp.MustCompile(`(?s)^metadata\.finalizers: ("(?:[^"\\]|\\.)*"): `)
	formatWarning    = regexp.MustCompile(`(?s)^unrecognized format (".*")$`)
	setWarning       = regexp.MustCompile(`^x-kubernetes-list-type: set for items of type "(object|array)" `)
)

// Warning returns the place of a warning about a CRD or an object. If several schemas of a CRD have the keyword that the
// warning is about, it is that of the first, and there is no fix.
func (d *Document) Warning(text string) (w Warned) {
	if m := fieldWarning.FindStringSubmatch(text); m != nil {
		w.Pointer, _ = d.PointerOf(m[2])
		if w.IsKey = true; m[1] == "unknown" {
			w.Field, w.Fixes = m[2], d.Remove(w.Pointer, m[2])
		}
		return w
	}
	if m := finalizerWarning.FindStringSubmatch(text); m != nil {
		name, _ := strconv.Unquote(m[1])
		w.Pointer, _ = d.itemOf("/metadata/finalizers", name)
		return w
	}
	if strings.HasPrefix(text, ".metadata.ownerReferences ") {
		return Warned{Pointer: "/metadata/ownerReferences", IsKey: true}
	}
	var found []string
	if m := formatWarning.FindStringSubmatch(text); m != nil {
		name, _ := strconv.Unquote(m[1])
		found = d.Keywords("format", name)
	} else if m := setWarning.FindStringSubmatch(text); m != nil {
		found = slices.DeleteFunc(d.Keywords("x-kubernetes-list-type", "set"), func(pointer string) bool {
			return !d.hasText(Parent(pointer)+"/items/type", m[1])
		})
	}
	if len(found) > 0 {
		w.Pointer = found[0]
	}
	if len(found) == 1 {
		w.Fixes = d.Remove(found[0], name(found[0]))
	}
	return w
}

// Deprecated returns the fix of a deprecated version of an object: the first of the versions by priority that is served
// and not deprecated.
func (d *Document) Deprecated(group string, of []engine.VersionInfo) []Fix {
	next := slices.IndexFunc(of, func(v engine.VersionInfo) bool { return v.Served && !v.Deprecated })
	if next < 0 {
		return nil
	}
	name, _ := json.Marshal(group + "/" + of[next].Name) // a string always encodes
	return d.Change("/apiVersion", name)
}
