package host

import "github.com/crdeval/crdeval/engine/internal/tree"

// EvaluationMemory returns approximately how many bytes of memory the evaluation of an object in JSON needs, with the
// object. It can parse the object three times. The bytes of the parts of a text add up to those of the text.
func EvaluationMemory(object []byte) int64 { return 3 * int64(len(object)+tree.MaxTreeSize(object)) }
