// Package workspace reads the files of a repository, and finds the CRDs of the objects in them.
//
// # Read files
//
// Walk yields the manifest files of a folder as Sources, and Load reads one. A File has the Manifests of its text,
// split as kubectl splits it: YAML documents, JSON values, and the items of lists. A part that cannot be read is a Manifest
// with an error. A Filter recognises files that are no manifests, such as templates of Helm charts and patches of
// kustomize; File.Skip then says why the file is skipped. Other texts, such as standard input, are a Source with a Read
// function of your own, or go to Parse.
//
// A Manifest knows its place: engine results about its Document have positions in the whole file, and Manifest.Range
// finds the value of a JSON pointer.
//
// # Find the CRDs of an object
//
// Workspace.Set adds the CRDs of a File. Workspace.Evaluate evaluates an object with its CRD, which is compiled on
// first use. If files have several CRDs of the kind, those that the user named win (Source.Given), then those nearest to the
// file of the object. CRDs that are equally near are all asked, and there is one Answer for each different result.
// Workspace.Candidates has the rules. Without a CRD, the error is a *WithoutCRDError with the kind that was probably
// meant, or a *RejectedCRDError.
//
// Workspace.Classify says what a manifest is: a CRD, an object with or without one, an object of Kubernetes itself.
//
// The package does no I/O except reading the file system or the reader of a Source.
package workspace

// The files of this package:
//
//   - sources and folders: source.go, walk.go; what is skipped: skip.go, kustomize.go, placeholder.go
//   - manifests: split.go, list.go, manifest.go, identity.go; their places: range.go, remote.go
//   - what a manifest is: class.go, builtin.go
//   - which CRDs apply: crd.go, choose.go, evaluate.go
