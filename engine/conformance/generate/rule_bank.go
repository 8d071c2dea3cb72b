package generate

import (
	"regexp"
	"strings"
)

// The bank of expressions. Each is a condition on a value, written §, of the type above it. Some are true for nearly
// every value, some for few, some fail. [truth] replaces @ by a condition on elements of lists and values of maps.
var bank = map[celType][]string{
	celString: {
		"§ == §", "§.size() >= 0", "size(§) < 4", "§ != 'a'", "§ == 'a' || § == 'b' || § == ''", "§ < 'm'", "§ <= §", "§ in ['a', 'b', 'c', 'ab']", "§ in []", "§ in [§]", "!(§ in ['x'])",
		"§.startsWith('a')", "§.endsWith('c')", "§.contains('b')", "§.contains('')", "§.matches('^[a-z]*$')", "§.matches('^[^A-Z]*$')", "§.matches('.')", "§.matches(§)", "'abc'.matches(§)", "§.lowerAscii() == §", "§.upperAscii() != §",
		"§.trim() == §", "§.find('[a-z]+') == §", "§.findAll('[a-z]').size() < 3", "§.findAll('.', 2).size() < 2", "§.replace('a', 'b') == §", "§.replace('a', 'b', 1) != 'b'", "§.split('').size() == size(§)", "§.split('b').join('-') != §",
		"§.charAt(0) == 'a'", "§.indexOf('b') < 1", "§.indexOf('b', 1) < 2", "§.lastIndexOf('b') >= 0", "§.substring(1) != ''", "§.substring(0, 1) == 'a'", "§ + 'a' != 'aa'", "(§ + §).size() == size(§) * 2", "['a', §, 'b'].join(',') != ''",
		"int(§) > 0", "double(§) < 10.0", "duration(§) > duration('1s')", "timestamp(§) < timestamp('2030-01-01T00:00:00Z')", "bool(§)", "isQuantity(§) ? quantity(§).isLessThan(quantity('5')) : true", "quantity(§).sign() >= 0",
		"isURL(§)", "url(§).getHost() != ''", "isIP(§) || § != ''", "ip(§).family() == 4", "isCIDR(§)", "cidr('10.0.0.0/8').containsIP(§)", "isSemver(§)", "semver(§).major() < 2", "!format.dns1123Label().validate(§).hasValue()",
		"format.named('dns1123Subdomain').hasValue()", "strings.quote(§) != ''", "'%s'.format([§]) == §", "'%s-%d'.format([§, 1]).size() > 3", "type(§) == string", "dyn(§) == 'a'", "dyn(§) == 1", "dyn(§) > 1", "§ == string(§)",
		"§.size() == 0 || §[0] == 'a'", "has(§.a)", "§ > 1", "bytes(§) == b'a'", "bytes(§).size() >= size(§)", "§.size() / §.size() == 1", "1 / §.size() == 1 || true", "§ == 'a' ? §.size() == 1 : 1 / §.size() < 2", "§ == '' || §.charAt(§.size() - 1) != 'x'",
		"[§, 'b'].isSorted()", "['b', §].sort() == [§, 'b']", "[§, §].distinct().size() == 1", "lists.range(3).all(i, §.size() >= i)", "[§].exists(x, x.startsWith('b'))", "sets.contains(['a', 'b', 'c'], [§])", "sets.intersects(['a', 'b'], [§])",
		"{'a': 1, 'b': 2}[§] > 1", "§ in {'a': 1, 'b': 2}", "{§: true}[§]", "{'a': 1}[?§].orValue(0) == 0", "§.contains(§) && §.startsWith(§) && §.endsWith(§)",
	},
	celBytes:     {"§ == b'abc'", "size(§) > 2", "§ != b''", "string(§) == 'abc'", "§ + § == §", "§ < b'b'", "§ in [b'a', b'abc']"},
	celTimestamp: {"§ > timestamp('2000-01-01T00:00:00Z')", "§.getFullYear() > 2019", "§.getMonth('America/New_York') == 0", "§.getHours('02:00') > 1", "§ - § == duration('0s')", "§ + duration('1h') > §", "string(§) != ''", "int(§) > 0", "§.getDayOfWeek() in [1, 2, 3]", "§ == timestamp(string(§))"},
	celDuration:  {"§ > duration('1m')", "§.getSeconds() >= 60", "§ + § >= §", "§ < duration('24h')", "§ in [duration('1h')]", "string(§).endsWith('s')", "§.getHours() == 1", "timestamp('2020-01-01T00:00:00Z') + § > timestamp('2020-01-01T00:00:00Z')"},
	celInt: {
		"§ == §", "§ > 0", "§ >= -5", "§ < 10 && § > -10", "§ % 2 == 0", "10 / § > 1", "§ / 0 == 1", "§ + 9223372036854775807 > 0", "-§ < 100", "§ * 2 != 4", "§ in [1, 2, 3]", "§ in []", "double(§) >= 1.5", "§ > 1.5", "§ == 1", "§ != 1", "string(§) == '1'",
		"uint(§) > 0u", "1 / § > 0 || true", "true || 1 / 0 == §", "1 / 0 == § || true", "false && 1 / § == 1", "1 / § == 1 && false", "§ > 0 ? 10 / § > 0 : 10 / § < 1", "[1, 2, 3][§] == 2", "{1: 'a', 2: 'b'}[§] == 'a'", "dyn(§) == 1.0", "dyn(§) == 'a'",
		"type(§) == int", "duration(string(§) + 's') > duration('1s')", "lists.range(5).exists(i, i == §)", "lists.range(§).size() == §", "§ - 1 < §", "[§, 1].sum() > §", "[§, 2, 1].max() == §", "[§, 2].min() == 2", "§ == '1'", "§ in [1, 'a']", "int(string(§)) == §", "timestamp(§) > timestamp(0)",
		"[3, 1, 2].sort()[0] < §", "§ * § * § * § * § >= 0", "'%d'.format([§]).size() == 1", "quantity(string(§)).asInteger() == §",
	},
	celDouble: {"§ == §", "§ > 0", "§ >= -5.5", "§ == 1.0", "§ != 1.5", "§ / 0.0 > 1.0", "int(§) > 0", "§ in [1.0, 2.0, 0.5]", "string(§) != '1'", "§ + 0.5 > §", "-§ < 100.0", "§ * § >= 0.0", "§ == 1", "§ < 10", "dyn(§) == 1", "'%f'.format([§]) != ''", "[§, 1.0].max() == §", "type(§) == double"},
	celBool:   {"§", "!§", "§ || true", "§ == true", "§ && 1 / 0 == 1", "§ ? true : 1 / 0 == 1", "§ != false", "string(§) == 'true'", "[§].all(x, x)", "type(§) == bool", "!!§"},
	celDyn: {
		"§ == §", "§ == 1", "§ == 'a'", "type(§) == int ? § > 0 : § != ''", "type(§) == string", "§ > 1", "§ < 'b'", "§.size() > 0", "size(§) == 1", "string(§) == '1'", "int(§) >= 0", "§.matches('^[0-9]+%?$')", "type(§) == string && §.endsWith('%') || type(§) == int", "§ + 1 > 1", "§ + 'a' != 'a'",
		"§ in [1, 2]", "§ in ['a', '1']", "double(§) > 0.5", "has(§.a)", "§.a == 1", "§['a'] == 1", "§[0] == 1", "-§ < 0", "§ ? true : false", "!§", "§ && true", "§ == null", "§ == [1]", "§.startsWith('a') || true", "true || §.startsWith('a')", "§.all(x, x > 0)",
	},
	celObject: {"§ == §", "§ != §", "[§].exists(x, x == §)", "§ in [§]", "[§, §].distinct().size() == 1", "type(§) == type(§)", "§ == {}", "has(§.nosuch)", "§.nosuch == 1", "dyn(§) == dyn(§)", "dyn(§).nosuch == 1", "!has(dyn(§).nosuch)", "size(dyn(§)) > 0", "string(type(§)) != ''", "dyn(§) == dyn(1)", "dyn(1) != dyn(§)", "dyn(§)[1] == 1", "dyn(§)['nosuch'] == 1", "'nosuch' in dyn(§)", "1 in dyn(§)", "dyn(§).exists(k, k == 'a')", "size(dyn(§)) == size(dyn(§))", "'%s'.format([§]) != ''", "dyn(§) + 1 == 1", "dyn(§).map(k, k).size() > 1", "{'a': dyn(§)} == {'a': 1}"},
	celMap: {
		"§.all(k, @k)", "§.exists(k, @k)", "§.exists_one(k, @k)", "size(§) < 3", "§.size() != 1", "'a' in §", "!('b' in §)", "has(§.a)", "has(§.a) || size(§) >= 0", "§ == §", "§.map(k, k).size() == size(§)", "§.filter(k, @k).size() < 2", "§.all(k, v, @v)", "§.exists(k, v, @v)", "§.existsOne(k, v, @v)",
		"§.transformList(k, v, k).size() == §.size()", "§.transformList(k, v, @v, v).size() < 2", "§.transformMap(k, v, k) != {}", "§.transformMap(k, v, @v, v).size() <= size(§)", "§.transformMapEntry(k, v, {k: k}).size() == size(§)", "§.transformMapEntry(k, v, {'a': k}).size() == 1",
		"§['a'] == §['a']", "§[?'a'].hasValue()", "§.?a.hasValue() || size(§) > 0", "§.?a.orValue(§['b']) == §.?a.orValue(§['b'])", "§.map(k, k).sort().size() > 0", "§.map(k, size(k)).sum() < 10", "§.map(k, k).isSorted() || true", "sets.contains(['a', 'b', 'c', 'x'], §.map(k, k))", "§.all(k, k.matches('^[a-z]+$'))",
		"§.a == §.a", "§[1] == §[1]", "§.all(k, §[k] == §[k])", "§.exists(k, k == 'a' && @k)", "§.map(k, k)[0] == 'a'", "dyn(§) == dyn(1)", "dyn(§) == dyn('a')", "dyn(§)[1] == §['a']", "dyn(§)[dyn('nosuch')] == §['a']", "1 in dyn(§)", "dyn(§) == {'a': 1}", "{'a': 'b'} == dyn(§)", "'%s'.format([§]) != ''", "dyn(§).a == 1", "dyn(§) + dyn(1) == §",
	},
	celList: {
		"§.all(e, @e)", "§.exists(e, @e)", "§.exists_one(e, @e)", "size(§) > 0", "§.size() < 3", "§ == §", "§[0] == §[0]", "§[1] != §[0]", "§[size(§) - 1] == §[0]", "§.filter(e, @e).size() < 2", "§.map(e, e).size() == size(§)", "§.map(e, @e, e) == §", "§ + § == §", "(§ + §).size() == size(§)", "§ in [§]", "§.map(e, e) == §", "§ == §.map(e, e)",
		"§.all(i, e, i >= 0 && @e)", "§.exists(i, e, i == 1 && @e)", "§.transformList(i, e, i).sum() >= 0", "§.transformMap(i, e, @e, e).size() < 2", "§.distinct() == §", "§.distinct().size() == §.size()", "§.reverse() == §", "§.slice(0, 1).size() == 1", "§.slice(0, size(§)) == §", "[§, §].flatten().size() == 2 * size(§)", "§.sort() == §", "§.sortBy(e, e) == §",
		"§.isSorted()", "§.sum() > 0", "§.min() == §.max()", "§.indexOf(§[0]) == 0", "§.lastIndexOf(§[0]) == size(§) - 1", "§.all(e, e in §)", "§.all(e, §.exists_one(f, f == e))", "§.all(e, §.filter(f, f == e).size() == 1)", "sets.contains(§, §)", "sets.equivalent(§, § + §)", "sets.intersects(§, §)", "§[?0].hasValue()", "§[?5].orValue(§[0]) == §[0]", "§.first().hasValue()", "§.last() == §.first()",
		"§.join(',') != 'a,b'", "§.map(e, [e]).size() < 3", "§.all(e, f, true)", "§.exists(e, 1 / 0 == 1 || @e)", "§.all(e, e == §[0])", "§.map(e, §.map(f, f == e)).size() >= 0", "§.includes(§[0])", "dyn(§) == dyn(1)", "dyn(1) == dyn(§)", "dyn(§) + dyn(1) == §", "dyn(1) + dyn(§) == §", "dyn(§)['a'] == §[0]", "§[dyn('a')] == §[0]", "§[99] == §[0]", "§[size(§)] == §[0]", "dyn(§)[1.0] == §[0]", "dyn(1) in dyn(§)", "dyn(§) in [1]", "dyn(§) == [1]", "[1, 2] == dyn(§)", "dyn(§) == dyn(§.map(e, e))", "dyn(§.map(e, e)) == dyn(§)", "dyn(§) + §.map(e, e) == §", "'%s'.format([§]) != ''", "dyn(§).join() == 'a'", "§.join() == 'ab'", "dyn(§).exists(e, e == 1)", "dyn(§) + dyn([1]) == §", "dyn(§) + dyn(['a', 'a']) == §", "size(§ + §.map(e, e)) > 1",
	},
}

// The bank of transition rules: the old value is written %.
var transitions = map[celType][]string{
	celString: {"§ == %", "§ != %", "§.size() >= %.size()", "§.startsWith(%)", "% == '' || § == %", "[%, §].isSorted()"},
	celInt:    {"§ == %", "§ >= %", "§ - % < 10", "10 / (§ - %) > 0", "% == 0 || § != 0", "§ > % || § == %"},
	celDouble: {"§ == %", "§ >= %"},
	celBool:   {"§ == %", "% || !§"},
	celDyn:    {"§ == %", "type(§) == type(%)", "§ > %"},
	celBytes:  {"§ == %", "size(§) >= size(%)"},
	celObject: {"§ == %", "§ != %", "§ in [%]", "[%, §].distinct().size() == 1", "type(§) == type(%)"},
	celMap:    {"§ == %", "%.all(k, k in §)", "§.all(k, k in %)", "size(§) >= size(%)", "§.all(k, !(k in %) || §[k] == %[k])", "§.exists(k, !(k in %))", "§.all(k, v, k in % && %[k] == v)"},
	celList:   {"§ == %", "% == §", "§.all(e, e in %)", "%.all(e, e in §)", "§ + % == §", "% + § == %", "size(§) >= size(%)", "§.filter(e, !(e in %)).size() < 2", "§.exists(e, %.exists(f, f == e))", "sets.equivalent(§, %)"},
}

// messages are messageExpressions that do not use the value.
var messages = []string{
	"'a text'", "''", "'   '", "'two\\nlines'", "'\\ntrimmed\\n'", "'a\\rreturn'", "'tab\\t'", "string(1 / 0)", "[''][1]", "'é\\u2028<&>'", "string(1)", "'self'.substring(1)", "1 / 0 == 1 ? 'a' : 'b'", "type(self) == bool ? 'a' : 'b'", "'a' + 'b'",
	"'" + strings.Repeat("0123456789", 512) + "'", "'" + strings.Repeat("0123456789", 512) + "1'", "' " + strings.Repeat("0123456789", 512) + " '", "'" + strings.Repeat("é", 2561) + "'",
}

// saying are messageExpressions that print the value, §, as a string.
var saying = []string{"'with ' + §", "§", "'  padded ' + § + '  '", "true ? § : ''", "§.charAt(0)", "§.substring(1)", "§.size() > 2 ? § : ''", "§.replace('a', '\\n')", "§ + §"}

// costlyMessages cost more than registration allows, or nearly.
var costlyMessages = []string{"['x', §].join(' ')", "'%s'.format([§])", "'%d items'.format([1])", "strings.quote(§)", "'a'.split('').map(c, '0123').join('')"}

// Messages that use the old value, plain and optional.
var (
	oldMessages      = []string{"oldSelf == oldSelf ? 'was' : 'is'", "oldSelf == self ? 'same' : 'other'", "type(oldSelf) == bool ? 'a' : 'b'"}
	optionalMessages = []string{"oldSelf.hasValue() ? 'was' : 'new'", "oldSelf == oldSelf ? 'was' : 'is'", "oldSelf.orValue(self) == self ? 'a' : 'b'", "oldSelf.optMap(o, 'a').orValue('b')"}
)

// badMessages do not compile, or are not strings.
var badMessages = []string{"1", "true", "self.nosuch", "'unfinished", "nosuch", "'a' +", "dyn('a')", "dyn(1)", "null", "['a']", "optional.of('a')", "1 / 0 > 0 ? 'a' : 'b'", "   ", "string([1])"}

// badRules do not compile at any node, are too expensive at every node, or are not valid rules.
var badRules = []string{
	"", " ", "\n", "1", "'a'", "self", "nosuch", "self.nosuch", "self ==", "(", "true &&", "self.all(x, true", "1 + 'a' == 2", "[1, 'a'].size() == 2", "duration('x') == duration('1s')", "timestamp('x') == timestamp(0)", "'a'.matches('(')", "has(self)", "self.map(x, x, x, x) == []", "math.abs(1) == 1",
	"base64.encode(b'a') == ''", "cel.bind(x, 1, x == 1)", "true ? 1 : 2", "self.all(1, true)", "has(self.a[0])", "{'a': 1, 'b': 'c'}.size() == 2", "null", "self == null", "type(self)", "1 / 0 == 1 ", "'\\x'", "true\n", "// nothing\ntrue", "true\n&& true", "self.?a", "authorizer.path('/').check('get').allowed()", "'a'.reverse() == 'a'",
	"'a' in 'abc'", "b'a' == 'a'", "1 == 1.0", "1u == 1", "!1", "-'a' == ''", "self[", "@", "self.`a`", "\"a\" == r'a'", "oldSelf.nosuch == 1", "duration('1h') > 1", "[[1]].flatten().includes(1)", "x.all(y, y)", "self.exists(self, true)", "__x__ == 1", "true == dyn(1)", "dyn(true)", "optional.none().hasValue()", "optional.of(true)",
	"jsonpatch.escapeKey('a') == 'a'", "format.named('nosuch').hasValue()", "quantity('x').sign() == 1", "ip('x').family() == 4", "[1, 2].sum() == 3 && [1].sortBy(x, -x) == [1]", "duration('1h') == duration('60m') && 'a'.matches('[')",
}

// unbounded matches expressions over values whose size the estimator does not know, such as list literals: registration
// rejects them because of their estimated cost.
var unbounded = regexp.MustCompile(`type\(§\) == type|map\(k, k\)\.isSorted|last\(\) == |\]\.(join|isSorted|distinct|sort|max|min|sum|flatten)|string\(§\)\.|string\(§\) \+|string\(string|lists\.range\(§\)|quantity\(string|duration\(string|'%|quote\(|timestamp\(string|int\(string|\.sort\(\)\[|\.sort\(\)\.|distinct\(\) ==|flatten`)
