package bolt

import "runtime"

// Hang blocks all commits, as a disk that does not answer does, until release is called.
func (s *Store) Hang() (release func() error, err error) {
	tx, err := s.db.Begin(true)
	if err != nil {
		return nil, err
	}
	return tx.Rollback, nil
}

// AwaitTurn returns when a call has begun to use the file.
func (s *Store) AwaitTurn() {
	for len(s.turn) == 0 {
		runtime.Gosched()
	}
}
