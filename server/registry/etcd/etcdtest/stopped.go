package etcdtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// untilStopped waits until no thread of a process runs any more: a signal that stops it is only on its way when it was
// sent. Where the system does not say, it waits a little.
func untilStopped(pid int) {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(threads) == 0 {
			time.Sleep(200 * time.Millisecond)
			return
		}
		running := false
		for _, path := range threads {
			stat, err := os.ReadFile(path)
			// PID (NAME) STATE …, where the name may hold anything.
			_, after, found := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
			running = running || err == nil && found && !strings.HasPrefix(after, "T") && !strings.HasPrefix(after, "t")
		}
		if !running {
			return
		}
	}
}
