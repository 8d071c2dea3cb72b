package crdevaltest_test

import (
	"testing"

	"github.com/crdeval/crdeval/engine/crdevaltest"
)

func TestCronTabs(t *testing.T) {
	cronTab := func(spec string) string {
		return "{apiVersion: stable.example.com/v1, kind: CronTab, spec: " + spec + "}"
	}
	crdevaltest.Load(t, "testdata/crontabs.yaml").Run(t, []crdevaltest.Case{
		{Name: "one replica by default", Object: cronTab("{image: a}"), Result: "spec: {replicas: 1}"},
		{Name: "at most 10 replicas", Object: cronTab("{image: a, replicas: 11}"),
			Causes: []crdevaltest.Cause{{Field: "spec.replicas", Message: "less than or equal to 10"}}},
		{Name: "too many replicas are kept", Old: cronTab("{image: a, replicas: 11}"),
			InvalidOld: true, Object: cronTab("{image: b, replicas: 11}")},
	})
}

func TestSuite(t *testing.T) { crdevaltest.Run(t, "testdata/suite.yaml") }
