package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Class says how severe the effect of a change is. Classes are ordered.
type Class uint8

// The classes, in ascending order.
const (
	// Compatible: nothing that worked is affected.
	Compatible Class = iota
	// NeedsCare: nothing is rejected or lost at once, but stored objects or clients may be affected.
	NeedsCare
	// Breaking: something that worked is rejected or lost.
	Breaking
)

// String returns the name of the constant.
func (c Class) String() string { return [...]string{"Compatible", "NeedsCare", "Breaking"}[c] }

// Side says what the class of a change concerns.
type Side string

// The sides.
const (
	StoredObjects Side = "StoredObjects" // objects in storage
	Clients       Side = "Clients"       // programs that write or read objects
	BothSides     Side = "Both"
)

// Impact has the class of a change for each party.
type Impact struct {
	// Stored is the effect on objects in storage, as written under the old CRD: whether they stay valid, lose
	// something, or can no longer be updated.
	Stored Class
	// Writers is the effect on clients whose writes the old CRD accepted, Readers that on clients that rely on what the
	// old CRD returned.
	Writers, Readers Class
}

var (
	harmless       = Impact{}
	breaksAll      = Impact{Breaking, Breaking, Breaking}
	careForAll     = Impact{NeedsCare, NeedsCare, NeedsCare}
	breaksWrites   = Impact{Breaking, Breaking, Compatible}
	careForWrites  = Impact{NeedsCare, NeedsCare, Compatible}
	breaksClients  = Impact{Compatible, Breaking, Breaking}
	careForClients = Impact{Compatible, NeedsCare, NeedsCare}
	breaksWriters  = Impact{Writers: Breaking}
	breaksReaders  = Impact{Readers: Breaking}
	careForReaders = Impact{Readers: NeedsCare}
)

// Change is one difference between two CRDs.
type Change struct {
	// Class is the most severe of Stored, Writers and Readers. Side is what it concerns, BothSides for a compatible
	// change.
	Class Class
	Side  Side
	Impact
	// Kind is a stable identifier of what changed, such as RequiredAdded. docs/diff.md lists all kinds.
	Kind string
	// Version is the version that changed, "" for what all versions share.
	Version string
	// SchemaPointer is the JSON pointer (RFC 6901) of the changed keyword in the version's openAPIV3Schema, "" for
	// changes outside of schemas.
	SchemaPointer string
	// NewPointer is the JSON pointer of the keyword in the new schema. It differs from SchemaPointer if the keyword moved.
	NewPointer string
	// ManifestPointer is its JSON pointer in the new CRD as apiextensions.k8s.io/v1, or in the old one if the new one
	// lacks it.
	ManifestPointer string
	// Message says in a sentence what changed and what follows from it.
	Message string
	// Old and New are the values as JSON, nil if they are missing or longer than 4 KiB.
	Old, New json.RawMessage
	// Witness is a value that the comparison found: the old schema accepts it at this place, and the new one rejects it.
	// It is JSON, nil if the comparison found none.
	Witness json.RawMessage
	// OldPosition and NewPosition are its positions in the two manifests, or those of the nearest parent. They are nil
	// if not known.
	OldPosition, NewPosition *tree.Position
}

const maxValueBytes = 4 << 10

// MaxChanges is the usual maximum number of changes in a result.
const MaxChanges = 1000

// Options configure a comparison.
type Options struct {
	Minor  int      // the Kubernetes minor whose formats are known
	Most   int      // maximum number of changes in the result
	Stored []string // the versions at which objects may be stored
	// OldPosition and NewPosition return the positions of paths in the two manifests, for Change.
	OldPosition, NewPosition func(tree.Path) *tree.Position
}

// Result is the result of a comparison.
type Result struct {
	Changes []Change
	Omitted int   // changes beyond Options.Most
	Worst   Class // of all changes
}

// comparison collects changes.
type comparison struct {
	Options
	Result
	ctx              context.Context
	version          string    // see Change
	oldBase, newBase tree.Path // of the version or its schema, in the two CRDs
	schema           bool      // the paths of changes are within a schema
	steps            int
	languages        map[string]inclusion            // results of proof.within
	witness          json.RawMessage                 // of the last call of proof.within, nil if it was true
	languageWork     int                             // that is left for more of them
	proofSteps       int                             // that are left for proofs
	enums            map[*apiextensionsv1.JSON]*enum // results of proof.enumOf
	stopped          bool                            // the context has ended
}

// report adds a change at a path below the bases. old and new are nil if the value is missing.
func (c *comparison) report(kind string, impact Impact, at tree.Path, old, new any, format string, args ...any) {
	c.reportMoved(kind, impact, at, at, old, new, format, args...)
}

// reportMoved is report for a value that has different paths in the two CRDs. It returns the change, nil if it is
// omitted.
func (c *comparison) reportMoved(
	kind string, impact Impact, oldAt, newAt tree.Path, old, new any, format string, args ...any,
) *Change {
	clients := max(impact.Writers, impact.Readers)
	class, side := max(impact.Stored, clients), BothSides
	c.Worst = max(c.Worst, class)
	if len(c.Changes) >= c.Most {
		c.Omitted++
		return nil
	}
	switch {
	case impact.Stored > clients:
		side = StoredObjects
	case impact.Stored < clients:
		side = Clients
	}
	oldPath, newPath := c.oldBase.With(oldAt...), c.newBase.With(newAt...)
	at, path := newAt, newPath
	if new == nil {
		at = oldAt
		if old != nil {
			path = oldPath
		}
	}
	change := Change{
		Class: class, Side: side, Impact: impact, Kind: kind, Version: c.version, ManifestPointer: path.Pointer(),
		Message: fmt.Sprintf(format, args...), Old: valueJSON(old), New: valueJSON(new),
		OldPosition: c.OldPosition(oldPath), NewPosition: c.NewPosition(newPath),
	}
	if c.schema {
		change.SchemaPointer, change.NewPointer = at.Pointer(), newAt.Pointer()
	}
	c.Changes = append(c.Changes, change)
	return &c.Changes[len(c.Changes)-1]
}

// effect is the kind, impact and message of a change.
type effect struct {
	kind    string
	impact  Impact
	message string
}

// compare reports a value that was added, removed or changed. old and new are nil if the value is missing.
func (c *comparison) compare(at tree.Path, old, new any, added, removed, changed effect) {
	e := changed
	switch {
	case reflect.DeepEqual(old, new):
		return
	case old == nil:
		e = added
	case new == nil:
		e = removed
	}
	c.report(e.kind, e.impact, at, old, new, "%s", e.message)
}

// sets compares lists as sets. show returns the value of an element in a change; messages format the element.
func (c *comparison) sets(at tree.Path, old, new []string, show func(string) any, removed, added effect) {
	for _, side := range []struct {
		list, other []string
		effect
	}{{old, new, removed}, {new, old, added}} {
		other := setOf(side.other)
		for i, v := range side.list {
			switch e := side.effect; {
			case other[v]:
			case e == removed:
				c.reportMoved(e.kind, e.impact, at.With(tree.At(i)), at, show(v), nil, e.message, truncated(v))
			default:
				c.reportMoved(e.kind, e.impact, at, at.With(tree.At(i)), nil, show(v), e.message, truncated(v))
			}
		}
	}
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, v := range list {
		set[v] = true
	}
	return set
}

// present stands for a value that the change does not show.
type present struct{}

func valueJSON(v any) json.RawMessage {
	if v == nil || v == (present{}) {
		return nil
	}
	if text := jsonOf(v); len(text) <= maxValueBytes {
		return json.RawMessage(text)
	}
	return nil
}

// step reports whether to go on. It looks at the context now and then.
func (c *comparison) step() bool {
	const often = 256
	if c.steps++; c.steps%often == 0 && c.ctx.Err() != nil {
		c.stopped = true
	}
	return !c.stopped
}

// jsonOf returns a value as JSON, "" if it cannot be encoded.
func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
