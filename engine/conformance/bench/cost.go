package bench

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// cost is what a case measures: the CPU time of a server for a call.
type cost struct {
	server *process
	do     side
}

// spent is the CPU time of a call in seconds, of the server and of this process.
type spent struct{ server, client float64 }

// compareCosts makes calls in turns and returns the medians for each side.
func compareCosts(o Options, sides ...cost) ([]spent, error) {
	servers, clients := make([][]float64, len(sides)), make([][]float64, len(sides))
	for round := range o.Rounds + 1 { // the first round warms up
		for turn := range sides {
			i := (round + turn) % len(sides)
			s, err := sides[i].measure(5 * o.Turn)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				servers[i], clients[i] = append(servers[i], s.server), append(clients[i], s.client)
			}
		}
	}
	all := make([]spent, len(sides))
	for i := range sides {
		all[i] = spent{median(servers[i]), median(clients[i])}
	}
	return all, nil
}

// measure makes concurrent calls for the duration of a turn.
func (c cost) measure(while time.Duration) (s spent, err error) {
	server, err := c.server.cpu()
	if err != nil {
		return s, err
	}
	client, begin := processorTime(), time.Now()
	var done atomic.Int64
	var group sync.WaitGroup
	failed := make(chan error, callers)
	for range callers {
		group.Go(func() {
			for ok := true; ok; ok = time.Since(begin) < while {
				if err := c.do(); err != nil {
					failed <- err
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	client = processorTime() - client
	after, err := c.server.cpu()
	if len(failed) > 0 {
		err = errors.Join(err, <-failed)
	}
	n := float64(done.Load())
	return spent{(after - server).Seconds() / n, client.Seconds() / n}, err
}
