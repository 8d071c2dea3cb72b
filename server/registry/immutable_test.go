package registry

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// An immutableMap behaves like a Go map while it grows and shrinks, and older versions do not change.
func TestImmutableMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var m immutableMap[string, int]
	want := map[string]int{}
	type version struct {
		m    immutableMap[string, int]
		want map[string]int
	}
	var versions []version
	for i := range 20_000 {
		key := fmt.Sprint(r.IntN(3000))
		if grow := i < 10_000; r.IntN(4) == 0 == grow {
			m = m.Delete(key)
			delete(want, key)
		} else {
			m = m.Set(key, i)
			want[key] = i
		}
		if v, found := m.Get(key); m.Len() != len(want) || found != (want[key] != 0 || v != 0) || v != want[key] {
			t.Fatalf("step %d: %q has %d, %t of %d; want %d of %d", i, key, v, found, m.Len(), want[key], len(want))
		}
		if i%1000 == 0 {
			versions = append(versions, version{m, maps.Clone(want)})
		}
	}
	for key := range want {
		m = m.Delete(key)
	}
	m = m.Delete("missing")
	if m.Len() != 0 || len(maps.Collect(m.All())) != 0 {
		t.Errorf("%d entries are left", m.Len())
	}
	for i, v := range versions {
		if !maps.Equal(maps.Collect(v.m.All()), v.want) {
			t.Errorf("the version at step %d has changed", i*1000)
		}
	}
}

func TestMapOrder(t *testing.T) {
	for name, order := range map[string][]int{"ascending": ascending(1000), "descending": descending(1000), "shuffled": rand.New(rand.NewPCG(1, 2)).Perm(1000)} {
		var s immutableMap[int, int]
		for _, k := range order {
			s = s.Set(2*k, k)
		}
		if keys := slices.Collect(maps.Keys(maps.Collect(s.All()))); len(keys) != 1000 {
			t.Errorf("%s: %d keys", name, len(keys))
		}
		for _, after := range []int{-1, 0, 1, 253, 254, 255, 256, 1997, 1998, 5000} {
			want := max(0, after/2+1)
			if after < 0 {
				want = 0
			}
			for k, v := range s.After(after) {
				if k != 2*want || v != want {
					t.Fatalf("%s: after %d comes %d, want %d", name, after, k, 2*want)
				}
				want++
			}
			if want < 1000 {
				t.Errorf("%s: after %d it ends at %d", name, after, want)
			}
		}
		for range s.All() {
			break // the iteration ends
		}
	}
}

func ascending(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

func descending(n int) []int {
	list := ascending(n)
	slices.Reverse(list)
	return list
}

// Small pieces are merged after most of their entries are deleted.
func TestMapPiecesMerge(t *testing.T) {
	var s immutableMap[int, int]
	for i := range 10_000 {
		s = s.Set(i, i)
	}
	full := len(s.pieces)
	for i := range 10_000 {
		if i%100 != 0 {
			s = s.Delete(i)
		}
	}
	if s.Len() != 100 || len(s.pieces) > 10 {
		t.Errorf("%d entries in %d pieces, %d before", s.Len(), len(s.pieces), full)
	}
}

func BenchmarkImmutableMap(b *testing.B) {
	for _, size := range []int{10, 10_000} {
		var m immutableMap[string, int]
		keys := make([]string, size)
		for i := range keys {
			keys[i] = fmt.Sprintf("crontabs%d.stable.example.com", i)
			m = m.Set(keys[i], i)
		}
		b.Run(fmt.Sprintf("get of %d", size), func(b *testing.B) {
			i := 0
			for b.Loop() {
				if _, ok := m.Get(keys[i%size]); !ok {
					b.Fatal("missing")
				}
				i += 7
			}
		})
		b.Run(fmt.Sprintf("set in %d", size), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				m.Set(keys[i%size], 1)
				i += 7
			}
		})
	}
}
