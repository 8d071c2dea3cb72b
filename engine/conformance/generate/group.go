package generate

import (
	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// Group is a CRD and objects.
type Group struct {
	// Name describes the generator and its input.
	Name string
	// CRD is the manifest, v1 or v1beta1. Shared means that other groups use it too, so that it is worth caching.
	CRD    []byte
	Shared bool
	// Previous is the CRD that CRD updates, or nil for a creation.
	Previous *oracle.Previous
	// Objects are requests. Without objects, the CRD is the case.
	Objects []Object
}

// Object is one request of a group.
type Object struct {
	// Op is the operation. Target is its target version.
	Op     oracle.Op
	Target string
	// Version is the endpoint's version.
	Version string
	// Body is the request's body. Old is the stored object of an update.
	Body, Old []byte
	YAML      bool
	// FieldValidation is Warn, Strict, Ignore or empty.
	FieldValidation string
	// Patch is the media type if Body is a patch of Old. Name and Namespace are those in the URL; empty means those of
	// Old.
	Patch, Name, Namespace string
	// Mutation is a merge patch that mutating admission applies.
	Mutation []byte
}

// The names in generated CRDs.
const (
	group    = "stable.example.com"
	kind     = "CronTab"
	version1 = "v1"
)

// Manifest returns the manifest of a CRD with one version and this root schema.
func Manifest(schema *jsontree.Node) *jsontree.Node {
	return jsontree.Obj(
		"apiVersion", "apiextensions.k8s.io/v1",
		"kind", "CustomResourceDefinition",
		"metadata", jsontree.Obj("name", "crontabs."+group),
		"spec", jsontree.Obj(
			"group", group,
			"scope", "Namespaced",
			"names", jsontree.Obj("plural", "crontabs", "singular", "crontab", "kind", kind, "listKind", "CronTabList"),
			"versions", jsontree.Arr(jsontree.Obj("name", version1, "served", true, "storage", true,
				"schema", jsontree.Obj("openAPIV3Schema", schema))),
		),
	)
}

// Envelope returns an object of the generated CRD with the root members and a plain identity.
func Envelope(members ...jsontree.Member) *jsontree.Node {
	o := jsontree.Obj("apiVersion", group+"/"+version1, "kind", kind, "metadata", jsontree.Obj("name", "x", "namespace", "default"))
	o.Members = append(o.Members, members...)
	return o
}

// request returns a request for the object, mostly in JSON with Warn.
func request(r Rand, body *jsontree.Node) Object {
	o := Object{Version: version1, Body: body.JSON()}
	switch r.IntN(40) {
	case 0:
		o.FieldValidation = "Strict"
	case 1:
		o.FieldValidation = "Ignore"
	case 2, 3:
		o.YAML = true // every JSON document is YAML, with YAML's numbers
	}
	return o
}
