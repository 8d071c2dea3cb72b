package plan

import "unsafe"

// What the parts of a plan weigh, in bytes, for Plan.Size.
const (
	planSize       = int64(unsafe.Sizeof(Plan{}))
	nodeSize       = int64(unsafe.Sizeof(Node{}))
	detailsSize    = int64(unsafe.Sizeof(details{}))
	junctorsSize   = int64(unsafe.Sizeof(Junctors{}))
	indexSize      = int64(unsafe.Sizeof(nameIndex{}))
	validationSize = int64(unsafe.Sizeof(Validation{}))
	defaultSize    = int64(unsafe.Sizeof(Default{}))
	fragmentSize   = 48
	valueNodeSize  = 40
)
