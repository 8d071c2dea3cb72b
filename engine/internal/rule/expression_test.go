package rule

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// sourceSchema is the schema of self in the tests of expressions, the root of a version.
const sourceSchema = `
type: object
properties:
  spec:
    type: object
    required: [host]
    properties:
      host: {type: string, maxLength: 100}
      alias: {type: string, maxLength: 100}
      port: {type: integer}
      ratio: {type: number}
      "on": {type: boolean}
      ios: {x-kubernetes-int-or-string: true}
      data: {type: string, format: byte, maxLength: 100}
      at: {type: string, format: date-time}
      day: {type: string, format: date}
      wait: {type: string, format: duration}
      a.b: {type: string, maxLength: 100}
      none: {type: string, nullable: true, maxLength: 100}
      names: {type: array, maxItems: 10, items: {type: string, maxLength: 100}}
      set: {type: array, maxItems: 10, x-kubernetes-list-type: set, items: {type: string, maxLength: 100}}
      ports:
        type: array
        maxItems: 10
        items: &port
          type: object
          properties: {name: {type: string, maxLength: 100}, port: {type: integer}, tls: {type: object, properties: {"on": {type: boolean}}}}
      named:
        type: array
        maxItems: 10
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties: {name: {type: string, maxLength: 100}, port: {type: integer}}
      labels: {type: object, maxProperties: 10, additionalProperties: {type: string, maxLength: 100}}
      byName:
        type: object
        maxProperties: 10
        additionalProperties: {type: object, properties: {port: {type: integer}, host: {type: string, maxLength: 100}}}
      tls: {type: object, properties: {cert: {type: string, maxLength: 100}, deep: {type: object, properties: {x: {type: integer}}}}}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {x: {type: integer}}}
`

// targets are schemas of fields, by name.
var targets = map[string]string{
	"string": `{type: string}`, "int": `{type: integer}`, "number": `{type: number}`, "bool": `{type: boolean}`,
	"ios": `{x-kubernetes-int-or-string: true}`, "bytes": `{type: string, format: byte}`, "date": `{type: string, format: date}`,
	"time": `{type: string, format: date-time}`, "duration": `{type: string, format: duration}`,
	"nullable": `{type: string, nullable: true}`, "any": `{x-kubernetes-preserve-unknown-fields: true}`,
	"strings": `{type: array, items: {type: string}}`, "ints": `{type: array, items: {type: integer}}`,
	"map": `{type: object, additionalProperties: {type: string}}`, "intMap": `{type: object, additionalProperties: {type: integer}}`,
	"object":    `{type: object, properties: {name: {type: string}, port: {type: integer}, tls: {type: object, properties: {"on": {type: boolean}}}}}`,
	"objects":   `{type: array, items: {type: object, properties: {name: {type: string}, port: {type: integer}, tls: {type: object, properties: {"on": {type: boolean}}}}}}`,
	"objectMap": `{type: object, additionalProperties: {type: object, properties: {port: {type: integer}, host: {type: string}}}}`,
	"open":      `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {x: {type: integer}}}`,
	"anys":      `{type: array, items: {x-kubernetes-preserve-unknown-fields: true}}`,
}

func sourceScope(t testing.TB) *celcheck.Scope {
	t.Helper()
	return celcheck.NewShared().Root(props(t, sourceSchema))
}

func target(t testing.TB, name string) *schema.Props {
	t.Helper()
	text, ok := targets[name]
	if !ok {
		t.Fatalf("no target %s", name)
	}
	return props(t, text)
}

// evaluateExpression returns the result as JSON, "absent", or the error. left is the budget that is left after a result.
func evaluateExpression(t testing.TB, x *Expression, self string, complete, noClosures bool) (result string, left int64) {
	t.Helper()
	d := tree.Acquire()
	defer d.Release()
	r := Start(d)
	defer r.Close()
	r.NoClosures = noClosures
	root := parse(t, d, self, tree.Request)
	before := string(d.AppendJSON(nil, root))
	node, err := x.Evaluate(r, root, complete)
	switch {
	case err != nil:
		return "error: " + err.Error(), 0
	case node == 0:
		return "absent", 0
	}
	if d.Key(node) != "" || d.Nodes[node].Next != 0 {
		t.Errorf("%s: the result has a key or a sibling", x.text)
	}
	if text := string(d.AppendJSON(nil, root)); text != before {
		t.Errorf("%s: the object became %s", x.text, text)
	}
	out := string(d.AppendJSON(nil, node))
	again := tree.Acquire()
	defer again.Release()
	if i := parse(t, again, string(d.AppendDecoded(nil, node)), tree.Request); !tree.Equal(d, node, again, i) {
		t.Errorf("%s: the nodes of %s are not those of its text", x.text, out)
	}
	return out, r.Left
}

const full = `{"apiVersion":"v1","kind":"K","metadata":{"name":"n"},"spec":{"host":"h","alias":"a","port":80,"ratio":0.5,"on":true,"ios":"x",` +
	`"data":"aGk=","at":"2020-01-02T03:04:05Z","day":"2020-01-02","wait":"90m","a.b":"ab","names":["x","y"],"set":["s"],` +
	`"ports":[{"name":"p","port":1,"tls":{"on":true}},{"port":2,"name":"q"}],"named":[{"name":"p","port":1}],"labels":{"z":"1","k":"v"},` +
	`"byName":{"p":{"port":1}},"tls":{"cert":"c","deep":{"x":9007199254740993}},"open":{"x":1,"y":[1,{"b":1,"a":2}]}}}`

// expressionCases are expressions with the results for objects. The object "" is full.
var expressionCases = []struct{ target, text, self, want string }{
	{"string", `self.spec.host + ':' + string(self.spec.port)`, "", `"h:80"`},
	{"string", `self.spec.host + ':' + string(self.spec.port)`, `{"spec":{"host":"h"}}`, `absent`},
	{"string", `self.spec.host`, `{"spec":{"host":"a\"\u00fc\n"}}`, `"a\"ü\n"`},
	{"string", `self.spec.host`, `{}`, `absent`},
	{"string", `self.spec.none`, `{"spec":{"none":null}}`, `absent`},
	{"string", `self.metadata.name + self.kind`, "", `"nK"`},
	{"string", `has(self.spec.alias) ? self.spec.alias : self.spec.host`, `{"spec":{"host":"h"}}`, `"h"`},
	{"string", `has(self.spec.alias) ? self.spec.alias : self.spec.host`, "", `"a"`},
	{"string", `has(self.spec.tls.cert) ? 'a' : 'b'`, `{"spec":{"host":"h"}}`, `absent`},
	{"string", `self.spec.?alias.orValue('d')`, `{"spec":{}}`, `"d"`},
	{"string", `self.spec.?alias`, `{"spec":{}}`, `absent`},
	{"string", `self.spec.?alias`, "", `"a"`},
	{"string", `self.?spec.?tls.?cert.orValue(self.spec.host)`, `{"spec":{"host":"h"}}`, `"h"`},
	{"string", `self.spec.on ? optional.none() : optional.of(self.spec.host)`, "", `absent`},
	{"string", `self.spec.a__dot__b`, "", `"ab"`},
	{"string", `self.spec.labels['k'] + self.spec.labels.z`, "", `"v1"`},
	{"string", `self.spec.labels['none']`, "", `absent`},
	{"string", `{'a': 'x'}[self.spec.host]`, "", `error: no such key: h`},
	{"string", `has(self.spec.host) ? {'a': 'x'}[self.spec.host] : 'y'`, "", `error: no such key: h`},
	{"string", `{'a': 'x'}[?self.spec.host]`, "", `absent`},
	{"string", `{'a': 'x'}[self.spec.alias]`, `{"spec":{}}`, `absent`},
	{"string", `{self.spec.alias: 'x'}[self.spec.host]`, `{"spec":{"host":"h"}}`, `absent`},
	{"string", `{'h': self.spec.labels[self.spec.host]}[self.spec.host]`, `{"spec":{"host":"h","labels":{"k":"v"}}}`, `absent`},
	{"strings", `self.spec.ports.map(p, {'a': 'x'}[p.name])`, `{"spec":{"ports":[{"name":"a"},{}]}}`, `absent`},
	{"strings", `self.spec.ports.map(p, {'a': 'x'}[p.name])`, `{"spec":{"ports":[{"name":"a"},{"name":"b"}]}}`, `error: no such key: b`},
	{"string", `self.spec.labels[self.spec.alias]`, `{"spec":{"alias":"k","labels":{"k":"v"}}}`, `"v"`},
	{"string", `self.spec.labels[self.spec.alias]`, `{"spec":{"alias":"o","labels":{"k":"v"}}}`, `absent`},
	{"string", `'k' in self.spec.labels ? self.spec.labels['k'] : 'no'`, `{"spec":{"labels":{"o":"v"}}}`, `"no"`},
	{"string", `self.spec.names[0]`, "", `"x"`},
	{"string", `self.spec.names[2]`, "", `error: index out of bounds: 2`},
	{"string", `self.spec.names.filter(n, n != 'x')[0]`, "", `"y"`},
	{"string", `self.spec.host.split('.')[0].upperAscii()`, `{"spec":{"host":"ab.c"}}`, `"AB"`},
	{"string", `self.spec.names.join(',')`, "", `"x,y"`},
	{"string", `'%s-%d'.format([self.spec.host, self.spec.port])`, "", `"h-80"`},
	{"string", `dyn(self.spec.port)`, "", `COMPILE 1:14: the expression has the type int`},
	{"string", `[dyn(self.spec.port)][0]`, "", `error: the value is 80, and the field needs a string`},
	{"string", `[dyn(self.spec.open)][0]`, "", `error: the value is an object, and the field needs a string`},
	{"string", `string(self.spec.at) + string(self.spec.wait)`, "", `"2020-01-02T03:04:05Z5400s"`},
	{"string", `'<>&'`, "", `"<>&"`},
	{"nullable", `self.spec.on ? null : dyn(self.spec.host)`, "", `null`},
	{"string", `[dyn(null), dyn(self.spec.host)][0]`, "", `error: the value is null, and the field needs a string`},
	{"int", `self.spec.port + 1`, "", `81`},
	{"int", `self.spec.port / 0`, "", `error: division by zero`},
	{"int", `1 / self.spec.port`, `{"spec":{"port":0}}`, `error: division by zero`},
	{"int", `int(self.spec.host)`, `{"spec":{"host":"x"}}`, `error: type conversion error from 'string' to 'int'`},
	{"int", `int(self.spec.host)`, `{"spec":{"host":"9223372036854775807"}}`, `9223372036854775807`},
	{"int", `self.spec.port + 9223372036854775807`, "", `error: integer overflow`},
	{"int", `self.spec.tls.deep.x`, "", `9007199254740993`},
	{"int", `self.spec.ios == 'x' ? 1 : 2`, "", `1`},
	{"int", `size(self.spec.ports)`, "", `2`},
	{"int", `self.spec.ports.map(p, p.port).sum()`, "", `3`},
	{"int", `self.spec.ports.filter(p, p.tls.on)[0].port`, "", `absent`},
	{"int", `self.spec.ports.filter(p, has(p.tls) && p.tls.on)[0].port`, "", `1`},
	{"int", `self.spec.ports[0].port`, "", `1`},
	{"int", `self.spec.byName['p'].port`, "", `1`},
	{"int", `self.spec.byName['q'].port`, "", `absent`},
	{"int", `self.spec.ios + 1`, "", `error: no such overload`},
	{"int", `self.spec.ios`, "", `error: the value is "x", and the field needs an integer`},
	{"int", `self.spec.ios`, `{"spec":{"ios":3}}`, `3`},
	{"int", `self.spec.port`, `{"spec":{"port":"x"}}`, `error: invalid data, expected int, got string`},
	{"number", `self.spec.ratio`, "", `0.5`},
	{"number", `self.spec.ratio * 4.0`, "", `2`},
	{"number", `self.spec.ratio`, `{"spec":{"ratio":3}}`, `3`},
	{"number", `self.spec.ratio / 3.0e25`, "", `1.6666666666666665e-26`},
	{"number", `self.spec.port`, "", `80`},
	{"number", `self.spec.ratio / 0.0`, "", `error: the value is +Inf, which JSON does not have, and the field needs a number`},
	{"bool", `self.spec.on && self.spec.port > 1`, "", `true`},
	{"bool", `has(self.spec.host)`, `{"spec":{}}`, `false`},
	{"bool", `self.spec.alias == 'a' || self.spec.on`, `{"spec":{"on":true}}`, `true`},
	{"bool", `self.spec.alias == 'a' || self.spec.on`, `{"spec":{"on":false}}`, `absent`},
	{"ios", `self.spec.port`, "", `80`},
	{"ios", `string(self.spec.port) + '%'`, "", `"80%"`},
	{"ios", `self.spec.ios`, "", `"x"`},
	{"ios", `[dyn(self.spec.host), dyn(1.5)][1]`, "", `error: the value is 1.5, and the field needs an integer or a string`},
	{"bytes", `self.spec.data`, "", `"aGk="`},
	{"bytes", `bytes(self.spec.host)`, "", `"aA=="`},
	{"bytes", `self.spec.data + b'!'`, "", `"aGkh"`},
	{"bytes", `'aGk='`, "", `"aGk="`},
	{"string", `string(self.spec.data)`, "", `"hi"`},
	{"time", `self.spec.at`, "", `"2020-01-02T03:04:05Z"`},
	{"time", `self.spec.at + duration('1h500ms')`, "", `"2020-01-02T04:04:05.5Z"`},
	{"time", `self.spec.at`, `{"spec":{"at":"2020-01-02T03:04:05+02:00"}}`, `"2020-01-02T03:04:05+02:00"`},
	{"date", `self.spec.at`, "", `"2020-01-02"`},
	{"date", `self.spec.day`, "", `"2020-01-02"`},
	{"duration", `self.spec.wait`, "", `"1h30m0s"`},
	{"duration", `self.spec.wait + duration('1s')`, "", `"1h30m1s"`},
	{"duration", `string(self.spec.port) + 's'`, "", `"80s"`},
	{"strings", `self.spec.names`, "", `["x","y"]`},
	{"strings", `self.spec.names`, `{"spec":{"names":[]}}`, `[]`},
	{"strings", `self.spec.names.map(n, n + '!')`, "", `["x!","y!"]`},
	{"strings", `self.spec.names.map(n, n + '!')`, `{"spec":{"names":[]}}`, `[]`},
	{"strings", `self.spec.names + [self.spec.host]`, "", `["x","y","h"]`},
	{"strings", `[self.spec.host, self.spec.alias]`, "", `["h","a"]`},
	{"strings", `[?self.spec.?alias, self.spec.host]`, `{"spec":{"host":"h"}}`, `["h"]`},
	{"strings", `self.spec.labels.map(k, k + '=' + self.spec.labels[k])`, "", `["z=1","k=v"]`},
	{"strings", `self.spec.ports.map(p, p.name)`, "", `["p","q"]`},
	{"strings", `self.spec.ports.map(p, p.name)`, `{"spec":{"ports":[{"name":"a"},{}]}}`, `absent`},
	{"strings", `self.spec.ports.filter(p, has(p.name)).map(p, p.name)`, `{"spec":{"ports":[{"name":"a"},{}]}}`, `["a"]`},
	{"strings", `self.spec.ports.sortBy(p, p.port).map(p, p.name)`, `{"spec":{"ports":[{"name":"b","port":2},{"name":"a","port":1}]}}`, `["a","b"]`},
	{"strings", `self.spec.ports.sortBy(p, p.port).map(p, p.name)`, `{"spec":{"ports":[{"name":"b"},{"name":"a","port":1}]}}`, `absent`},
	{"ints", `self.spec.ports.map(p, p.port).sort()`, `{"spec":{"ports":[{"name":"b"},{"name":"a","port":1}]}}`, `absent`},
	{"ints", `self.spec.ports.map(p, 1 / p.port).distinct()`, `{"spec":{"ports":[{"port":0}]}}`, `error: division by zero`},
	{"strings", `[dyn(['a', 'b']), dyn(1)][0]`, "", `["a","b"]`},
	{"strings", `dyn([dyn('a'), dyn(1)])`, `{}`, `COMPILE 1:20: the value at [1] has the type int, and the field needs a string: convert it with string()`},
	{"strings", `[dyn(self.spec.host), dyn(self.spec.ios)]`, `{"spec":{"host":"h","ios":1}}`, `error: the value at [1] is 1, and the field needs a string`},
	{"strings", `self.spec.set + ['s', 't']`, "", `["s","t"]`},
	{"ints", `self.spec.ports.map(p, p.port)`, "", `[1,2]`},
	{"ints", `lists.range(3)`, "", `[0,1,2]`},
	{"map", `self.spec.labels`, "", `{"z":"1","k":"v"}`},
	{"map", `self.spec.labels`, `{"spec":{"labels":{}}}`, `{}`},
	{"map", `{'b': self.spec.host, 'a': 'x'}`, "", `{"a":"x","b":"h"}`},
	{"map", `{self.spec.host: 'x', ?'a': self.spec.?none}`, "", `{"h":"x"}`},
	{"map", `self.spec.labels.transformMap(k, v, k + v)`, "", `{"k":"kv","z":"z1"}`},
	{"map", `dyn({1: 'x'})`, "", `COMPILE 1:6: a key has the type int, and fields have strings`},
	{"map", `[dyn({dyn(self.spec.port): 'x'}), dyn(1)][0]`, "", `error: a key of the map is 80, and keys must be strings`},
	{"intMap", `self.spec.ports.transformMapEntry(i, p, {p.name: p.port})`, "", `{"p":1,"q":2}`},
	{"object", `self.spec.ports[1]`, "", `{"port":2,"name":"q"}`},
	{"object", `{'name': self.spec.host, 'port': self.spec.port}`, "", `{"name":"h","port":80}`},
	{"object", `{'name': self.spec.host, 'port': self.spec.port}`, `{"spec":{"host":"h"}}`, `absent`},
	{"object", `[dyn(self.spec.open)][0]`, `{"spec":{"open":{"name":"a"}}}`, `{"name":"a"}`},
	{"object", `[dyn(self.spec.open)][0]`, `{"spec":{"open":{"tls":{"off":1}}}}`, `error: the value at tls.off is 1, and the schema has no such field`},
	{"intMap", `[dyn(self.spec.open)][0]`, `{"spec":{"open":{"a.b":"c"}}}`, `error: the value at ['a.b'] is "c", and the field needs an integer`},
	{"object", `[dyn(self.spec.open)][0]`, `{"spec":{"open":{"name":null}}}`, `error: the value at name is null, and the field needs a string`},
	{"object", `{'port': 1, 'name': 'x'}`, "", `{"name":"x","port":1}`},
	{"object", `{}`, "", `{}`},
	{"object", `{?'name': self.spec.?alias, 'port': 1}`, "", `{"name":"a","port":1}`},
	{"object", `{?'name': self.spec.?alias, 'port': 1}`, `{"spec":{}}`, `{"port":1}`},
	{"object", `{'name': 'x', 'name': 'y'}`, "", `{"name":"y"}`},
	{"object", `{'tls': {'on': self.spec.on}}`, "", `{"tls":{"on":true}}`},
	{"object", `{'tls': {'on': self.spec.on}, 'name': self.spec.host}`, "", `{"name":"h","tls":{"on":true}}`},
	{"object", `self.spec.on ? {'name': self.spec.host} : {'name': 'x'}`, "", `{"name":"h"}`},
	{"objects", `self.spec.names.map(n, {'name': n})`, "", `[{"name":"x"},{"name":"y"}]`},
	{"objects", `[{'name': 'x'}, {'name': self.spec.host}]`, "", `[{"name":"x"},{"name":"h"}]`},
	{"bool", `{'a': self.spec.host} == {'a': 'h'}`, "", `true`},
	{"bool", `dyn({'a': self.spec.host}) == dyn(self.spec.port)`, "", `false`},
	{"bool", `dyn(self.spec.names) == dyn({'a': 'h'})`, "", `error: no such overload`},
	{"anys", `[self.spec.port, null, self.spec.host, ?self.spec.?on]`, "", `[80,null,"h",true]`},
	{"bool", `'a' in {'a': self.spec.host}`, "", `true`},
	{"int", `size({'a': self.spec.host})`, "", `1`},
	{"string", `{'a': self.spec.host}.a + {'a': 'x'}['a']`, "", `"hx"`},
	{"objects", `self.spec.ports`, "", `[{"name":"p","port":1,"tls":{"on":true}},{"port":2,"name":"q"}]`},
	{"objects", `self.spec.ports.filter(p, p.port == 2)`, "", `[{"port":2,"name":"q"}]`},
	{"objects", `self.spec.byName.map(k, {'name': k, 'port': self.spec.byName[k].port})`, "", `[{"name":"p","port":1}]`},
	{"objectMap", `self.spec.ports.transformMapEntry(i, p, {p.name: {'port': p.port}})`, "", `{"p":{"port":1},"q":{"port":2}}`},
	{"objectMap", `self.spec.byName`, "", `{"p":{"port":1}}`},
	{"open", `self.spec.open`, "", `{"x":1,"y":[1,{"b":1,"a":2}]}`},
	{"any", `self.spec.open`, "", `{"x":1,"y":[1,{"b":1,"a":2}]}`},
	{"any", `[self.spec.port]`, "", `[80]`},
	{"any", `self.spec.ios`, "", `"x"`},
	{"anys", `[dyn(self.spec.port), dyn(null), dyn(true), dyn(0.5)]`, "", `[80,null,true,0.5]`},
	{"anys", `[optional.of(self.spec.port)]`, "", `COMPILE 1:1`},
	{"any", `dyn(self.spec.at)`, "", `COMPILE 1:14: the expression has the type google.protobuf.Timestamp, and the field needs data that JSON has`},
	{"any", `[dyn([quantity('1')]), dyn(1)][0]`, "", `error: the value at [0] is of the type kubernetes.Quantity, and the field needs data that JSON has`},
}

// TestExpressions evaluates expressions with closures and with cel-go.
func TestExpressions(t *testing.T) {
	scope := sourceScope(t)
	withClosure := 0
	for _, c := range expressionCases {
		x, err := CompileExpression(t.Context(), scope, c.text, target(t, c.target))
		if err != nil {
			if text := "COMPILE " + err.Error(); !strings.HasPrefix(text, c.want) || c.want == "" {
				t.Errorf("%s: %v, want %s", c.text, err, c.want)
			}
			continue
		}
		if x.closure != nil {
			withClosure++
		}
		self := c.self
		if self == "" {
			self = full
		}
		got, left := evaluateExpression(t, x, self, true, false)
		fallback, also := evaluateExpression(t, x, self, true, true)
		if got != c.want || fallback != c.want {
			t.Errorf("%s of %s: got %s, with cel-go %s, want %s", c.text, c.self, got, fallback, c.want)
		}
		if left != also {
			t.Errorf("%s of %s: costs %d, with cel-go %d", c.text, c.self, CostBudget-left, CostBudget-also)
		}
	}
	t.Logf("%d of %d expressions have closures", withClosure, len(expressionCases))
	if withClosure < len(expressionCases)/2 {
		t.Error("few expressions have closures")
	}
}

// TestIncomplete: a part of an object has a result only if each object that includes it has the same.
func TestIncomplete(t *testing.T) {
	scope := sourceScope(t)
	for _, c := range []struct{ target, text, self, want string }{
		{"string", `self.spec.host + 'x'`, `{"spec":{"host":"h"}}`, `"hx"`},
		{"string", `'x'`, `{"spec":{"host":"h"}}`, `absent`},
		{"string", `has(self.spec.alias) ? self.spec.alias : self.spec.host`, `{"spec":{"host":"h"}}`, `absent`},
		{"string", `has(self.spec.alias) ? self.spec.alias : self.spec.host`, `{"spec":{"host":"h","alias":"a"}}`, `"a"`},
		{"string", `self.spec.?alias.orValue('x')`, `{"spec":{}}`, `absent`},
		{"string", `self.spec.?alias.orValue('x')`, `{"spec":{"alias":"a"}}`, `"a"`},
		{"string", `self.metadata.name + 'x'`, `{"metadata":{"name":"n"}}`, `"nx"`},
		{"bool", `has(self.spec.tls)`, `{"spec":{"tls":{}}}`, `true`},
		{"string", `self.spec.labels['k']`, `{"spec":{"labels":{"k":"v"}}}`, `"v"`},
		{"string", `self.spec.labels[self.spec.host]`, `{"spec":{"host":"k","labels":{"k":"v"}}}`, `"v"`},
		{"bool", `'k' in self.spec.labels`, `{"spec":{"labels":{"k":"v"}}}`, `true`},
		{"bool", `'k' in self.spec.labels`, `{"spec":{"labels":{}}}`, `absent`},
		{"bool", `self.spec.host in self.spec.labels`, `{"spec":{"host":"k","labels":{"k":"v"}}}`, `absent`},
		{"string", `self.spec.labels[?self.spec.host].orValue('x')`, `{"spec":{"host":"k","labels":{"k":"v"}}}`, `absent`},
		{"int", `size(self.spec.labels)`, `{"spec":{"labels":{"k":"v"}}}`, `absent`},
		{"map", `self.spec.labels`, `{"spec":{"labels":{"k":"v"}}}`, `absent`},
		{"int", `size(self.spec.names)`, `{"spec":{"names":["a"]}}`, `1`},
		{"int", `size(self.spec.set)`, `{"spec":{"set":["a"]}}`, `absent`},
		{"ints", `self.spec.ports.map(p, p.port)`, `{"spec":{"ports":[{"port":1}]}}`, `[1]`},
		{"bool", `self.spec.ports.all(p, has(p.tls) && has(p.tls.on))`, `{"spec":{"ports":[{"tls":{}}]}}`, `absent`},
		{"ints", `self.spec.named.map(p, p.port)`, `{"spec":{"named":[{"name":"a","port":1}]}}`, `absent`},
		{"int", `self.spec.named[0].port`, `{"spec":{"named":[{"name":"a","port":1}]}}`, `absent`},
		{"objects", `self.spec.ports`, `{"spec":{"ports":[{"port":1}]}}`, `absent`},
		{"strings", `self.spec.names`, `{"spec":{"names":["a"]}}`, `["a"]`},
		{"bool", `self.spec.host == 'a' || self.spec.on`, `{"spec":{"on":true}}`, `absent`},
	} {
		x, err := CompileExpression(t.Context(), scope, c.text, target(t, c.target))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		for _, noClosures := range []bool{false, true} {
			if got, _ := evaluateExpression(t, x, c.self, false, noClosures); got != c.want {
				t.Errorf("%s of %s: got %s, want %s", c.text, c.self, got, c.want)
			}
		}
	}
}

// TestExpressionAllocations: closures allocate what they compute, and the nodes of results nothing.
func TestExpressionAllocations(t *testing.T) {
	scope := sourceScope(t)
	for _, c := range []struct {
		target, text string
		most         float64
	}{
		{"string", `self.spec.host + ':' + string(self.spec.port)`, 2},
		{"string", `has(self.spec.alias) ? self.spec.alias : self.spec.host`, 0},
		{"strings", `self.spec.ports.map(p, p.name)`, 0},
		{"objects", `self.spec.ports`, 0},
		{"object", `{'name': self.spec.host, 'port': self.spec.port}`, 0},
		{"string", `self.spec.none`, 0}, // absent
	} {
		x, err := CompileExpression(t.Context(), scope, c.text, target(t, c.target))
		if err != nil {
			t.Fatal(err)
		}
		d := tree.Acquire()
		self := parse(t, d, full, tree.Request)
		nodes, arena := len(d.Nodes), len(d.Src[tree.Arena])
		r := Start(d)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := x.Evaluate(r, self, true); err != nil {
				t.Fatal(err)
			}
			d.Nodes, d.Src[tree.Arena] = d.Nodes[:nodes], d.Src[tree.Arena][:arena]
		}); n > c.most {
			t.Errorf("%s: %v allocations, at most %v", c.text, n, c.most)
		}
		r.Close()
		d.Release()
	}
}

// TestItemExpressions: self is an item of a list or a value of a map. A null has no result.
func TestItemExpressions(t *testing.T) {
	scope := celcheck.NewShared().Root(props(t, `{type: object, properties: {l: {type: array, items: {type: string, nullable: true}}, `+
		`m: {type: object, additionalProperties: {type: object, properties: {x: {type: integer}, o: {type: object, properties: {z: {type: integer}}}}}}}}`))
	for _, c := range []struct {
		scope                    *celcheck.Scope
		target, text, self, want string
	}{
		{scope.Property("l").Items(), "string", `self + '!'`, `"a"`, `"a!"`},
		{scope.Property("l").Items(), "string", `dyn(self) == null ? 'x' : 'y'`, `null`, `absent`},
		{scope.Property("m").Additional(), "int", `self.x + self.o.z`, `{"x":1,"o":{"z":2}}`, `3`},
		{scope.Property("m").Additional().Property("o"), "int", `self.z`, `{"z":2}`, `2`},
	} {
		x, err := CompileExpression(t.Context(), c.scope, c.text, target(t, c.target))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		for _, noClosures := range []bool{false, true} {
			if got, _ := evaluateExpression(t, x, c.self, true, noClosures); got != c.want {
				t.Errorf("%s of %s: got %s, want %s", c.text, c.self, got, c.want)
			}
		}
	}
}

// TestExpressionErrors has the errors of compilation.
func TestExpressionErrors(t *testing.T) {
	scope := sourceScope(t)
	for _, c := range []struct{ target, text, want string }{
		{"string", ``, "the expression is empty"},
		{"string", `self.spec.hosts`, "compilation failed: ERROR: <input>:1:10: undefined field 'hosts'\n | self.spec.hosts\n | .........^"},
		{"string", `oldSelf.spec.host`, "compilation failed: ERROR: <input>:1:1: undeclared reference to 'oldSelf' (in container '')\n | oldSelf.spec.host\n | ^"},
		{"string", `self.spec.names.map(oldSelf, oldSelf)[0]`, ""},
		{"string", `self.spec.port`, "1:10: the expression has the type int, and the field needs a string: convert it with string()"},
		{"int", `self.spec.on ? self.spec.port : self.spec.ratio`, "compilation failed"},
		{"int", `self.spec.on ? 1 : int(self.spec.host + 'a') + size(self.spec.names)`, ""},
		{"int", `self.spec.ratio`, "1:10: the expression has the type double, and the field needs an integer: convert it with int()"},
		{"int", `5u`, "1:1: the expression has the type uint, and the field needs an integer: convert it with int()"},
		{"bool", `self.spec.names`, "1:10: the expression has the type list(string), and the field needs a boolean"},
		{"strings", `self.spec.ports`, "1:10: the value at [*] has the type object, and the field needs a string"},
		{"strings", `['a', string(self.spec.port), self.spec.host]`, ""},
		{"objects", `self.spec.names`, "1:10: the value at [*] has the type string, and the field needs an object"},
		{"object", `{'nam': 'x'}`, "1:2: the field has no field .nam"},
		{"object", `{'port': 'x'}`, "1:10: the value at .port has the type string, and the field needs an integer: convert it with int()"},
		{"object", `{'tls': {'on': self.spec.port}}`, "1:25: the value at .tls.on has the type int, and the field needs a boolean"},
		{"object", `self.spec.tls`, "1:10: the value at .cert sets a field that does not exist"},
		{"objectMap", `{'a': {'port': dyn(self.spec.host)}}`, "1:29: the value at .a.port has the type string, and the field needs an integer: convert it with int()"},
		{"map", `self.spec.byName`, "1:10: the value at [*] has the type object, and the field needs a string"},
		{"time", `self.spec.wait`, "1:10: the expression has the type google.protobuf.Duration, and the field needs a string of the format date-time"},
		{"string", `null`, "1:1: the expression has the type null_type, and the field needs a string"},
		{"int", `self.spec.names.map(n, self.spec.ports.map(p, self.spec.named.map(q, self.spec.ports.filter(r, q.name.matches(n + p.name + r.name)).size()).sum()).sum()).sum()`,
			"the expression may cost 125230984 for one object"},
	} {
		_, err := CompileExpression(t.Context(), scope, c.text, target(t, c.target))
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.HasPrefix(got, c.want) && c.want != "" {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

// TestExpressionCardinality: the lists and maps around self count.
func TestExpressionCardinality(t *testing.T) {
	root := props(t, `{type: object, properties: {l: {type: array, maxItems: 100000, items: {type: object, properties: {s: {type: string, maxLength: 10000}}}}, `+
		`u: {type: array, items: {type: object, properties: {s: {type: string, maxLength: 10000}}}}}}`)
	scope := celcheck.NewShared().Root(root)
	l, u := root.Properties["l"], root.Properties["u"]
	for _, c := range []struct {
		scope  *celcheck.Scope
		around []*schema.Props
		want   string
	}{
		{scope.Property("l").Items(), nil, "<nil>"},
		{scope.Property("l").Items(), []*schema.Props{&l}, "the expression may cost 400300000 for one object, and the limit is 10000000"},
		{scope.Property("u").Items(), []*schema.Props{&u}, "the expression may cost 4197"},
	} {
		_, err := CompileExpression(t.Context(), c.scope, `self.s + 'x'`, target(t, "string"), c.around...)
		if got := fmt.Sprint(err); !strings.HasPrefix(got, c.want) {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestExpressionLimits: costs and sizes are bounded, and evaluations end with the run.
func TestExpressionLimits(t *testing.T) {
	scope := celcheck.NewShared().Field(props(t, `{type: object, properties: {count: {type: integer}, s: {type: string, maxLength: 100}, l: {type: array, maxItems: 100, items: {type: string, maxLength: 10}}}}`))
	self := `{"count":1000,"s":"abcdefghij","l":["` + strings.Repeat(`a","`, 99) + `a"]}`
	for _, c := range []struct {
		target, text string
		left         int64
		want         string
	}{
		{"ints", `lists.range(1000)`, 0, ""},
		{"ints", `self.l.map(a, self.l.map(b, a + b).size())`, 0, "operation cancelled: actual cost limit exceeded"},
		{"string", `self.l.map(a, self.s).join('')`, 0, ""},
		{"string", `self.s + 'x'`, 1, "the expressions cost more than 10000000 for this object"},
		{"ints", `self.l.map(i, 1)`, 10, "the expressions cost more than 10000000 for this object"},
	} {
		x, err := CompileExpression(t.Context(), scope, c.text, target(t, c.target))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		d := tree.Acquire()
		r := Start(d)
		if c.left > 0 {
			r.Left = c.left
		}
		if strings.HasPrefix(c.want, "operation cancelled") {
			r.Limit = 10_000
		}
		node, err := x.Evaluate(r, parse(t, d, self, tree.Request), true)
		if of := (*ExpressionError)(nil); c.want == "" && node == 0 || c.want != "" && (!errors.As(err, &of) || of.Text != c.want) {
			t.Errorf("%s: got %v, want %s", c.text, err, c.want)
		}
		r.written = maxResultBytes
		r.Left = CostBudget
		if c.want == "" {
			limit := &tree.LimitError{}
			if _, err = x.Evaluate(r, d.Root(tree.Request), true); !errors.As(err, &limit) {
				t.Errorf("%s: got %v, want a limit", c.text, err)
			}
		}
		done := make(chan struct{})
		close(done)
		r.Stop = interrupt.On(done)
		r.NoClosures = true
		if _, err = x.Evaluate(r, d.Root(tree.Request), true); err == nil || errors.As(err, new(*ExpressionError)) {
			t.Errorf("%s: got %v after the end", c.text, err)
		}
		r.Close()
		d.Release()
	}
}

// TestReads has the parts that expressions read: the path, with [*] for Each, then "tested" unless the value is used,
// and "guarded".
func TestReads(t *testing.T) {
	scope := sourceScope(t)
	for _, c := range []struct{ target, text, want string }{
		{"string", `'x'`, ""},
		{"string", `self.spec.host`, "spec.host"},
		{"string", `self.spec.host + self.metadata.name`, "metadata.name; spec.host"},
		{"string", `self.spec.a__dot__b`, "spec.a.b"},
		{"bool", `has(self.spec.host)`, "spec.host tested guarded"},
		{"bool", `has(self.spec.host) && self.spec.host != ''`, "spec.host guarded"},
		{"bool", `has(self.spec.host) || self.spec.alias == ''`, "spec.alias; spec.host tested guarded"},
		{"string", `has(self.spec.alias) ? self.spec.alias : self.spec.host`, "spec.alias guarded; spec.host"},
		{"string", `!has(self.spec.alias) ? self.spec.host : self.spec.alias`, "spec.alias guarded; spec.host"},
		{"string", `(has(self.spec.alias) ? self.spec.alias : 'x') + self.spec.alias`, "spec.alias"},
		{"string", `has(self.spec.tls.cert) && self.spec.tls.cert != 'x' ? self.spec.tls.cert : 'y'`, "spec.tls.cert guarded"},
		{"int", `has(self.spec.tls) ? self.spec.tls.deep.x : 0`, "spec.tls tested guarded; spec.tls.deep.x"},
		{"int", `(self.spec.port > 1 ? self.spec.tls : self.spec.tls).deep.x`, "spec.port; spec.tls.deep.x"},
		{"string", `self.spec.?alias.orValue(self.spec.host)`, "spec.alias guarded; spec.host"},
		{"string", `self.spec.?tls.cert`, "spec.tls.cert guarded"},
		{"string", `self.spec.?alias.hasValue() ? self.spec.alias : ''`, "spec.alias guarded"},
		{"string", `self.spec.?alias.optMap(v, v + 'x').orValue('y')`, "spec.alias guarded"},
		{"string", `self.spec[?'alias'].orValue('')`, "COMPILE"},
		{"string", `self.spec.labels['a.b']`, "spec.labels.a.b"},
		{"string", `self.spec.labels.k`, "spec.labels.k"},
		{"string", `self.spec.labels[self.spec.host]`, "spec.host; spec.labels[*]"},
		{"string", `self.spec.labels[?'k'].orValue('')`, "spec.labels.k guarded"},
		{"string", `'k' in self.spec.labels ? self.spec.labels['k'] : ''`, "spec.labels.k guarded"},
		{"bool", `self.spec.host in self.spec.labels`, "spec.host; spec.labels[*] tested guarded"},
		{"bool", `self.spec.host in self.spec.names`, "spec.host; spec.names"},
		{"int", `self.spec.byName['p'].port`, "spec.byName.p.port"},
		{"int", `self.spec.byName[self.spec.host].port`, "spec.byName[*].port; spec.host"},
		{"string", `self.spec.names[0]`, "spec.names[*]"},
		{"int", `self.spec.ports[0].port`, "spec.ports[*].port"},
		{"int", `size(self.spec.ports)`, "spec.ports"},
		{"objects", `self.spec.ports`, "spec.ports"},
		{"objects", `self.spec.ports.filter(p, p.port > 1)`, "spec.ports[*]; spec.ports[*].port"},
		{"strings", `self.spec.ports.map(p, p.name)`, "spec.ports[*] tested; spec.ports[*].name"},
		{"strings", `self.spec.ports.filter(p, has(p.tls)).map(q, q.name)`, "spec.ports[*] tested; spec.ports[*].name; spec.ports[*].tls tested guarded"},
		{"strings", `self.spec.ports.sortBy(p, p.port).map(p, p.name)`, "spec.ports tested; spec.ports[*] tested; spec.ports[*].name; spec.ports[*].port"},
		{"bool", `self.spec.ports.exists(p, p.port == self.spec.port)`, "spec.port; spec.ports[*] tested; spec.ports[*].port"},
		{"int", `self.spec.ports.map(p, p.port).sum()`, "spec.ports[*] tested; spec.ports[*].port"},
		{"int", `(self.spec.ports + self.spec.ports).map(p, p.port).sum()`, "spec.ports[*] tested; spec.ports[*].port"},
		{"int", `(self.spec.named + self.spec.named).size()`, "spec.named"},
		{"strings", `self.spec.labels.map(k, k)`, "spec.labels[*] tested"},
		{"strings", `self.spec.labels.map(k, self.spec.labels[k])`, "spec.labels[*]"},
		{"map", `self.spec.labels.transformMap(k, v, v + 'x')`, "spec.labels[*]"},
		{"ints", `self.spec.ports.transformList(i, p, p.port + i)`, "spec.ports[*] tested; spec.ports[*].port"},
		{"object", `{'name': self.spec.host, 'port': self.spec.port}`, "spec.host; spec.port"},
		{"string", `{'a': self.spec.host}.a`, "spec.host"},
		{"int", `[self.spec.tls].map(x, x.deep.x)[0]`, "spec.tls tested; spec.tls.deep.x"},
		{"string", `string(dyn(self.spec.tls).cert)`, "spec.tls.cert"},
		{"string", `string(dyn(self.spec.open).unknown)`, "spec.open"},
		{"bool", `self.spec.tls == self.spec.tls`, "spec.tls"},
		{"strings", `self.spec.names.map(self, self + '!')`, "spec.names[*]"},
		{"strings", `self.spec.names.map(self, self + .self.spec.host)`, "spec.host; spec.names[*]"},
		{"bool", `self == self`, "self"},
		{"bool", `'a' in {'a': self.spec.host}`, "spec.host tested"},
		{"bool", strings.Repeat(`'a' in {'a': `, 60) + `self.spec.on` + strings.Repeat(`}`, 60), "spec.on tested"},
		{"bool", strings.Repeat(`[`, 60) + `self.spec.on` + strings.Repeat(`].all(x, x)`, 60), "spec.on"},
	} {
		x, err := CompileExpression(t.Context(), scope, c.text, target(t, c.target))
		if err != nil {
			if c.want != "COMPILE" {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		var got []string
		for _, read := range x.Reads() {
			text := strings.ReplaceAll(strings.Join(read.Path, "."), "."+Each, "[*]")
			if len(read.Path) == 0 {
				text = "self"
			}
			if !read.Whole {
				text += " tested"
			}
			if read.Guarded {
				text += " guarded"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: got %s, want %s", c.text, text, c.want)
		}
	}
}
