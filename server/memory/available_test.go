package memory

import (
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
