package apiserver

import (
	"hash/maphash"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fieldSets lets the objects of a version share equal fieldsV1 of their managed fields. Most objects of a kind have the
// same ones, and they take about a third of the memory of a small object.
type fieldSets struct {
	mu   sync.Mutex
	seed maphash.Seed
	sets []fieldSet
}

// maxFieldSets bounds the sets of a version that can be shared. The oldest set is dropped.
const maxFieldSets = 64

type fieldSet struct {
	hash   uint64
	fields map[string]any
}

func newFieldSets() *fieldSets { return &fieldSets{seed: maphash.MakeSeed()} }

// share replaces the fieldsV1 of an object that nothing else uses yet. Nothing may change them afterwards.
func (s *fieldSets) share(u *unstructured.Unstructured) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if fields, ok := entry["fieldsV1"].(map[string]any); ok {
			entry["fieldsV1"] = s.shared(fields)
		}
	}
}

// shared returns an equal set, which is the given one the first time.
func (s *fieldSets) shared(fields map[string]any) map[string]any {
	set := fieldSet{s.hash(fields), fields}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.sets, func(other fieldSet) bool {
		return other.hash == set.hash && equalValues(other.fields, fields)
	})
	if i >= 0 {
		return s.sets[i].fields
	}
	s.sets = append(dropOldest(s.sets, maxFieldSets), set)
	return fields
}

// hash returns a number that is equal for equal sets.
func (s *fieldSets) hash(fields map[string]any) uint64 {
	sum := uint64(len(fields))
	for name, v := range fields {
		below, _ := v.(map[string]any)
		sum += maphash.String(s.seed, name) ^ s.hash(below)*0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	}
	return sum
}
