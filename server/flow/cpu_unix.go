//go:build unix

package flow

import (
	"syscall"
	"time"
)

// ProcessTime returns the CPU time of the process. It is nil on systems that are not Unix.
var ProcessTime = func() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
