// Package flow shares the resources of the server between its callers. A flow is the work of one caller in one catalog.
//
// scheduler.go and tree.go share processor time. work.go is the use of a seat by a goroutine, item.go bounds the time of
// an item, and background.go is for work that cannot give way. limiter.go limits the calls in flight.
package flow
