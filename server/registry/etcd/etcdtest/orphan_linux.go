package etcdtest

import (
	"os/exec"
	"syscall"
)

// dieWithParent lets no server outlive a test process that is killed, by its timeout for example.
func dieWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
