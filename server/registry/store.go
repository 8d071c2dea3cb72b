package registry

import (
	"context"
	"errors"
)

// Store keeps entries, which are bytes by key, durably. The registry encodes catalogs and CRDs; a Store does not know
// them. Implementations are safe for concurrent use and must pass the tests in storetest.
type Store interface {
	// ID identifies the contents of the store. It is created with the store, survives restarts and is not empty.
	ID() string
	// Load returns all entries and the sequence at one moment. It includes the effect of each Commit that returned before.
	Load(ctx context.Context) (State, error)
	// Commit makes all changes of t, or none. It returns when they are durable. The sequence is greater than all
	// before, and becomes the Version of the entries put. ErrConflict (an expectation failed), ErrTooLarge and a
	// Failure with Unchanged mean that nothing changed. After other errors, and when ctx ends, the outcome is unknown:
	// the commit may still happen later, but not after the next Load. Callers do not modify t afterwards.
	Commit(ctx context.Context, t Transaction) (sequence uint64, err error)
	// Close releases the store. Calls after it return ErrClosed.
	Close() error
}

// State is the contents of a store at one moment.
type State struct {
	Sequence uint64  // of the last commit, 0 for a new store
	Entries  []Entry // in ascending order of keys
}

// Entry is a non-empty key with a value of at most some MiB. Neither the store nor its callers modify values.
type Entry struct {
	Key     string
	Value   []byte
	Version uint64 // the sequence of the commit that put it; ignored in a Transaction
}

// Transaction is a set of changes. A key appears at most once in Put and Delete together, and no key of Put has a
// prefix in DeletePrefix.
type Transaction struct {
	Expect       []Expectation
	Put          []Entry
	Delete       []string // keys, which need not exist
	DeletePrefix []string // prefixes of keys, not empty
}

// Expectation is the condition that the entry of Key has a Version, or does not exist if Version is 0.
type Expectation struct {
	Key     string
	Version uint64
}

// Watcher is a Store with several writers, such as replicas that share it.
type Watcher interface {
	Store
	// Watch calls connected, once or more often, while it receives commits, and apply for every commit with a sequence
	// greater than after, in order. It returns the context's cause when ctx ends. After failures such as a lost
	// connection, watch again from the last commit. It returns ErrCompacted if the store no longer has some of the
	// commits: load, and watch from there.
	Watch(ctx context.Context, after uint64, connected func(), apply func(Commit)) error
	// Latest returns a sequence that Watch reaches and that is not below that of any commit answered before the call.
	Latest(ctx context.Context) (uint64, error)
}

// Commit is the effect of one commit. Keys deleted by prefix are listed in Delete.
type Commit struct {
	Sequence uint64
	Put      []Entry
	Delete   []string
}

// Errors of stores, which may be wrapped.
var (
	ErrCompacted = errors.New("registry: the store no longer keeps the commits to watch")
	ErrConflict  = errors.New("registry: the store has changed meanwhile")
	ErrTooLarge  = errors.New("registry: the transaction is too large for the store")
	ErrClosed    = errors.New("registry: the store is closed")
)

// Failure is an error of a store with separate texts for callers and for the log.
type Failure struct {
	Public    string // a clause for callers, without addresses: "it has no space left"
	Unchanged bool   // nothing was written
	Err       error  // for the server's log
}

// Error returns the text for the log.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }
