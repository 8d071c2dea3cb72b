// Package delay postpones the first garbage collection of a process that imports it. It imports only the standard
// library. So its initialization precedes that of most packages with large tables: Go initializes packages in the order
// of their paths, once their imports are initialized.
package delay

import (
	"os"
	"runtime/debug"
)

// Floor is the size in bytes to which the heap grows before the first collection, unless the environment sets GOGC.
const Floor = 32 << 20

// defaultFloor is Go's own floor, with a GOGC of 100. It is proportional to GOGC.
const defaultFloor = 4 << 20

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(Floor / defaultFloor * 100)
	}
}
