package upstreamtests

import "testing"

func TestRead(t *testing.T) {
	for _, s := range []Source{Rules, Libraries, Definitions, Conversions, ConversionWebhooks} {
		rows, err := Read(s)
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		for _, r := range rows {
			n[r.Table]++
		}
		t.Log(n)
		for _, table := range s.Tables {
			if n[table.Function] == 0 {
				t.Errorf("%s has no rows", table.Function)
			}
		}
	}
}
