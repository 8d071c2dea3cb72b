package main

import "testing"

func TestOpenAPIChoice(t *testing.T) {
	for _, test := range []struct{ index, apiVersion, want string }{
		{`{"paths": {"apis/g.io/v1": {}, "apis/g.io": {}}}`, "", "g.io/v1"},
		{`{"paths": {"apis/g.io/v1": {}, "apis/g.io/v2": {}}}`, "g.io/v2", "g.io/v2"},
		{`{"paths": {"apis/g.io/v1": {}, "apis/g.io/v2": {}}}`, "", "there are several documents: use --api-version with one of [g.io/v1 g.io/v2]"},
		{`{"paths": {"apis/g.io/v1": {}}}`, "g.io/v3", "--api-version g.io/v3 is not served: use one of [g.io/v1]"},
		{`{"paths": {}}`, "", "there is no document: no CRD has a served version"},
		{`{"paths": {}}`, "g.io/v3", "there is no document: no CRD has a served version"},
	} {
		c := openapiCommand{APIVersion: test.apiVersion}
		group, version, err := c.choose([]byte(test.index))
		got := group + "/" + version
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s, %q: %s, want %s", test.index, test.apiVersion, got, test.want)
		}
	}
}
