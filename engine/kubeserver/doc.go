// Package kubeserver is for authors of API servers that serve custom resources, such as clients/apiserver.
//
// Such a server stores objects itself, and calls the engine for parts of a write: Body decodes the body of a request, and
// Validate prepares and validates the object after admission. BodyAndValidate does both in one call if nothing changes
// the object in between. engine.Definition.Read decodes what the server has stored.
//
// CompileAsStored compiles CRDs with the status that they have in a storage, and ReconcileStatus keeps that status up to
// date.
package kubeserver
