package casefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Answer is upstream's result for one document.
type Answer struct {
	// ID is the name of the case. For the CRD's own answer it ends in " (register)".
	ID string `json:"id"`
	// Object is the object as stored.
	Object json.RawMessage `json:"object,omitempty"`
	// PrunedPaths are the paths of unknown fields.
	PrunedPaths []string `json:"prunedPaths,omitempty"`
	// Warnings are those of the strict decoder, then those of the strategy. With Strict, the decoder's are duplicate
	// fields only.
	Warnings []string `json:"warnings,omitempty"`
	// Errors are the field errors, sorted by message.
	Errors []FieldError `json:"errors,omitempty"`
	// Result is the output of other operations: a Table (table), an object with a text for each field (fields), a Scale
	// (scale), or the v2 and v3 definitions (openapi).
	Result json.RawMessage `json:"result,omitempty"`
	// Error is set if the object could not be decoded or converted.
	Error string `json:"error,omitempty"`
}

// FieldError is one field error.
type FieldError struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
	// BadValue is nil if upstream omits it.
	BadValue json.RawMessage `json:"badValue,omitempty"`
	// Message is field.Error.Error().
	Message string `json:"message"`
}

func loadAnswers(path string) ([]Answer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var answers []Answer
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var a Answer
		if err := d.Decode(&a); errors.Is(err, io.EOF) {
			return answers, nil
		} else if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
}

// take moves the answers of the case from the front of the list into the case. It returns the rest.
func (c *Case) take(answers []Answer) ([]Answer, error) {
	if c.Register {
		if len(answers) == 0 || strings.TrimSuffix(answers[0].ID, " (register)") != c.Name {
			return nil, fmt.Errorf("no answer to the registration")
		}
		c.Registration, answers = &answers[0], answers[1:]
	}
	for len(answers) > 0 && answers[0].ID == c.Name {
		c.Answers, answers = append(c.Answers, answers[0]), answers[1:]
	}
	return answers, nil
}
