package app

import (
	"os"
	"runtime"
	"sync"
)

// maxBuilds is the number of compilations for the cache that wait for seats of the scheduler. It is far above the number
// of calls.
const maxBuilds = 1 << 16

// seats returns the number of processors of the process, before addProcessor adds one.
var seats = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })

// addProcessor raises GOMAXPROCS by one unless the environment sets it.
//
// If all processors of Go run work without pause, Go polls the network only every 10 ms. The additional one receives and
// answers calls meanwhile, and the operating system divides the cores. Beside an attack, a neighbour has about a third
// more throughput with it.
func addProcessor() {
	if n := seats(); os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(n + 1)
	}
}
