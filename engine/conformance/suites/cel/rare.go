package cel

import (
	"strings"

	"github.com/google/cel-go/common/types"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// rareTexts are conditions that random generation rarely produces. Each executes a part of upstream that almost nothing
// else does. L stands for a list of the data, S for a list of strings, M for a map, V for any value.
var rareTexts = []string{
	// regular expressions: constant, computed, invalid, and on other types than strings
	`'a'.find('[') == ''`, `'a'.findAll('(').size() == 1`, `'a'.findAll('*', 1).size() == 1`, `'a'.find('[' + '') == ''`, `'a'.findAll('(' + '').size() == 1`, `'a'.findAll('(' + '', 1).size() == 1`, `'a'.matches('[' + '')`,
	`dyn(1).find('a') == ''`, `dyn(1).findAll('a') == []`, `dyn(1).findAll('a', 1) == []`, `'a'.findAll('a', dyn('x')) == []`, `'a'.find(dyn(1)) == ''`, `dyn(V).find('a' + '') == ''`, `'abab'.findAll('a', 1).size() == 1`, `'abab'.findAll('a', -1).size() == 2`,
	`'abab'.findAll('a', 0).size() == 0`, `'abab'.findAll('b' + '', 5) == ['b', 'b']`, `dyn(V).matches('a')`,
	// libraries
	`semver('1.2.3').isGreaterThan(semver('1.2.4'))`, `semver('v1.2', true).isGreaterThan(semver('1.1.0'))`, `isSemver('1.2-rc', true)`, `semver('1.2-rc', true).major() == 1`, `isSemver('01.02.03', true)`, `isSemver('v01.2', true)`,
	`isIP('fe80::1%eth0')`, `ip('fe80::1%eth0').family() == 6`, `ip('::ffff:1.2.3.4').family() == 4`, `cidr('10.0.0.0/8').containsCIDR('10.0.0.0/x')`, `cidr('10.0.0.0/8').containsIP('x')`, `isCIDR('fe80::1%a/64')`,
	`format.uri().validate('http://a').hasValue()`, `format.uuid().validate('550e8400-e29b-41d4-a716-446655440000').hasValue()`, `format.byte().validate('aGk=').hasValue()`, `format.date().validate('2020-01-01').hasValue()`,
	`format.datetime().validate('2020-01-01T00:00:00Z').hasValue()`, `format.uri().validate('::').value().size() > 0`, `format.dns1123LabelPrefix().validate('a-').hasValue()`, `format.named(dyn(1)).hasValue()`, `format.byte().validate(dyn(1)).hasValue()`,
	`url('/a b').getHost() == ''`, `url('http://h:1/p?q=1#f').getQuery()['q'] == ['1']`, `quantity('1').sub(quantity('2')).sign() == -1`, `quantity('1k').asInteger() == 1000`, `quantity('1.5').asInteger() == 1`,
	`'abc'.replace('b', '') == 'ac'`, `'abc'.replace('', 'x') == 'xaxbxcx'`, `'abc'.replace('abc', 'a') == 'a'`, `dyn(V).replace('', 'x').size() > 1`, `S[0].replace('ab', 'c').size() > 1`, `S[0].replace('a', 'bcd').size() > 1`, `S[0].replace(S[1], 'x').size() > 1`, `'a,b,c'.split(',', 2).size() == 2`,
	// lists
	`L.includes(L[0])`, `dyn(V).includes(V)`, `[1, 2].includes(2)`, `dyn(V).includes(1)`, `[dyn(1), dyn('a')].sum() == 1`, `[dyn({}), dyn([])].isSorted()`, `[dyn({}), dyn([])].max() == []`, `[dyn(1), dyn('a')].min() == 1`, `dyn(L).sum() == 1`, `dyn(L).isSorted()`, `dyn(L).indexOf(1) == 0`,
	`dyn(L).lastIndexOf(dyn(L)[0]) >= 0`, `dyn(L).min() == 1`, `dyn(V).max() == 1`, `['a'].sum() == 'a'`, `[{}].sum() == {}`, `[true, false].sum() == 1`,
	// values of the data
	`S.join(',') != ''`, `S.join() != ''`, `dyn(L).join('-') == ''`, `'%s'.format([L]) != ''`, `'%s %d'.format([M, L]) != ''`, `'%s'.format([V]) != ''`, `dyn(L)[true] == 1`, `dyn(L)[0.0] == 1`, `dyn(L)[1.5] == 1`, `dyn(L)[0u] == 1`, `dyn(L)[99] == 1`, `dyn(L)['a'] == 1`, `dyn(L).a == 1`,
	`dyn(M)[true] == 1`, `dyn(M)[1] == 1`, `dyn(M)[0.0] == 1`, `dyn(M).nosuch == 1`, `dyn(M)['nosuch'] == 1`, `has(dyn(M).a)`, `'a' in dyn(M)`, `1 in dyn(M)`, `'a' in M`, `M.all(k, k != '')`, `M.exists(k, v, k == 'a' && v == M[k])`, `dyn(L)[?9].hasValue()`, `dyn(M)[?'zz'].hasValue()`,
	`type(L) == list`, `type(M) == map`, `string(dyn(L)) == ''`, `string(dyn(M)) == ''`, `dyn(L) == dyn(M)`, `dyn(M) == dyn(L)`, `L == [L[0]]`, `[L[0]] == L`, `M == {'a': M['a']}`, `{'a': M['a']} == M`, `(L + L).size() == L.size()`, `L + [L[0], L[0]] == L`, `[L[0]] + L == L`, `dyn(L) + dyn(M) == L`, `dyn(L) + 1 == L`,
	`L.all(x, x in L)`, `1 in dyn(L)`, `{} in dyn(L)`, `[] in dyn(L)`, `null in dyn(L)`, `L.map(x, x) == L`, `L.filter(x, x != L[0]).size() < L.size()`, `L.exists_one(x, x == L[0])`, `[L, L].flatten() == L`, `L.sortBy(x, string(dyn(x))).size() == 2`, `L.distinct().size() == L.size()`, `L.reverse()[0] == L[0]`,
	`L.slice(0, 1) == [L[0]]`, `L.first().value() == L[0]`, `L.last().hasValue()`, `optional.ofNonZeroValue(L).hasValue()`, `optional.ofNonZeroValue(M).hasValue()`, `optional.of(V) == optional.of(V)`, `[V, V].all(x, x == V)`, `{'a': V}.a == V`, `V == V`, `V != oldSelf`, `type(V) == type(V)`,
	`L == dyn([{}])`, `dyn(L) == dyn([[1]])`, `dyn(L) == [dyn([1]), dyn({})]`, `L + dyn([{}]) == L`, `L + dyn('a') == L`, `dyn(L) + dyn(M) == dyn([])`, `cidr('::ffff:1.2.3.0/120').ip().family() == 4`, `isCIDR('::ffff:1.2.3.0/120')`,
	`semver('1.2.3').isLessThan(semver('1.2.4'))`, `semver('v1.a', true).major() == 1`, `semver('01.2.x', true).major() == 1`, `cidr('10.0.0.0/8').containsIP(dyn(1))`, `cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))`,
	`sets.contains(L, [L[0]])`, `sets.equivalent(L, L + L)`, `sets.intersects(L, [L[0]])`, `L.transformMap(i, x, x).size() == L.size()`, `M.transformList(k, v, v).size() == M.size()`, `M.transformMapEntry(k, v, {k: v}) == M`,
}

// rare returns one of them, or nil if the data lacks what it needs.
func (g *generator) rare(s *scope) *expression {
	pattern := generate.Pick(g.r, rareTexts)
	if strings.Contains(pattern, "oldSelf") && !g.transition {
		return nil
	}
	found := s.routes(g, 3)
	for _, of := range []struct {
		letter string
		fits   func(*types.Type) bool
	}{
		{"L", func(t *types.Type) bool { return t.Kind() == types.ListKind }},
		{"M", func(t *types.Type) bool { return t.Kind() == types.MapKind }},
		{"S", func(t *types.Type) bool { return t.IsExactType(types.NewListType(types.StringType)) }},
		{"V", func(*types.Type) bool { return true }},
	} {
		if !placeholder(pattern, of.letter) {
			continue
		}
		var fit []route
		for _, at := range found {
			if of.fits(at.t) {
				fit = append(fit, at)
			}
		}
		if len(fit) == 0 {
			return nil
		}
		pattern = replacePlaceholder(pattern, of.letter, generate.Pick(g.r, fit).e.tight().String())
	}
	return joined(false, "$", text(pattern))
}

// placeholder reports whether the pattern contains the letter as a word.
func placeholder(pattern, letter string) bool {
	return replacePlaceholder(pattern, letter, "") != pattern
}

func replacePlaceholder(pattern, letter, by string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == letter[0] && !wordAt(pattern, i-1) && !wordAt(pattern, i+1) {
			b.WriteString(by)
			continue
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

func wordAt(s string, i int) bool {
	return i >= 0 && i < len(s) && (s[i] == '_' || s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z' || s[i] >= '0' && s[i] <= '9' || s[i] == '\'')
}
