package generate

import (
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/tree"
)

// Group is a definition and objects to judge by it.
type Group struct {
	// Name says which generator made the group, and from what.
	Name string
	// CRD is the manifest, v1 or v1beta1. Shared: other groups have it, too, so that it is worth keeping.
	CRD    []byte
	Shared bool
	// Previous is the definition that CRD updates; nil for a creation.
	Previous *oracle.Previous
	// Objects are requests to create; none if the definition alone is the case.
	Objects []Object
}

// Object is one request of a group.
type Object struct {
	// Op is what is asked; Target the version that it leads to.
	Op     oracle.Op
	Target string
	// Version is the endpoint's version.
	Version string
	// Body is the request's body; Old what storage holds, for updates.
	Body, Old []byte
	YAML      bool
	// FieldValidation is Warn, Strict, Ignore or empty.
	FieldValidation string
	// Patch is the media type of a Body that is a patch of Old. Name is that of the URL, empty for Old's own; Namespace
	// likewise.
	Patch, Name, Namespace string
	// Mutation is a merge patch that mutating admission makes.
	Mutation []byte
}

// The names that generated definitions carry.
const (
	group    = "stable.example.com"
	kind     = "CronTab"
	version1 = "v1"
)

// Manifest wraps a root schema into the manifest of a definition with one version.
func Manifest(schema *tree.Node) *tree.Node {
	return tree.Obj(
		"apiVersion", "apiextensions.k8s.io/v1",
		"kind", "CustomResourceDefinition",
		"metadata", tree.Obj("name", "crontabs."+group),
		"spec", tree.Obj(
			"group", group,
			"scope", "Namespaced",
			"names", tree.Obj("plural", "crontabs", "singular", "crontab", "kind", kind, "listKind", "CronTabList"),
			"versions", tree.Arr(tree.Obj("name", version1, "served", true, "storage", true,
				"schema", tree.Obj("openAPIV3Schema", schema))),
		),
	)
}

// Envelope makes an object of the generated definition with the given root members beside a plain identity.
func Envelope(members ...tree.Member) *tree.Node {
	o := tree.Obj("apiVersion", group+"/"+version1, "kind", kind, "metadata", tree.Obj("name", "x", "namespace", "default"))
	o.Members = append(o.Members, members...)
	return o
}

// request makes an object of it, mostly as plain JSON under Warn.
func request(r Rand, body *tree.Node) Object {
	o := Object{Version: version1, Body: body.JSON()}
	switch r.IntN(40) {
	case 0:
		o.FieldValidation = "Strict"
	case 1:
		o.FieldValidation = "Ignore"
	case 2, 3:
		o.YAML = true // every JSON document is YAML, with YAML's idea of numbers
	}
	return o
}
