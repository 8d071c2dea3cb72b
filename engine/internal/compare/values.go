package compare

import (
	"bytes"
	"encoding/json"
	"math"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// canonical returns a value as the API server stores it, so that equal values have equal texts.
func canonical(j *apiextensionsv1.JSON) string {
	switch {
	case j == nil:
		return ""
	case len(j.Raw) == 0: // null in an enum
		return "null"
	}
	d := tree.Acquire() // not released by defer: after a panic it must not return to the pool
	root, err := d.ParseJSON(j.Raw, tree.Limits{MaxBytes: max(len(j.Raw), 1)})
	if err != nil {
		return string(j.Raw)
	}
	text := string(d.AppendCanonical(nil, root))
	d.Release()
	return text
}

func sameJSON(a, b *apiextensionsv1.JSON) bool { return canonical(a) == canonical(b) }

// hasDefault reports whether absent values get a default. A default of null has no effect.
func hasDefault(s *Props) bool {
	return s.Default != nil && len(s.Default.Raw) > 0 && canonical(s.Default) != "null"
}

func raw(j *apiextensionsv1.JSON) any { return json.RawMessage(canonical(j)) }

func enumWith(v string) []apiextensionsv1.JSON { return []apiextensionsv1.JSON{{Raw: []byte(v)}} }

func canonicals(enum []apiextensionsv1.JSON) []string {
	list := make([]string, len(enum))
	for i := range enum {
		list[i] = canonical(&enum[i])
	}
	return list
}

func truncated(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func (w *walk) defaults(old, new *Props, at node) {
	was, is := hasDefault(old), hasDefault(new)
	keyword := at.at("default")
	switch {
	case !was && !is:
	case !was:
		w.report("DefaultAdded", careForWrites, keyword, nil, raw(new.Default),
			"objects without a value get this one when they are read, and store it with their next write")
	case !is && at.isRequired:
		w.report("DefaultRemoved", Impact{NeedsCare, Breaking, NeedsCare}, keyword, raw(old.Default), nil,
			"the value is required: objects without it are rejected")
	case !is:
		w.report("DefaultRemoved", careForAll, keyword, raw(old.Default), nil, "objects without a value no longer get one")
	case !sameJSON(old.Default, new.Default) && !bytes.Equal(defaultOf(old), defaultOf(new)):
		w.report("DefaultChanged", careForWrites, keyword, raw(old.Default), raw(new.Default),
			"objects without a value get another one; objects that have stored the old default keep it")
	}
}

// defaultOf returns the default of a schema with the defaults in it, as objects get it.
func defaultOf(s *Props) []byte {
	d := json.NewDecoder(bytes.NewReader(s.Default.Raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return s.Default.Raw
	}
	text, err := json.Marshal(complete(v, s))
	if err != nil {
		return s.Default.Raw
	}
	return []byte(canonical(&apiextensionsv1.JSON{Raw: text}))
}

// complete returns a value with the defaults of a schema. Null is replaced if the schema does not accept it.
func complete(v any, s *Props) any {
	switch v := v.(type) {
	case map[string]any:
		for name, p := range s.Properties {
			if is, ok := v[name]; hasDefault(&p) && (!ok || is == nil && !p.Nullable) {
				var made any
				d := json.NewDecoder(bytes.NewReader(p.Default.Raw))
				if d.UseNumber(); d.Decode(&made) == nil {
					v[name] = made
				}
			}
		}
		for name, below := range v {
			if p, declared := s.Properties[name]; declared {
				v[name] = complete(below, &p)
			} else if values := schema.ValueSchema(s); values != nil {
				v[name] = complete(below, values)
			}
		}
	case []any:
		if items := schema.Items(s); items != nil {
			for i := range v {
				v[i] = complete(v[i], items)
			}
		}
	}
	return v
}

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// pointee returns *p, or nil.
func pointee[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// notAbove reports whether all numbers up to the old bound are within the new one.
func notAbove(old float64, oldOpen bool, new float64, newOpen bool) bool {
	return old < new || old == new && (oldOpen || !newOpen)
}

// looseMultipleOf reports whether every multiple of old is one of new.
func looseMultipleOf(old, new *Props) bool {
	was, is := old.MultipleOf, new.MultipleOf
	switch {
	case was == nil:
		return false
	case *was == *is && numbersOf(old) == numbersOf(new):
		return true
	}
	return *was > 0 && *is > 0 && isWhole(*was) && isWhole(*is) && math.Mod(*was, *is) == 0
}
