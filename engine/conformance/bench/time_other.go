//go:build !unix

package bench

import "time"

var start = time.Now()

// processorTime is the clock's, where the system does not say what the process has used.
func processorTime() time.Duration { return time.Since(start) }
