package apiserver

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// writtenObjects has the objects that this server is writing or deleting, so that neither the store nor the watch cache
// decodes their bytes again. A written object is here only if the evaluator has reported that it reads as it is written.
// A deleted object comes from the watch cache, and was read.
type writtenObjects struct {
	fields   fieldSets
	mu       sync.Mutex
	expected []map[string]any // objects that will be encoded
	objects  []writtenObject
	cached   func() bool // reports whether there is a watch cache
}

// maxWritten bounds the objects of a version in each list, and maxWrittenText the size of the text of each. The oldest
// object is dropped: its bytes are decoded.
const (
	maxWritten     = 64
	maxWrittenText = 64 << 10
)

// writtenObject is an object with its text in the storage. All readers share the content below its metadata: nothing
// changes it after the object was written, as in the objects of upstream's watch cache.
type writtenObject struct {
	text    string
	content map[string]any
	reads   int // that are left: one of the store, one of the watch cache
}

// expect notes that an object reads as it is written. The caller may change only fields that the storage sets.
func (w *writtenObjects) expect(u *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = append(dropOldest(w.expected, maxWritten), u.Object)
}

// take reports whether an object was expected. It forgets that.
func (w *writtenObjects) take(u *unstructured.Unstructured) bool {
	identity := reflect.ValueOf(u.Object).Pointer()
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.expected, func(e map[string]any) bool { return reflect.ValueOf(e).Pointer() == identity })
	if i < 0 {
		return false
	}
	w.expected = slices.Delete(w.expected, i, i+1)
	return true
}

// share lets objects in the watch cache share equal managed fields. Nothing else may use the object yet.
func (w *writtenObjects) share(u *unstructured.Unstructured) {
	if w.watched() {
		w.fields.share(u)
	}
}

// watched reports whether there may be a watch cache.
func (w *writtenObjects) watched() bool { return w.cached == nil || w.cached() }

// add keeps an object with its text. The caller may change only fields of its metadata.
func (w *writtenObjects) add(text []byte, u *unstructured.Unstructured) {
	if len(text) > maxWrittenText {
		return
	}
	o := writtenObject{string(text), withOwnMetadata(u.Object), 1}
	if w.watched() {
		o.reads = 2
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects = append(dropOldest(w.objects, maxWritten), o)
}

// read returns the content of a text, nil for an unknown text. The caller may replace its fields and those of its
// metadata.
func (w *writtenObjects) read(text []byte) map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	text = bytes.TrimSuffix(text, []byte("\n"))
	i := slices.IndexFunc(w.objects, func(o writtenObject) bool { return o.text == string(text) })
	if i < 0 {
		return nil
	}
	o := &w.objects[i]
	if o.reads--; o.reads > 0 {
		return withOwnMetadata(o.content)
	}
	content := o.content
	w.objects = slices.Delete(w.objects, i, i+1)
	return content
}

// withOwnMetadata returns a copy of an object whose fields can be replaced, and those of its metadata. It shares all
// values below.
func withOwnMetadata(object map[string]any) map[string]any {
	object = maps.Clone(object)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		object["metadata"] = maps.Clone(metadata)
	}
	return object
}

// dropOldest makes space for one element in a list of at most limit.
func dropOldest[E any](list []E, limit int) []E {
	if len(list) < limit {
		return list
	}
	return slices.Delete(list, 0, 1)
}
