package plan

import "unsafe"

// The sizes of the parts of a plan, in bytes, for Plan.Size.
const (
	planSize       = int64(unsafe.Sizeof(Plan{}))
	nodeSize       = int64(unsafe.Sizeof(Node{}))
	detailsSize    = int64(unsafe.Sizeof(details{}))
	operatorsSize  = int64(unsafe.Sizeof(Operators{}))
	indexSize      = int64(unsafe.Sizeof(nameIndex{}))
	validationSize = int64(unsafe.Sizeof(Validation{}))
	defaultSize    = int64(unsafe.Sizeof(Default{}))
	fragmentSize   = 48
	valueNodeSize  = 40
)
