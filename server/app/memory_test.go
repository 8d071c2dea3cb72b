package app

import (
	"errors"
	"runtime"
	"testing"
	"testing/fstest"
)

func TestContainerLimit(t *testing.T) {
	const v2, v1 = "sys/fs/cgroup", "sys/fs/cgroup/memory"
	for _, c := range []struct {
		name, groups string
		files        map[string]string
		want         int64
	}{
		{"no cgroups", "", nil, 0},
		{"v2", "0::/\n", map[string]string{v2 + "/memory.max": "536870912\n"}, 512 << 20},
		{"v2 without a limit", "0::/a\n", map[string]string{v2 + "/a/memory.max": "max\n"}, 0},
		{"v2, a parent has the smallest", "0::/user.slice/a.service/b\n", map[string]string{
			v2 + "/user.slice/memory.max": "max\n", v2 + "/user.slice/a.service/memory.max": "1000\n",
			v2 + "/user.slice/a.service/b/memory.max": "2000\n", v2 + "/other/memory.max": "1\n",
		}, 1000},
		{"v2, above the namespace", "0::/../../pod\n", map[string]string{v2 + "/memory.max": "3000\n"}, 3000},
		{"v1", "5:cpu,cpuacct:/b\n4:hugetlb,memory:/a/b\n0::/\n", map[string]string{
			v1 + "/a/b/memory.limit_in_bytes": "1073741824", v1 + "/a/memory.limit_in_bytes": "2000000000",
			v1 + "/memory.limit_in_bytes": "9223372036854771712", v1 + "/b/memory.limit_in_bytes": "1",
		}, 1 << 30},
		{"v1 in a container, mounted at the root", "4:memory:/docker/0123\n", map[string]string{v1 + "/memory.limit_in_bytes": "4000"}, 4000},
		{"v1 without a limit", "4:memory:/\n", map[string]string{v1 + "/memory.limit_in_bytes": "9223372036854771712"}, 0},
		{"malformed", "nothing\n4:memory\n", map[string]string{v1 + "/memory.limit_in_bytes": "1"}, 0},
	} {
		root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(c.groups)}}
		for name, content := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(content)}
		}
		if got := containerLimit(root); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestMachineMemory(t *testing.T) {
	root := fstest.MapFS{"proc/meminfo": {Data: []byte("Buffers: 1 kB\nMemTotal:  2048 kB\n")}}
	if got := machineMemory(root); got != 2<<20 {
		t.Error(got)
	}
	if got := machineMemory(fstest.MapFS{}); got != 4<<30 {
		t.Error(got)
	}
}

// TestPressureEnds: freed memory is noticed without further allocations.
func TestPressureEnds(t *testing.T) {
	ballast := make([]byte, 256<<20) // never written, so it uses no physical memory
	runtime.GC()
	short := pressure(280 << 20)
	if !short() {
		t.Fatal("there is memory")
	}
	runtime.KeepAlive(ballast)
	eventually(t, func() error {
		if short() {
			return errors.New("memory is still short")
		}
		return nil
	})
}

func TestPressure(t *testing.T) {
	if pressure(0) != nil {
		t.Error("pressure without a limit")
	}
	if short := pressure(1); !short() {
		t.Error("a limit of one byte is not exceeded")
	}
	if short := pressure(1 << 50); short() {
		t.Error("a limit of a pebibyte is exceeded")
	}
}

func TestCollectorPace(t *testing.T) {
	const mib = 1 << 20
	for _, tc := range []struct {
		live, floor int64
		want        int
	}{
		{0, 128 * mib, gcMost}, {mib, 128 * mib, gcMost}, {16 * mib, 128 * mib, 700}, {64 * mib, 128 * mib, 100}, {128 * mib, 128 * mib, 100}, {192 * mib, 128 * mib, 100}, {256 * mib, 128 * mib, 75}, {1024 * mib, 128 * mib, 50},
	} {
		if got := gcPercent(tc.live, tc.floor); got != tc.want {
			t.Errorf("%d MiB alive, floor %d MiB: GOGC %d, want %d", tc.live/mib, tc.floor/mib, got, tc.want)
		}
	}
}
