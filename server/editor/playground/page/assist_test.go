package page

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/crdeval/crdeval/server/editor/assist"
)

// cut returns a text without its |, and the offset of the | in UTF-16 code units.
func cut(text string) (string, int) {
	before, after, _ := strings.Cut(text, "|")
	return before + after, len(utf16.Encode([]rune(before)))
}

// at returns the input for the | in a document.
func at(crd, document, text string) (in CursorInput) {
	in.CRD, in.Document = crd, document
	text, in.Offset = cut(text)
	switch document {
	case DocumentCRD:
		in.CRD = text
	case DocumentObject:
		in.Object = text
	case DocumentOldObject:
		in.OldObject = text
	}
	return in
}

// part returns the part of a text in a range of UTF-16 code units.
func part(text string, r *Range) string {
	if r == nil {
		return ""
	}
	return string(utf16.Decode(utf16.Encode([]rune(text))[r.Start.Offset:r.End.Offset]))
}

func TestComplete(t *testing.T) {
	crd := crdOf(boat)
	head, _, _ := strings.Cut(boatObject, "  oars")
	crdHead, _, _ := strings.Cut(crd, "scope")
	for name, c := range map[string]struct {
		in       CursorInput
		replaced string
		want     []string // the labels of the first items
		err      string   // part of the error
	}{
		"fields": {at(crd, "object", head+"  o|"),
			"o", []string{"colour", "crew", "name", "oars", "tags"}, ""},
		"an enum":        {at(crd, "object", head+"  colour: |"), "", []string{"red", `"no"`}, ""},
		"the old object": {at(crd, "oldObject", head+"  colour: r|"), "r", []string{"red", `"no"`}, ""},
		"after non-ASCII": {at(crd, "object", "# é🙂\n"+head+"  name: ä🙂\n  col|o: x\n"),
			"colo", []string{"colour", "crew"}, ""},
		"a kind": {at(crd, "object", "kind: |"), "", []string{"Boat"}, ""},
		"a field of a CRD": {at("", "crd", crdHead+"sc|"),
			"sc", []string{"names", "scope"}, ""},
		"a keyword of a schema": {at("", "crd", strings.Replace(crd, "minLength: 3", "minL|", 1)),
			"minL", []string{"additionalProperties", "allOf"}, ""},
		"a value of a CRD": {at("", "crd", strings.Replace(crd, "scope: Cluster", "scope: |Cluster", 1)),
			"Cluster", []string{"Namespaced", "Cluster"}, ""},
		"the kind of a CRD": {at("", "crd", "kind: |"), "", []string{"CustomResourceDefinition"}, ""},
		"a rejected CRD": {at(strings.Replace(crd, "type: integer", "type: int", 1), "object", head+"  o|"),
			"", nil, ""},
		"nothing": {at(crd, "object", head+"  name: |x"), "", nil, ""},
		"after the end": {CursorInput{CRD: crd, Document: "object", Object: head + "  o", Offset: 1 << 40},
			"o", []string{"colour"}, ""},
		"before the begin": {CursorInput{CRD: crd, Document: "object", Object: "o", Offset: -1},
			"o", []string{"apiVersion"}, ""},
		"no CRD":       {at("", "object", head+"  o|"), "", nil, "there is no CRD"},
		"a broken CRD": {at("a: [", "object", head+"  o|"), "", nil, "invalid YAML"},
		"no document":  {CursorInput{CRD: crd}, "", nil, `unknown document ""`},
		"a large object": {at(crd, "object", strings.Repeat("a", MaxDocumentBytes+1)),
			"", nil, "exceed the limit"},
	} {
		got := new(Evaluator).Complete(t.Context(), c.in)
		message := ""
		if got.Error != nil {
			message = got.Error.Message
		}
		if (c.err == "") != (message == "") || !strings.Contains(message, c.err) {
			t.Errorf("%s: error %q, want %q", name, message, c.err)
		}
		labels := []string{}
		for _, item := range got.Items {
			labels = append(labels, item.Label)
		}
		if len(labels) < len(c.want) || !slices.Equal(labels[:len(c.want)], c.want) || c.want == nil && len(labels) > 0 {
			t.Errorf("%s: %q, want %q", name, labels, c.want)
		}
		text := map[string]string{DocumentCRD: c.in.CRD, DocumentObject: c.in.Object, DocumentOldObject: c.in.OldObject}
		if replaced := part(text[c.in.Document], got.Range); replaced != c.replaced {
			t.Errorf("%s replaces %q, want %q", name, replaced, c.replaced)
		}
	}
}

func TestHover(t *testing.T) {
	crd := crdOf(boat)
	for name, c := range map[string]struct {
		in                     CursorInput
		key, path, kind, about string // about is a part of the text
		details                int
	}{
		"a field": {at(crd, "object", "# 🙂\n"+boatObject[:len(boatObject)-2]+"|4\n"),
			"oars", "spec.oars", "integer", "FIELD: oars", 2},
		"a field of a CRD": {at("", "crd", strings.Replace(crd, "scope:", "sco|pe:", 1)),
			"scope", "spec.scope", "string", "belong to namespaces", 2},
		"not a field":       {at(crd, "object", "|"), "", "", "", "", 0},
		"the unknown field": {at(crd, "object", boatObject+"  masts|: 2"), "", "", "", "", 0},
	} {
		got := new(Evaluator).Hover(t.Context(), c.in)
		if got.Error != nil {
			t.Errorf("%s: %s", name, got.Error.Message)
		}
		f := got.Field
		if f == nil {
			f = &Field{}
		}
		text := c.in.Object
		if c.in.Document == DocumentCRD {
			text = c.in.CRD
		}
		key := part(text, f.Range)
		if key != c.key || f.Path != c.path || f.Type != c.kind || len(f.Details) != c.details ||
			!strings.Contains(f.Text, c.about) {
			t.Errorf("%s: key %q, %s", name, key, encode(got))
		}
	}
	if got := new(Evaluator).Hover(t.Context(), at("", "object", boatObject)); got.Error == nil || got.Field != nil {
		t.Errorf("without a CRD: %s", encode(got))
	}
}

// TestAssistReusesCRD checks that questions about an object do not compile its CRD again.
func TestAssistReusesCRD(t *testing.T) {
	e, crd := new(Evaluator), crdOf(boat)
	e.Evaluate(t.Context(), Input{CRD: crd, Object: boatObject})
	want := e.last
	e.Complete(t.Context(), at(crd, "object", boatObject+"  na|"))
	e.Hover(t.Context(), at(crd, "object", boatObject+"  na|me: x"))
	e.Complete(t.Context(), at("", "crd", crd+"# |"))
	if want == nil || e.last != want {
		t.Error("the CRD was compiled again")
	}
	want.assistant = &assist.Assistant{} // without a workspace, a question panics
	got := e.Complete(t.Context(), at(crd, "object", boatObject+"  na|"))
	if got.Error == nil || got.Error.Reason != "INTERNAL" {
		t.Errorf("after a panic: %s", encode(got))
	}
}

// TestOffset compares the offsets in UTF-16 code units with those of an encoder, also at the ends of blocks.
func TestOffset(t *testing.T) {
	for _, text := range []string{
		"", "a", "é🙂\nb", strings.Repeat("a🙂é漢\n", 900), strings.Repeat("a", blockSize),
		strings.Repeat("🙂", blockSize),
	} {
		p, units := newPositions(text), 0
		for at, r := range text {
			if got := p.offset(units); got != at {
				t.Fatalf("unit %d of %d bytes: offset %d, want %d", units, len(text), got, at)
			}
			if got := p.position(at).Offset; got != units {
				t.Fatalf("offset %d of %d bytes: unit %d, want %d", at, len(text), got, units)
			}
			if got := p.offset(units + 1); utf16.RuneLen(r) == 2 && got != at {
				t.Fatalf("unit %d of %d bytes, in a character: offset %d, want %d", units+1, len(text), got, at)
			}
			units += utf16.RuneLen(r)
		}
		ends := []int{p.offset(-1), p.offset(units), p.offset(units + 5)}
		if want := []int{0, len(text), len(text)}; !slices.Equal(ends, want) {
			t.Errorf("offsets at the ends of a text: %d, want %d", ends, want)
		}
	}
}
