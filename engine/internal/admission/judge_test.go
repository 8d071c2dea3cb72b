package admission

import (
	"slices"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	d := define(t, nil)
	d.Versions[1].Served = false
	for _, c := range []struct {
		name, body, object string
		faults, unknown    []string
	}{
		{name: "defaults", body: gadget(`"name":"a","namespace":"b"`, `,"spec":{"note":"x"}`),
			object: gadget(`"name":"a","namespace":"b"`, `,"spec":{"note":"x","must":1}`)},
		{name: "a version that is not served", body: strings.Replace(gadget(`"name":"a","namespace":"b"`, `,"spec":{}`), "/v1", "/v2", 1),
			object: strings.Replace(gadget(`"name":"a","namespace":"b"`, `,"spec":{"since":2}`), "/v1", "/v2", 1)},
		{name: "a status", body: gadget(`"name":"a","namespace":"b"`, `,"status":{"replicas":-1}`), faults: []string{"/status/replicas"}},
		{name: "a spec and the scale", body: gadget(`"name":"a","namespace":"b"`, `,"spec":{"must":"x","tags":["a","a"],"replicas":-1}`),
			faults: []string{"/spec/must", "/spec/replicas", "/spec/tags/1"}},
		{name: "an unknown field", body: gadget(`"name":"a","namespace":"b"`, `,"spec":{"must":2,"more":1}`),
			object: gadget(`"name":"a","namespace":"b"`, `,"spec":{"must":2}`), unknown: []string{"spec.more"}},
		{name: "no namespace", body: gadget(`"name":"A"`, ""), faults: []string{"/metadata/name", "/metadata/namespace"}},
	} {
		for _, exact := range []bool{false, true} {
			body := c.body
			if exact { // a key that only the exact path takes
				body = strings.Replace(body, "{", `{"a":{},"a":{},`, 1)
				c.unknown = append(slices.Clone(c.unknown), "a")
			}
			out, err := d.Judge(t.Context(), &Request{Body: []byte(body), WantObject: true})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			var faults []string
			for _, v := range out.Violations {
				faults = append(faults, v.Path.Pointer())
			}
			slices.Sort(faults)
			slices.Sort(c.unknown)
			if !slices.Equal(faults, c.faults) || !slices.Equal(out.Unknown, c.unknown) || c.object != "" && string(out.Object) != c.object {
				t.Errorf("%s: %s, faults at %q, unknown %q", c.name, out.Object, faults, out.Unknown)
			}
		}
	}
	if out, err := d.Judge(t.Context(), &Request{Body: []byte(`{"apiVersion":"example.com/v1","kind":"Other"}`)}); err == nil {
		t.Errorf("another kind: %+v", out)
	}
}
