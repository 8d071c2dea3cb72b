package flow

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// pollInterval is the time after which a checkpoint polls the network. A poll takes some microseconds.
const pollInterval = slice

// network lets Go poll the network at checkpoints. While all processors of Go are busy, Go itself polls only every 10 ms,
// so calls and answers of others would wait.
//
// Go polls when a goroutine waits and no other one is runnable. So a poll writes to a pipe, and waits for the result as
// for a network connection.
type network struct {
	read, write *os.File // closed by the garbage collector
	pipe        syscall.RawConn
	next        *atomic.Int64 // when to poll; never during a poll, without a pipe, or after an error of the pipe
}

const never = int64(1<<63 - 1)

func newNetwork() network {
	n := network{next: new(atomic.Int64)}
	var err error
	if n.read, n.write, err = os.Pipe(); err == nil {
		n.pipe, err = n.read.SyscallConn()
	}
	if err != nil {
		n.next.Store(never) // without polls, others wait for at most 10 ms
	}
	return n
}

// poll polls the network if the last poll was a while ago, and lets the goroutines run that received something.
func (n *network) poll(now time.Duration) {
	due := n.next.Load()
	if int64(now) < due || !n.next.CompareAndSwap(due, never) {
		return
	}
	var one [1]byte
	wrote := false
	err := n.pipe.Read(func(uintptr) bool { // called again after the poll
		if wrote {
			return true
		}
		wrote = true
		_, err := n.write.Write(one[:])
		return err != nil
	})
	if err == nil {
		_, err = n.read.Read(one[:])
	}
	if err != nil {
		return
	}
	runtime.Gosched()
	n.next.Store(int64(now + pollInterval))
}
