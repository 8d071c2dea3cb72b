//go:build !unix

package flow

import "time"

// ProcessTime is nil, because the CPU time of the process is not known.
var ProcessTime func() time.Duration
