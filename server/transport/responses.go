package transport

import "time"

// stallInterval is how often the progress of responses is checked.
const stallInterval = time.Second

// add adds a response that gRPC has not written yet.
func (c *conn) add(r *response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.responses == nil {
		c.responses = map[*response]struct{}{}
	}
	c.responses[r] = struct{}{}
	if !c.checking {
		c.checking = true
		time.AfterFunc(stallInterval, c.check)
	}
}

func (c *conn) remove(r *response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.responses, r)
}

// check closes the connection if the client does not read its responses. The responses of a fast client are not stalled.
func (c *conn) check() {
	c.mu.Lock()
	now, written := time.Now(), c.written.Load()
	fast, extend := written-c.progress >= FastBytes, written-c.extended >= MinProgress
	c.progress = written
	if extend {
		c.extended = written
	}
	late := false
	for r := range c.responses {
		if extend {
			r.deadline = now.Add(WritePatience + r.patience)
		}
		late = late || now.After(r.deadline)
		if !r.waiting || fast {
			r.waiting = true
			r.lease.AwaitPeer(func() { c.closeFor(ClosedUnread) })
		}
	}
	c.checking = len(c.responses) > 0 && !late
	if c.checking {
		time.AfterFunc(stallInterval, c.check)
	}
	c.mu.Unlock()
	if late {
		c.closeFor(ClosedUnread)
	}
}
