package document

import (
	"bytes"
	"errors"
	"testing"
)

func TestReadYAML(t *testing.T) {
	text := NewText([]byte("b: on\na:\n- é: 1.0\n  c: x\n"), Position{Line: 11, Offset: 100})
	y, err := ReadYAML(text, Limits{})
	if err != nil || string(y.JSON()) != `{"a":[{"c":"x","é":1}],"b":true}` {
		t.Fatalf("%s, %v", y.JSON(), err)
	}
	if at, found := y.Ignored(); found {
		t.Errorf("text at %+v is ignored", at)
	}
	r, ok := y.Range("/a/0/c")
	if part := text.Bytes()[r.Value.Begin:r.Value.End]; !ok || string(part) != "x" {
		t.Errorf("%+v, %v", r, ok)
	}
	if above, ok := y.Range("/a/0/d"); ok || above.Value.End < r.Value.End {
		t.Errorf("%+v, %v", above, ok)
	}
	origin := y.At(bytes.IndexByte(y.JSON(), 'x') - 1)
	if at := text.Position(origin.Begin()); at != (Position{Line: 14, Column: 6, Offset: 124}) {
		t.Errorf("%+v", at)
	}
}

func TestReadYAMLErrors(t *testing.T) {
	_, err := ReadYAML(NewText([]byte("a: [\n"), Position{Line: 5}), Limits{})
	if syntax, ok := errors.AsType[*SyntaxError](err); !ok || syntax.Position().Line < 5 {
		t.Errorf("%v, %+v", err, syntax)
	}
	_, err = ReadYAML(NewText([]byte("a: 1"), Position{}), Limits{MaxBytes: 3})
	if limit, ok := errors.AsType[*LimitError](err); !ok || limit.Name != "max_document_bytes" || limit.Actual != 4 {
		t.Error(err)
	}
}

func TestIgnored(t *testing.T) {
	y, err := ReadYAML(NewText([]byte("a: 1\n...\nb: 2\n"), Position{Line: 3, Offset: 50}), Limits{})
	if err != nil || string(y.JSON()) != `{"a":1}` {
		t.Fatal(err)
	}
	if at, found := y.Ignored(); !found || at != (Position{Line: 5, Column: 1, Offset: 59}) {
		t.Errorf("%+v, %v", at, found)
	}
}
