package immutable

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// collection is what both can do, in one variable.
type collection interface {
	Len() int
	Get(string) (int, bool)
	All() iter.Seq2[string, int]
	set(string, int)
	remove(string)
	// freeze returns what it has now, to be asked for later.
	freeze() iter.Seq2[string, int]
}

type hashed struct{ Map[string, int] }

func (h *hashed) set(k string, v int)            { h.Map = h.Set(k, v) }
func (h *hashed) remove(k string)                { h.Map = h.Delete(k) }
func (h *hashed) freeze() iter.Seq2[string, int] { kept := h.Map; return kept.All() }

type ordered struct{ Sorted[string, int] }

func (o *ordered) set(k string, v int)            { o.Sorted = o.Set(k, v) }
func (o *ordered) remove(k string)                { o.Sorted = o.Delete(k) }
func (o *ordered) freeze() iter.Seq2[string, int] { kept := o.Sorted; return kept.All() }

// Both do as a Go map does, through growing and shrinking, and what was frozen on the way does not change.
func TestAsAMap(t *testing.T) {
	for name, c := range map[string]collection{"Map": &hashed{}, "Sorted": &ordered{}} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			want := map[string]int{}
			type frozen struct {
				want map[string]int
				all  iter.Seq2[string, int]
			}
			var kept []frozen
			for i := range 20_000 {
				key := fmt.Sprint(r.IntN(3000))
				if grow := i < 10_000; r.IntN(4) == 0 == grow {
					c.remove(key)
					delete(want, key)
				} else {
					c.set(key, i)
					want[key] = i
				}
				if v, found := c.Get(key); c.Len() != len(want) || found != (want[key] != 0 || v != 0) || v != want[key] {
					t.Fatalf("step %d: %q has %d, %t of %d; want %d of %d", i, key, v, found, c.Len(), want[key], len(want))
				}
				if i%1000 == 0 {
					kept = append(kept, frozen{maps.Clone(want), c.freeze()})
				}
			}
			for key := range want {
				c.remove(key)
			}
			c.remove("never there")
			if c.Len() != 0 || len(maps.Collect(c.All())) != 0 {
				t.Errorf("%d left", c.Len())
			}
			for i, k := range kept {
				if !maps.Equal(maps.Collect(k.all), k.want) {
					t.Errorf("what was frozen at step %d changed", i*1000)
				}
			}
		})
	}
}

// Keys whose hashes agree to the last bit end up in one list.
func TestCollisions(t *testing.T) {
	var n *node[string, int]
	const hash = 0x123456789abcdef0
	for i := range 5 {
		var added bool
		if n, added = n.set(&leaf[string, int]{fmt.Sprint(i), i}, hash, depth); !added {
			t.Error("not added")
		}
	}
	if again, added := n.set(&leaf[string, int]{"3", 33}, hash, depth); added || again.slots[3].leaf.value != 33 || n.slots[3].leaf.value != 3 {
		t.Error("not replaced, or replaced in place")
	}
	for i := range 5 {
		var removed bool
		if n, removed = n.remove(fmt.Sprint(i), hash, depth); !removed {
			t.Errorf("%d not removed", i)
		}
	}
	if n != nil {
		t.Error("an empty node stays")
	}
}

func TestOrder(t *testing.T) {
	for name, order := range map[string][]int{"ascending": ascending(1000), "descending": descending(1000), "shuffled": rand.New(rand.NewPCG(1, 2)).Perm(1000)} {
		var s Sorted[int, int]
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
			break // ends on the signal
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

// The pieces do not stay tiny after most of their entries went.
func TestPiecesMerge(t *testing.T) {
	var s Sorted[int, int]
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

func BenchmarkMap(b *testing.B) {
	for _, size := range []int{10, 10_000} {
		var m Map[string, int]
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

func BenchmarkSortedSet(b *testing.B) {
	var s Sorted[string, int]
	for i := range 10_000 {
		s = s.Set(fmt.Sprint(i), i)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Set("5000a", 1)
	}
}
