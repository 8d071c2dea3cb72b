// Package peers is the protocol between make bench and the validators that it measures. Each validator runs in a
// process of its own, and reads commands from stdin, one per line. It writes one line for each:
//   - object FILE: reads an object and validates it. The line is "valid", or "invalid" and the error.
//   - run N: validates that object N times from its bytes. The line is the CPU time of the process in seconds.
//
// Before a run, the process collects garbage. The folders ajv and jsonschema-rs implement the same protocol.
package peers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Serve runs the commands that it reads from in, until the end of in. validate returns an error for an invalid object.
func Serve(in io.Reader, out io.Writer, validate func(object []byte) error) error {
	var object []byte
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := "valid", error(nil)
		switch verb, argument, _ := strings.Cut(lines.Text(), " "); verb {
		case "object":
			if object, err = os.ReadFile(argument); err != nil {
				return err
			}
			if err := validate(object); err != nil {
				answer = "invalid " + strings.ReplaceAll(err.Error(), "\n", " ")
			}
		case "run":
			n, err := strconv.Atoi(argument)
			if err != nil {
				return err
			}
			took, err := run(object, n, validate)
			if err != nil {
				return err
			}
			answer = strconv.FormatFloat(took.Seconds(), 'g', -1, 64)
		default:
			return fmt.Errorf("unknown command %q", verb)
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// run returns the CPU time of n validations of a valid object.
func run(object []byte, n int, validate func([]byte) error) (time.Duration, error) {
	runtime.GC()
	start, err := processorTime()
	if err != nil {
		return 0, err
	}
	for range n {
		if err := validate(object); err != nil {
			return 0, errors.Join(errors.New("run needs a valid object"), err)
		}
	}
	end, err := processorTime()
	return end - start, err
}

// processorTime returns the CPU time that this process has used.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
