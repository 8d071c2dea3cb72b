package memory

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Available returns the memory that the process may use, in bytes: the limit of its container, else that of the machine.
func Available() int64 {
	root := os.DirFS("/")
	machine := machineMemory(root)
	return min(cmp.Or(containerLimit(root), machine), machine)
}

// containerLimit returns the smallest memory limit of the cgroups of the process, or 0 if they have no limit. root is the
// file system. In a container, a cgroup can be mounted at a shorter path than /proc/self/cgroup names. Then only some of
// its parents have a file.
func containerLimit(root fs.FS) (limit int64) {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(fields) != 3 {
			continue
		}
		dir, file := "sys/fs/cgroup", "memory.max" // v2
		if fields[1] != "" {
			dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
			if !slices.Contains(strings.Split(fields[1], ","), "memory") {
				continue
			}
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			content, _ := fs.ReadFile(root, path.Join(dir, group, file))
			n, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
			if err == nil && n > 0 && n < 1<<60 { // without a limit, v2 has "max" and v1 a huge number
				limit = min(cmp.Or(limit, n), n)
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// machineMemory returns the memory of the machine, or assumedMemory if the system does not report it.
func machineMemory(root fs.FS) int64 {
	const assumedMemory = 4 << 30
	content, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(content)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return assumedMemory
}
