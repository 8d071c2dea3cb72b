package memory

import "testing"

func TestPercent(t *testing.T) {
	const mib = 1 << 20
	for _, tc := range []struct {
		live, floor int64
		want        int
	}{
		{0, 128 * mib, maxPercent}, {0, 32 * mib, 800}, {mib, 128 * mib, maxPercent}, {16 * mib, 128 * mib, 700}, {64 * mib, 128 * mib, 100}, {96 * mib, 64 * mib, 100}, {128 * mib, 128 * mib, 75}, {192 * mib, 128 * mib, 50}, {1024 * mib, 128 * mib, 50},
	} {
		if got := percent(tc.live, tc.floor, ServerGrowth, ServerPercent); got != tc.want {
			t.Errorf("%d MiB alive, floor %d MiB: GOGC %d, want %d", tc.live/mib, tc.floor/mib, got, tc.want)
		}
	}
	if got := percent(1024*mib, 32*mib, 8*mib, 20); got != 20 {
		t.Errorf("GOGC %d, want the least, 20", got)
	}
}
