package registry

// Sequence is that of the last commit that was seen. Replicas of one store compare by it.
func (r *Registry) Sequence() uint64 { return r.snapshot.Load().sequence }
