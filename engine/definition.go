package engine

import "context"

// Definition is a CRD ready to evaluate objects. It is immutable and safe for any number of goroutines.
type Definition struct {
	name, group, kind, plural string
	scope                     Scope
	versions                  []VersionInfo
	storage                   string
	revision                  string
	manifest                  []byte
	size                      int64
}

// Check says what an API server would make of a manifest on create, without compiling anything. The error is an *Error for
// a manifest that cannot be judged: over a limit, unreadable, not a CRD.
func Check(ctx context.Context, manifest Document, o Options) (*Report, error) {
	_, report, err := Compile(ctx, manifest, o)
	return report, err
}

// Compile checks a manifest as Check does and compiles it. The Definition is nil if, and only if, the report says that the
// CRD is not accepted.
func Compile(ctx context.Context, manifest Document, o Options) (*Definition, *Report, error) {
	return nil, nil, &Error{Reason: ReasonFeatureNotAvailable, Message: "not built yet"}
}

// CompileStored compiles what Definition.Manifest returned once: an accepted CRD, which is not checked again.
func CompileStored(ctx context.Context, canonical []byte, o Options) (*Definition, error) {
	return nil, &Error{Reason: ReasonFeatureNotAvailable, Message: "not built yet"}
}

// TypeMetaOf returns the apiVersion and kind at the root of a document without building a tree of JSON text; both are ""
// where absent or not strings. The error is an *Error for YAML that cannot be read; broken JSON is found out by evaluating it.
func TypeMetaOf(d Document, l Limits) (apiVersion, kind string, err error) {
	return "", "", &Error{Reason: ReasonFeatureNotAvailable, Message: "not built yet"}
}

// Name returns the CRD's name: crontabs.stable.example.com.
func (d *Definition) Name() string { return d.name }

// Group returns the API group: stable.example.com.
func (d *Definition) Group() string { return d.group }

// Kind returns the kind: CronTab.
func (d *Definition) Kind() string { return d.kind }

// Plural returns the resource as URLs spell it: crontabs.
func (d *Definition) Plural() string { return d.plural }

// Scope says whether objects live in namespaces.
func (d *Definition) Scope() Scope { return d.scope }

// Versions returns all versions in order of priority; the caller must not change the slice.
func (d *Definition) Versions() []VersionInfo { return d.versions }

// StorageVersion returns the version that objects are stored at.
func (d *Definition) StorageVersion() string { return d.storage }

// Revision returns "sha256:" and the digest of the canonical manifest with the options that shape its meaning: equal
// revisions give equal answers.
func (d *Definition) Revision() string { return d.revision }

// Manifest returns the canonical JSON of the CRD: apiextensions.k8s.io/v1, upstream's defaults filled in, keys sorted, no
// status, none of the metadata that a server sets. CompileStored takes it back. The caller must not change it.
func (d *Definition) Manifest() []byte { return d.manifest }

// Size returns the bytes that the Definition retains, process-wide interned patterns apart.
func (d *Definition) Size() int64 { return d.size }

// Validate answers whether the API server would accept the object on create. What the API server would answer is a Verdict,
// unreadable JSON included; the error is an *Error for what could not be evaluated.
func (d *Definition) Validate(ctx context.Context, item Item, o EvaluationOptions) (*Verdict, error) {
	return nil, &Error{Reason: ReasonFeatureNotAvailable, Message: "not built yet"}
}

// Prune returns the object with its metadata coerced and everything removed that the schema does not know. Nothing else
// changes: nulls stay, nothing is defaulted.
func (d *Definition) Prune(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	return nil, &Error{Reason: ReasonFeatureNotAvailable, Message: "not built yet"}
}

// Default returns the object with nulls of non-nullable fields dropped and defaults filled in. Nothing is pruned, metadata
// stays as it is.
func (d *Definition) Default(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	return nil, &Error{Reason: ReasonFeatureNotAvailable, Message: "not built yet"}
}

// Read returns what the API server makes of bytes from its storage: malformed metadata dropped rather than refused,
// generation repaired, pruned, nulls dropped, defaulted at the object's own version; with a target version then converted
// and coerced to that version's schema, without defaulting again.
func (d *Definition) Read(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	return nil, &Error{Reason: ReasonFeatureNotAvailable, Message: "not built yet"}
}

// Convert returns the object converted to the target version and coerced to that version's schema.
func (d *Definition) Convert(ctx context.Context, item Item, o EvaluationOptions) (*Transformed, error) {
	return nil, &Error{Reason: ReasonFeatureNotAvailable, Message: "not built yet"}
}
