package tree

import "testing"

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true}, {`1`, `1.0`, false}, {`1.0`, `1.00`, true}, {`0.0`, `-0.0`, true}, {`-0`, `0`, true}, {`null`, `false`, false}, {`true`, `false`, false},
		{`"a"`, `"\u0061"`, true}, {`"a"`, `"b"`, false}, {`[1,2]`, `[2,1]`, false}, {`[1]`, `[1,1]`, false}, {`[]`, `{}`, false}, {`{}`, `{}`, true},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true}, {`{"a":1,"b":2}`, `{"b":2,"c":1}`, false}, {`{"a":1,"b":2}`, `{"a":1}`, false}, {`{"a":1,"a":2}`, `{"a":2}`, true},
		{`{"a":{"b":[{"c":1}]}}`, `{"a":{"b":[{"c":1}]}}`, true}, {`{"a":{"b":[{"c":1}]}}`, `{"a":{"b":[{"c":2}]}}`, false},
		{manyKeys(40, -1), manyKeys(40, 39), false}, {manyKeys(40, -1), manyKeys(40, -1), true},
	} {
		d, e := Acquire(), Acquire()
		i, j := mustParse(t, d, []byte(c.a)), mustParse(t, e, []byte(c.b))
		if Equal(d, i, e, j) != c.want || Equal(e, j, d, i) != c.want {
			t.Errorf("%s and %s: not %v", c.a, c.b, c.want)
		}
		d.Release()
		e.Release()
	}
}
