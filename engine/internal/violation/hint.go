package violation

// Hint is what was probably meant. Package hint finds it.
type Hint struct {
	// Text is a sentence.
	Text string
	// Pointer is the JSON pointer of the field that is meant, "" if the hint names no other field.
	Pointer string
	// Replacement is the value that is meant as JSON, nil if the hint suggests none.
	Replacement []byte
}
