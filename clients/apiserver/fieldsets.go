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
	sets []fieldSet
}

// maxFieldSets bounds the sets of a version that can be shared, and maxFieldSetBytes the memory of each, which is
// fieldBytes and the length of the name for each field. The oldest set is dropped.
const (
	maxFieldSets     = 64
	maxFieldSetBytes = 64 << 10
	fieldBytes       = 340 // of a map with one field
)

type fieldSet struct {
	hash   uint64
	fields map[string]any
}

var fieldSeed = maphash.MakeSeed()

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

// shared returns an equal set of an earlier call, or else the given one.
func (s *fieldSets) shared(fields map[string]any) map[string]any {
	left := maxFieldSetBytes
	set := fieldSet{hashFields(fields, &left), fields}
	if left < 0 {
		return fields
	}
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

// hashFields returns a number that is equal for equal sets. It subtracts the memory of the set from left, in bytes. After
// it, left is negative if the set is too large or malformed.
func hashFields(fields map[string]any, left *int) uint64 {
	sum := uint64(len(fields))
	for name, v := range fields {
		below, ok := v.(map[string]any)
		if *left -= fieldBytes + len(name); !ok {
			*left = -1
		}
		if *left < 0 {
			break
		}
		sum += maphash.String(fieldSeed, name) * (1 + hashFields(below, left))
	}
	return sum
}
