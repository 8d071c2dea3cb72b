package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/crdeval/crdeval/engine/value"
)

// Class says how much a change affects somebody.
type Class uint8

// The classes, in ascending order.
const (
	Compatible Class = iota
	Care
	Breaking
)

// Impact has the class of a change for each of those that it can affect.
type Impact struct {
	Stored  Class // objects in storage
	Writers Class // clients whose writes were accepted
	Readers Class // clients that read objects
}

// Worst returns the highest of the three classes.
func (i Impact) Worst() Class { return max(i.Stored, i.Writers, i.Readers) }

var (
	harmless       = Impact{}
	breaksAll      = Impact{Breaking, Breaking, Breaking}
	careForAll     = Impact{Care, Care, Care}
	breaksWrites   = Impact{Breaking, Breaking, Compatible}
	careForWrites  = Impact{Care, Care, Compatible}
	breaksClients  = Impact{Compatible, Breaking, Breaking}
	careForClients = Impact{Compatible, Care, Care}
	breaksWriters  = Impact{Writers: Breaking}
	breaksReaders  = Impact{Readers: Breaking}
	careForReaders = Impact{Readers: Care}
)

// Change is one difference.
type Change struct {
	Impact
	Kind    string // docs/diff.md lists the kinds
	Version string // the version that changed, "" for what all versions share
	// Schema is the path of the keyword in the version's schema, nil outside of schemas.
	Schema value.Path
	// OldAt and NewAt are the paths in the two CRDs as v1 writes them. The value may be missing there.
	OldAt, NewAt value.Path
	// InOld and InNew say which of the two CRDs have the value.
	InOld, InNew bool
	Message      string
	// Old and New are the values as JSON, nil if they are missing or longer than maxValueBytes.
	Old, New json.RawMessage
}

const maxValueBytes = 4 << 10

// Options configure a comparison.
type Options struct {
	Minor  int      // the Kubernetes minor whose formats are known
	Most   int      // maximum number of changes in the result
	Stored []string // the versions at which objects may be stored
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
	version          string     // see Change
	oldBase, newBase value.Path // of the version or its schema, in the two CRDs
	schema           bool       // the paths of changes are within a schema
	steps            int
	stopped          bool // the context has ended
}

// report adds a change at a path below the bases. old and new are nil if the value is missing.
func (c *comparison) report(kind string, impact Impact, at value.Path, old, new any, format string, args ...any) {
	c.reportMoved(kind, impact, at, at, old, new, format, args...)
}

// reportMoved is report for a value that has different paths in the two CRDs.
func (c *comparison) reportMoved(
	kind string, impact Impact, oldAt, newAt value.Path, old, new any, format string, args ...any,
) {
	c.Worst = max(c.Worst, impact.Worst())
	if len(c.Changes) >= c.Most {
		c.Omitted++
		return
	}
	change := Change{
		Impact: impact, Kind: kind, Version: c.version, Message: fmt.Sprintf(format, args...),
		OldAt: c.oldBase.With(oldAt...), NewAt: c.newBase.With(newAt...), InOld: old != nil, InNew: new != nil,
		Old: valueJSON(old), New: valueJSON(new),
	}
	if c.schema {
		if change.Schema = newAt.Clone(); new == nil {
			change.Schema = oldAt.Clone()
		}
	}
	c.Changes = append(c.Changes, change)
}

// effect is the kind, impact and message of a change.
type effect struct {
	kind    string
	impact  Impact
	message string
}

// compare reports a value that was added, removed or changed. old and new are nil if the value is missing.
func (c *comparison) compare(at value.Path, old, new any, added, removed, changed effect) {
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
func (c *comparison) sets(at value.Path, old, new []string, show func(string) any, removed, added effect) {
	for _, side := range []struct {
		list, other []string
		effect
	}{{old, new, removed}, {new, old, added}} {
		other := setOf(side.other)
		for i, v := range side.list {
			switch e := side.effect; {
			case other[v]:
			case e == removed:
				c.reportMoved(e.kind, e.impact, at.With(value.At(i)), at, show(v), nil, e.message, truncated(v))
			default:
				c.reportMoved(e.kind, e.impact, at, at.With(value.At(i)), nil, show(v), e.message, truncated(v))
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
