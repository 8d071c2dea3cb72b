package compare

import (
	"context"
	"encoding/json"

	"github.com/crdeval/crdeval/internal/value"
)

// Class is how much a change asks of somebody.
type Class uint8

// The classes, the most harmless first.
const (
	Compatible Class = iota
	Care
	Breaking
)

// Impact is what a change means for each of those whom it can concern.
type Impact struct {
	// Stored are the objects in storage, Writers the clients whose writes were accepted, Readers those that count on what they could find.
	Stored, Writers, Readers Class
}

// Worst is the worst of the three.
func (i Impact) Worst() Class { return max(i.Stored, i.Writers, i.Readers) }

// Change is one difference.
type Change struct {
	Impact
	Kind Kind
	// Version is that which changed, "" for what all versions share.
	Version string
	// Schema leads to the keyword from the schema of the version, nil outside of schemas.
	Schema value.Path
	// OldAt and NewAt lead to it from the roots of the CRDs as v1 writes them, whether it is there or not.
	OldAt, NewAt value.Path
	// InOld and InNew say in which of the two it is.
	InOld, InNew bool
	Message      string
	// Old and New are what stands there, as JSON; nil where there is nothing, and for more than mostValueBytes.
	Old, New json.RawMessage
}

// mostValueBytes is how long a value may be that a change shows.
const mostValueBytes = 4 << 10

// Options shape a comparison.
type Options struct {
	// Minor is the Kubernetes minor whose formats are known.
	Minor int
	// Most is how many changes are kept.
	Most int
	// Stored are the versions at which objects may be in storage.
	Stored []string
}

// Result is what a comparison finds.
type Result struct {
	// Changes are the first of all in their order, Omitted is how many more there were. Worst is the worst class of all.
	Changes []Change
	Omitted int
	Worst   Class
}

// comparison collects what is found.
type comparison struct {
	Options
	Result
	ctx     context.Context
	version string     // that is being compared, "" outside of versions
	oldBase value.Path // of the version or of its schema, in the two CRDs
	newBase value.Path
	schema  bool // it is the schema that is being compared
	visited int
	stopped bool // the context has ended
}

// found is a change as those who find it tell it.
type found struct {
	kind     Kind
	impact   Impact
	at       value.Path // below the bases
	oldAt    value.Path // in the old one, where that is another place
	old, new any        // what stands there, nil for nothing
	message  string
}

// tell takes a change down. at is kept.
func (c *comparison) tell(f found) {
	c.Worst = max(c.Worst, f.impact.Worst())
	if len(c.Changes) >= c.Most {
		c.Omitted++
		return
	}
	at := f.at.Clone()
	oldAt := at
	if f.oldAt != nil {
		oldAt = f.oldAt.Clone()
	}
	change := Change{
		Impact: f.impact, Kind: f.kind, Version: c.version, Message: f.message,
		OldAt: c.oldBase.With(oldAt...), NewAt: c.newBase.With(at...), InOld: f.old != nil, InNew: f.new != nil,
		Old: shown(f.old), New: shown(f.new),
	}
	if c.schema {
		if change.Schema = at; !change.InNew {
			change.Schema = oldAt
		}
	}
	c.Changes = append(c.Changes, change)
}

// everybody is an impact on all.
func everybody(c Class) Impact { return Impact{c, c, c} }

// shown is a value as JSON, nil if there is none or if it is long.
func shown(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil || len(text) > mostValueBytes {
		return nil
	}
	return text
}

// step looks now and then whether somebody still waits for the answer.
func (c *comparison) step() bool {
	const often = 256
	if c.visited++; c.visited%often == 0 && c.ctx.Err() != nil {
		c.stopped = true
	}
	return !c.stopped
}
