package app

import (
	"os"
	"runtime"
	"sync"
)

// maxBuilds is the maximum number of concurrent compilations for the cache. It is far above the number of calls,
// because the scheduler limits compilations.
const maxBuilds = 1 << 16

// seats returns the number of processors of the process, before addProcessor adds one.
var seats = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })

// addProcessor raises GOMAXPROCS by one unless the environment sets it.
//
// If all processors of Go are busy, Go polls the network only every 10 ms. The additional processor receives and
// answers calls meanwhile, and the operating system shares the cores. Beside a caller with expensive work, other
// callers have about a third more throughput with it.
func addProcessor() {
	if n := seats(); os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(n + 1)
	}
}
