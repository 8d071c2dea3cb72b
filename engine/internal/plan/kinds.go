package plan

import "github.com/crdeval/crdeval/engine/value"

// kindSet is a bit set of value.Kinds.
type kindSet uint8

const (
	anyKind     kindSet = 0xff
	boolKinds           = 1<<value.False | 1<<value.True
	numberKinds         = 1<<value.Int | 1<<value.Float
)

func (s kindSet) has(k value.Kind) bool { return s>>k&1 != 0 }
