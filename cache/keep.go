package cache

// Add keeps v under key, as if it had just been built and used, in place of what was there. A value that outweighs the budget is not kept,
// and what was kept under its key is dropped.
func (c *Cache[V]) Add(key string, v V) {
	weight := max(c.weigh(v), 0)
	c.mu.Lock()
	evicted := c.keep(key, entry[V]{value: v, weight: weight})
	c.counts.evictions += uint64(evicted)
	c.mu.Unlock()
	if evicted > 0 {
		c.observer.Evict(evicted)
	}
}

// keep makes room and inserts; it returns how many other values had to go. The caller holds mu.
func (c *Cache[V]) keep(key string, e entry[V]) (evicted int) {
	if old, ok := c.lru.Peek(key); ok {
		c.lru.Remove(key)
		c.bytes -= old.weight
	}
	if e.weight > c.budget {
		c.counts.oversized++
		return 0
	}
	// Not bytes+weight > budget: with weights near MaxInt64 that would overflow.
	for c.bytes > c.budget-e.weight {
		_, old, ok := c.lru.RemoveOldest()
		if !ok {
			break
		}
		c.bytes -= old.weight
		evicted++
	}
	c.lru.Add(key, e)
	c.bytes += e.weight
	return evicted
}

// Remove drops key's value, if it is kept. A build under way is not affected.
func (c *Cache[V]) Remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.lru.Peek(key); ok {
		c.lru.Remove(key)
		c.bytes -= e.weight
	}
}

// Contains says whether key's value is kept, without counting as a use.
func (c *Cache[V]) Contains(key string) bool {
	_, ok := c.peek(key)
	return ok
}

func (c *Cache[V]) peek(key string) (entry[V], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Peek(key)
}
