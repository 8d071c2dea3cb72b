package bench

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// timeOfProcess returns the CPU time of a process in nanoseconds: that of all its threads, including ended ones.
func timeOfProcess(pid int) (time.Duration, error) {
	const clock = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|clock), &t); err != nil { //nolint:gosec // as clock_getcpuclockid(3)
		return 0, fmt.Errorf("the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}
