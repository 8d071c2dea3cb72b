package registry

import (
	"context"
	"errors"
)

// Store keeps entries, bytes by key, durably. It knows nothing of catalogs and CRDs: the registry has one encoding for all stores.
// Implementations are safe for concurrent use, and are held to what storetest checks.
type Store interface {
	// ID names the store's contents for good: it is made once, when the store is created, and survives restarts as the contents do.
	// Tokens carry it. It is not empty.
	ID() string
	// Load returns all entries, of one moment, and the sequence of that moment.
	Load(ctx context.Context) (State, error)
	// Commit makes all changes of t or none. When it returns nil error they are durable: neither a crash of the process nor of the machine
	// loses them. The sequence it returns is greater than every one before, and is the Version of the entries put. ErrConflict means
	// that an expectation did not hold and nothing changed, ErrTooLarge that the store does not take so much at once and nothing changed. After
	// any other error, and when ctx ended, the outcome is unknown: it may be committed, or be so a moment later, which expectations guard against.
	// A Failure among the errors has words for callers.
	Commit(ctx context.Context, t Transaction) (sequence uint64, err error)
	// Close gives up the store. Calls after it fail with ErrClosed.
	Close() error
}

// State is the contents of a store at one moment.
type State struct {
	Sequence uint64  // of the last commit, 0 for a new store
	Entries  []Entry // in ascending order of keys
}

// Entry is one key with its value. Keys are not empty; values may be, and are at most some MiB. A store keeps no reference to bytes it was given
// that it would write to, nor do callers write to bytes that a store gave them.
type Entry struct {
	Key     string
	Value   []byte
	Version uint64 // the sequence of the commit that put it; ignored in a Transaction
}

// Transaction is a set of changes that belong together. A key appears at most once in Put and Delete together, and none of Put has a prefix in
// DeletePrefix.
type Transaction struct {
	Expect       []Expectation
	Put          []Entry
	Delete       []string // a key that is not there is no error
	DeletePrefix []string // all keys that begin with one of these, however many; none is empty
}

// Expectation is a condition of a Transaction: Key's entry has that Version, 0 meaning that there is no such entry.
type Expectation struct {
	Key     string
	Version uint64
}

// Watcher is a Store that others write to as well, as replicas that share one do.
type Watcher interface {
	Store
	// Watch tells of every commit with a sequence greater than after, by whomever, in order, each once and whole, until ctx ends; then it returns
	// the context's cause. It returns when it has to give up, with ErrCompacted if commits behind after are no longer kept: Load then, and
	// watch from there. It hides what heals by itself, a lost connection for example.
	Watch(ctx context.Context, after uint64, tell func(Commit)) error
	// Latest is a sequence that no commit which was answered before the call exceeds, by whomever; the Watch comes to it.
	Latest(ctx context.Context) (uint64, error)
	// Following is nil while a Watch runs and is known to miss nothing: its connection lives. Otherwise it says why not. It does not block.
	Following() error
}

// Commit is what one commit changed. Keys deleted by prefix are in Delete, each.
type Commit struct {
	Sequence uint64
	Put      []Entry
	Delete   []string
}

var (
	// ErrCompacted is the error of a Watch that came too late for some commits.
	ErrCompacted = errors.New("registry: the store no longer keeps the commits to watch")
	// ErrConflict is the error of a Commit of which an expectation did not hold.
	ErrConflict = errors.New("registry: the store has changed meanwhile")
	// ErrTooLarge is the error of a Commit with more or larger entries than the store takes in one transaction. It is wrapped by what says how much that is.
	ErrTooLarge = errors.New("registry: more than the store takes in one transaction")
	// ErrClosed is the error of calls on a closed store.
	ErrClosed = errors.New("registry: the store is closed")
)

// Failure is why a store could not do what it was asked for: an error that says it twice.
type Failure struct {
	Public    string // for callers: a clause without addresses, "it has no space left" for example
	Unchanged bool   // nothing was written, for certain
	Err       error  // for the server's log: with where, and what to check
}

// Error returns what is for the log.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }
