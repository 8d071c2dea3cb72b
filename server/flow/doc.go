// Package flow shares CPU time, memory and calls in flight between the callers of the server. Its terms:
//
//   - A flow is the work of one caller in one catalog. The Scheduler groups flows by tenant. A tenant is an
//     authenticated caller, or, without authentication, a catalog.
//   - A seat is the right of a piece of work to use a core. The Scheduler grants seats.
//   - A slot is the right of a call to be in flight. The Limiter grants slots.
//   - A lease is the memory that a call holds. Memory, the ledger, grants its bytes.
//
// The Scheduler is in scheduler.go and tree.go. work.go uses a seat in a goroutine, item.go bounds the time of an item,
// pool.go evaluates the items of a batch, background.go runs work without checkpoints, and network.go polls the network at checkpoints. The Limiter is in
// limiter.go, and its slots are in slot.go. delay.go rejects calls while goroutines wait for processors, and history.go
// finds callers with fast calls. The ledger is in memory.go.
package flow
