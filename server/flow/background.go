package flow

// background is work without checkpoints in a goroutine of its own. The work that started it waits for it.
type background struct {
	w *Work

	// Scheduler.mu guards these.
	was      bool  // w.long before
	detached *Work // has the seat after the background work was abandoned
	ended    bool
}

// background implements host.Hooks.Background. The work becomes long work and waits until it has a seat as such.
func (w *Work) background() (abandon, end func()) {
	b := &background{w: w}
	s := w.s
	now := s.now()
	s.mu.Lock()
	b.was = w.long
	again := w.state == idle || w.long || s.long < s.maxLong
	switch {
	case w.state == waiting: // another goroutine of the work waits
		s.mu.Unlock()
		return func() {}, func() {}
	case again && !w.long:
		w.long = true
		if w.state == running {
			s.long++
		}
	case !again:
		s.unseat(w, now)
		w.long = true
		s.enqueue(w, now)
		s.dispatch(now)
	}
	ticket, granted := w.ticket, w.granted
	s.mu.Unlock()
	if !again && w.await(ticket, granted) != nil {
		b.end()
		return nil, nil
	}
	return b.abandon, b.end
}

// abandon moves the seat of the work to the background work.
func (b *background) abandon() {
	s := b.w.s
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.ended || b.w.state != running {
		return
	}
	s.unseat(b.w, now)
	b.w.long = b.was
	d := &Work{s: s, key: b.w.key, tenant: b.w.tenant, flow: b.w.flow, long: true}
	d.parent, d.work = d.flow, d
	s.leave(b.w)
	s.enter(d, now)
	s.seat(d, now)
	b.detached = d
}

// end returns the seat of abandoned work. Other work continues with its seat.
func (b *background) end() {
	s := b.w.s
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	b.ended = true
	switch {
	case b.detached != nil:
		s.unseat(b.detached, now)
		s.leave(b.detached)
		s.dispatch(now)
	case b.w.long && !b.was:
		b.w.long = false
		if b.w.state == running {
			s.long--
			s.dispatch(now)
		}
	}
}
