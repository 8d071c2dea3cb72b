package app

import (
	"os"
	"runtime"
	"strconv"
	"sync"
)

// maxBuilds is the number of compilations for the cache that wait for seats of the scheduler. It is far above the number
// of calls.
const maxBuilds = 1 << 16

// seats returns the number of processors.
var seats = sync.OnceValue(func() int {
	n := runtime.GOMAXPROCS(0)
	extra, _ := strconv.Atoi(os.Getenv("CRDEVAL_EXTRA"))
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(n + extra)
	}
	return n
})
