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

// Answer is what the reference answers to one document.
type Answer struct {
	// ID is the case's name, with " (register)" for the CRD's own answer.
	ID string `json:"id"`
	// Object is the object as it would be stored.
	Object json.RawMessage `json:"object,omitempty"`
	// PrunedPaths are the unknown fields.
	PrunedPaths []string `json:"prunedPaths,omitempty"`
	// Warnings are those of the strict decoder, for Strict requests the duplicate fields; and those of the strategy.
	Warnings []string `json:"warnings,omitempty"`
	// Errors are the field errors, sorted by message.
	Errors []Finding `json:"errors,omitempty"`
	// Result is what is shown of the object, for table, fields, scale and openapi: a Table, an object with a text for
	// each field, a Scale, the definitions of the kind as v2 and v3 have them.
	Result json.RawMessage `json:"result,omitempty"`
	// Error is set if the object could not be decoded or converted.
	Error string `json:"error,omitempty"`
}

// Finding is one field error.
type Finding struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
	// BadValue is nil where the reference omits it.
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

// take moves the case's own answers from the front of the list into it.
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
