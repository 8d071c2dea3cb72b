// Command measure runs a command and writes its wall time, CPU time and peak memory to a file:
//
//	measure FILE COMMAND ARGUMENT...
//
// It uses little memory, because Linux includes the memory of the parent in the peak of the process that it starts.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// usage is what the file contains. bench.usage reads it.
type usage struct {
	Wall float64 `json:"wall"` // seconds
	CPU  float64 `json:"cpu"`  // seconds, user and system
	Peak int64   `json:"peak"` // bytes of resident memory
	Code int     `json:"code"` // exit code
}

func main() {
	if len(os.Args) < 3 {
		fail(errors.New("usage: measure FILE COMMAND ARGUMENT..."))
	}
	command := exec.Command(os.Args[2], os.Args[3:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	err := command.Run()
	wall := time.Since(start)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fail(err)
	}
	state := command.ProcessState
	text, err := json.Marshal(usage{
		Wall: wall.Seconds(),
		CPU:  (state.UserTime() + state.SystemTime()).Seconds(),
		Peak: state.SysUsage().(*syscall.Rusage).Maxrss * 1024, // Linux reports KiB
		Code: state.ExitCode(),
	})
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o600)
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "measure:", err)
	os.Exit(1)
}
