// Package flow shares CPU time between the calls of the server. Its terms:
//
//   - A flow is the work of one caller in one catalog: call.Flow. The Scheduler groups flows by tenant. A tenant is an
//     authenticated caller, or, without authentication, a catalog.
//   - A seat is the right of a piece of work to use a core. The Scheduler grants seats.
//
// The Scheduler is in scheduler.go and tree.go. work.go uses a seat in a goroutine, item.go bounds the time of an item,
// pool.go evaluates the items of a batch, background.go runs work without checkpoints, and network.go polls the network
// at checkpoints.
package flow
