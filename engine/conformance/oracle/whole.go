package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// CompareWhole lists the differences between our answer and that of the API server's handlers: code, reason, message
// and causes of a rejection; the response and the stored object; what mutating admission receives; warnings. Causes,
// and the warnings of an update, are compared as multisets, because upstream's order is that of Go maps.
func CompareWhole(upstream, ours Answer, update bool) []string {
	var d []string
	if diff := compareStatuses(upstream, ours); diff != "" {
		d = append(d, diff)
	}
	for _, part := range []struct {
		what           string
		upstream, ours []byte
	}{
		{"object", upstream.Object, ours.Object}, {"stored object", upstream.Stored, ours.Stored},
		{"object at admission", upstream.Decoded, ours.Decoded}, {"old object at admission", upstream.OldDecoded, ours.OldDecoded},
	} {
		if strings.HasSuffix(part.what, "at admission") {
			part.ours = reprinted(part.ours)
		}
		if part.what == "object" && upstream.Deletes && upstream.Object == nil {
			continue // upstream returned nothing, see answerOf
		}
		if part.what == "old object at admission" && (upstream.Decoded == nil) == (ours.Decoded == nil) && upstream.OldDecoded == nil {
			continue // it has no uid: an API server treats the write as a creation
		}
		if up, our := unmanaged(part.upstream), unmanaged(part.ours); !sameJSON(up, our) {
			d = append(d, fmt.Sprintf("%s: upstream %s, ours %s", part.what, text(up), text(our)))
		}
	}
	if upstream.Unchanged != ours.Unchanged {
		d = append(d, fmt.Sprintf("unchanged: upstream %v, ours %v", upstream.Unchanged, ours.Unchanged))
	}
	if upstream.Deletes != ours.Deletes {
		d = append(d, fmt.Sprintf("deletes: upstream %v, ours %v", upstream.Deletes, ours.Deletes))
	}
	before, after := upstream.Warnings, ours.Warnings
	if update {
		before, after = slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(after))
		if runes(before) > cutFrom && runes(after) > cutFrom {
			return d // which warnings the recorder truncates or drops depends on their order
		}
	}
	return append(d, compareLists("warning", before, after)...)
}

// compareStatuses compares rejections. It compares the causes if both have a Status.
func compareStatuses(upstream, ours Answer) string {
	if upstream.Rejection == nil || ours.Rejection == nil || upstream.Status == nil || ours.Status == nil {
		return compareRejections(upstream.Rejection, ours.Rejection)
	}
	up, our := statusOf(upstream.Status), statusOf(ours.Status)
	if len(causesOf(up)) < 2 {
		if diff := compareRejections(upstream.Rejection, ours.Rejection); diff != "" {
			return diff
		}
	} else if !sameMessage(up, our) {
		return fmt.Sprintf("message: upstream %q, ours %q", up.Message, our.Message)
	}
	if a, b := withoutOrder(up), withoutOrder(our); !sameJSON(a, b) {
		return fmt.Sprintf("status: upstream %s, ours %s", a, b)
	}
	return ""
}

// statusOf decodes a Status and removes the names that upstream generates.
func statusOf(text []byte) metav1.Status {
	var s metav1.Status
	_ = json.Unmarshal([]byte(Timeless(string(text))), &s)
	return s
}

func causesOf(s metav1.Status) []metav1.StatusCause {
	if s.Details == nil {
		return nil
	}
	return s.Details.Causes
}

// sameMessage compares the messages of two rejections with the same causes. The causes appear in any order.
func sameMessage(up, our metav1.Status) bool {
	if len(up.Message) != len(our.Message) || up.Reason != our.Reason || up.Code != our.Code {
		return false
	}
	prefix, _, _ := strings.Cut(up.Message, "[")
	if !strings.HasPrefix(our.Message, prefix) {
		return false
	}
	for _, c := range causesOf(up) {
		if cause := c.Field + ": " + c.Message; strings.Contains(up.Message, cause) && !strings.Contains(our.Message, cause) {
			return false
		}
	}
	return true
}

// withoutOrder returns a Status with sorted causes, and without its message if it has several causes.
func withoutOrder(s metav1.Status) []byte {
	if causes := causesOf(s); len(causes) > 1 {
		s.Message = ""
		sort.Slice(causes, func(i, j int) bool {
			a, b := causes[i], causes[j]
			return a.Field+"\x00"+a.Message+"\x00"+string(a.Type) < b.Field+"\x00"+b.Message+"\x00"+string(b.Type)
		})
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return text
}

// unmanaged returns an object without managed fields, which depend on the server.
func unmanaged(text []byte) []byte {
	if !bytes.Contains(text, []byte(`"managedFields"`)) {
		return text
	}
	return edited(text, func(metadata map[string]any) { delete(metadata, "managedFields") })
}

// reprinted returns an object as upstream prints it: 1.0 as 1. What crdeval passes to mutating admission keeps such
// numbers, so that they are evaluated unchanged.
func reprinted(text []byte) []byte {
	var u unstructured.Unstructured
	if len(text) == 0 || u.UnmarshalJSON(text) != nil {
		return text
	}
	made, err := json.Marshal(u.Object)
	if err != nil {
		return text
	}
	return made
}

// edited returns an object with changed metadata, or the text itself if it has no metadata.
func edited(text []byte, edit func(metadata map[string]any)) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return text
	}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return text
	}
	edit(metadata)
	made, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("oracle: what was decoded cannot be encoded: %v", err))
	}
	return made
}

// withoutRandom replaces the random end of a generated name by that of crdeval.
func withoutRandom(name string) string { return name[:len(name)-5] + "00000" }

// named returns an answer with the generated name that crdeval adds. The objects get none.
func (a Answer) named(base string) Answer {
	name := nameOf(a)
	if len(name) < 5 || !strings.HasPrefix(base, name[:len(name)-5]) {
		return a
	}
	completed := withoutRandom(name)
	if a.Rejection != nil {
		r := *a.Rejection
		r.Message = strings.ReplaceAll(r.Message, name, completed)
		a.Rejection = &r
	}
	a.Status = json.RawMessage(strings.ReplaceAll(string(a.Status), name, completed))
	for _, object := range []*json.RawMessage{&a.Object, &a.Stored} {
		if *object != nil {
			*object = edited(*object, func(metadata map[string]any) { delete(metadata, "name") })
		}
	}
	return a
}

// nameOf returns the name in an answer.
func nameOf(a Answer) string {
	if s := statusOf(a.Status); s.Details != nil {
		return s.Details.Name
	}
	var o struct{ Metadata metav1.ObjectMeta }
	_ = json.Unmarshal(a.Object, &o)
	return o.Metadata.Name
}
