package publish_test

import (
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/testenv/writecase"
)

// storedCRD has two versions of different fields.
var storedCRD = writecase.Manifest("widgets")

func widget(version, metadata, rest string) engine.Document {
	return engine.JSON([]byte(`{"apiVersion":"example.com/` + version + `","kind":"Widget","metadata":{` + metadata + `}` + rest + `}`))
}

// scaledCRD has a version with the subresource scale, and stored is an object of it.
var scaledCRD = writecase.Manifest("crontabs")

const stored = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","namespace":"default","uid":"u","resourceVersion":"7","generation":3},` +
	`"spec":{"replicas":1,"image":"a<b"},"status":{"replicas":1,"selector":"a=b"}}`

func scaled(t testing.TB) *engine.Definition {
	t.Helper()
	return fixture.Compile(t, scaledCRD)
}
