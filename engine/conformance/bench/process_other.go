//go:build !linux

package bench

import (
	"errors"
	"time"
)

// timeOfProcess returns an error: only Linux has a clock of other processes.
func timeOfProcess(int) (time.Duration, error) {
	return 0, errors.New("the cases unary need Linux")
}
