// Package registry keeps what callers register: catalogs, the CRDs in them, and each CRD's revisions.
//
// Everything is in memory, as one immutable snapshot behind an atomic pointer: a reader takes the pointer once and has
// a consistent picture, without locks and without touching the store. A write goes to the Store first, which makes it
// durable, and then becomes the next snapshot. Manifests are kept compressed (about a tenth of their size), so that a program
// evicted from the cache is rebuilt from memory too.
//
// A revision is the digest of a CRD's canonical manifest; it never changes and is the key of the compiled program in the
// cache. The current revision of a CRD is a pointer with a generation. Equal CRDs of two catalogs share a program.
//
// Where to read next: store.go is the interface to implement (memory, bolt), snapshot.go the index, register.go the write
// that matters, view.go what evaluation uses, token.go consistency.
package registry
