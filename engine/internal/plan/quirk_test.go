//go:build quirks

package plan

import (
	"slices"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// Each switch must change the answer to its case: the conformance run relies on that.
func TestSwitches(t *testing.T) {
	defer quirk.Reset()
	for _, c := range []struct {
		n              quirk.Name
		schema, object string
	}{
		{quirk.TwoPathDialects, `v:{"type":"object","additionalProperties":{"type":"string"}}`, `v:{"a":1}`},
		{quirk.FieldNilForSummaries, `v:{"anyOf":[{"minimum":2}]}`, `v:1`},
		{quirk.TypeNameAsBadValue, `v:{"type":"string"}`, `v:1`},
		{quirk.DetailRepeatsPath, `v:{"minimum":2}`, `v:1`},
		{quirk.TooLongSaysBytes, `v:{"type":"string","maxLength":2}`, `v:"abc"`},
		{quirk.IntOrStringTypeErrors, `v:{"x-kubernetes-int-or-string":true}`, `v:true`},
		{quirk.ErrorsDeduplicatedByText, `v:{"minimum":2,"allOf":[{"minimum":2}]}`, `v:1`},
		{quirk.BestBranchReported, `v:{"anyOf":[{"type":"string"},{"type":"integer","minimum":2}]}`, `v:1`},
		{quirk.EnumValuesQuotedTwice, `v:{"enum":[null]}`, `v:1`},
		{quirk.IntegerAcceptsWholeFloat, `v:{"type":"integer"}`, `v:1.0`},
		{quirk.IntegerOverflowReportedTwice, `v:{"type":"integer"}`, `v:1.5`},
		{quirk.BoundsTruncatedForIntegers, `v:{"type":"number","minimum":1.5}`, `v:1`},
		{quirk.MultipleOfTruncatedForIntegers, `v:{"type":"number","multipleOf":0.5}`, `v:1`},
		{quirk.FractionalBoundRejectsIntegers, `v:{"type":"integer","minimum":0.5}`, `v:1`},
		{quirk.NumberFormatsByType, `v:{"type":"integer","format":"int32"}`, `v:2147483648`},
		{quirk.EnumConvertsValue, `v:{"type":"number","enum":[1]}`, `v:1.5`},
		{quirk.NullEnumNeverMatches, `v:{"nullable":true,"enum":[null]}`, `v:null`},
		{quirk.FirstStringErrorOnly, `v:{"type":"string","maxLength":2,"pattern":"x"}`, `v:"abc"`},
		{quirk.UnknownFormatsIgnored, `v:{"type":"string","format":"ur-i"}`, `v:"abc"`},
		{quirk.FormatErrorIsTypeError, `v:{"type":"string","format":"uri"}`, `v:"abc"`},
		{quirk.FormattedStringAcceptsArray, `v:{"type":"string","format":"uri"}`, `v:[]`},
		{quirk.ByteAlphabet, `v:{"type":"string","format":"byte"}`, `v:""`},
		{quirk.DurationMatchesAnywhere, `v:{"type":"string","format":"duration"}`, `v:"1 w"`},
		{quirk.LooseDateTime, `v:{"type":"string","format":"date-time"}`, `v:"2020-01-01T00:00:00+99:99"`},
		{quirk.DatetimeWithoutDash, `v:{"type":"string","format":"datetime"}`, `v:"x"`},
		{quirk.LooseAddressFormats, `v:{"type":"string","format":"ipv4"}`, `v:"010.0.0.1"`},
		{quirk.NullDroppedOrDefaulted, `v:{"type":"string","nullable":true,"default":"x"}`, `v:null`},
		{quirk.NullItemsKept, `v:{"type":"array","items":{"type":"string"}}`, `v:[null]`},
		{quirk.RequiredAfterDefaulting, `{"type":"object","required":["v"],"properties":{"v":{"type":"string","nullable":true}}}`, `v:null`},
		{quirk.DefaultsNeedParent, `v:{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer","default":1}}}}`, `v:[{}]`},
		{quirk.MapValueDefaultsForNullOnly, `v:{"type":"object","additionalProperties":{"type":"integer","default":1}}`, `v:{"a":null}`},
		{quirk.AdditionalPropertiesTruePrunesBelow, `v:{"type":"object","additionalProperties":true}`, `v:{"a":{"b":1}}`},
		{quirk.EmptyObjectSchemaPrunes, `v:{"type":"object"}`, `v:{"a":1}`},
		{quirk.PreserveForOneLevel, `v:{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`, `v:{"a":{"c":1}}`},
		{quirk.TopmostUnknownFieldOnly, `{"type":"object"}`, `{"b":1,"a":1}`},
		{quirk.EmbeddedMetadata, `v:{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`, `v:{}`},
		{quirk.SecondDuplicateOnly, `v:{"type":"array","x-kubernetes-list-type":"set","items":{"type":"number"}}`, `v:[1,1.0]`},
		{quirk.MapListKeyCollisions, oneKey, `v:[{},{}]`},
	} {
		answer := func() []string {
			p := compileText(t, c.schema, Options{})
			d, root := parseText(t, c.object)
			out := changed(prune(t, p, d, root))
			if _, err := p.DropNulls(d, root, false); err != nil {
				t.Fatal(err)
			}
			if _, err, _ := p.CoerceEmbedded(d, root, metadata.Options{}); err != nil {
				t.Fatal(err)
			}
			fillDefaults(t, p, d, root)
			for _, v := range slices.Concat(p.Explain(d, root, At{}), p.ExplainEmbedded(d, root, At{}), p.ExplainLists(d, root, At{})) {
				out = append(out, string(v.Type)+" "+v.Error.Error())
			}
			return append(out, string(d.AppendJSON(nil, root)))
		}
		quirk.Reset()
		with := answer()
		quirk.Off(c.n)
		if without := answer(); slices.Equal(with, without) {
			t.Errorf("quirk %s makes no difference to %s: %q", c.n, c.object, with)
		}
	}
}
