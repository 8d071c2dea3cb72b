package app

import (
	"os"
	"runtime"
	"sync"
)

// seats returns the number of processors of the process, before setProcessors adds one.
var seats = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })

// setProcessors returns a function that raises GOMAXPROCS by one while items are expensive. It returns nil if the
// environment sets GOMAXPROCS.
//
// If all processors of Go are busy, Go polls the network only every 10 ms. The additional processor receives and
// answers calls meanwhile, and the operating system shares the cores. Beside a caller with expensive work, other
// callers have about a third more throughput with it. Without expensive work it costs time, because threads switch: a
// small call takes a quarter more on one core.
func setProcessors() func(expensive bool) {
	if os.Getenv("GOMAXPROCS") != "" {
		return nil
	}
	return func(expensive bool) {
		n := seats()
		if expensive {
			n++
		}
		runtime.GOMAXPROCS(n)
	}
}
