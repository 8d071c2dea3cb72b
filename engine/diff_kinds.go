package engine

// ChangeKind says in one word, stable across releases, what changed.
type ChangeKind string
