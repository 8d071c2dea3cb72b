package load

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var attacks = struct{ name, grpc, http *string }{
	flag.String("attack", "", "case whose attack TestLoad runs, and nothing else"),
	flag.String("attack-grpc", "", "gRPC address for -attack"),
	flag.String("attack-http", "", "HTTP address for -attack"),
}

// attack is the part of a case that runs in a process of its own, with the lowest priority: its work then takes little
// CPU time from the neighbour and from the server.
type attack func(ctx context.Context, l *load, grpc, http string) error

// runAttack runs the attack of a case until the standard input ends.
func runAttack(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for _, c := range loadCases {
		if c.name == *attacks.name {
			err := c.attack(ctx, &load{T: t, name: c.name}, *attacks.grpc, *attacks.http)
			fmt.Printf("last error of the attack: %.300v\n", err)
		}
	}
}

// attack starts the attack of the case, with further flags. stop ends it and prints its last error.
func (l *load) attack(s *server, flags ...string) (stop func()) {
	l.Helper()
	args := []string{"-n", "19", os.Args[0], "-test.run=^TestLoad$", "-attack=" + l.name, "-attack-grpc=" + s.grpc, "-attack-http=" + s.http,
		fmt.Sprintf("-full=%v", *full)}
	args = append(args, flags...)
	command := exec.CommandContext(l.Context(), "nice", args...)
	var output strings.Builder
	command.Stdout, command.Stderr = &output, &output
	input, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		l.Fatal(err)
	}
	return func() {
		_ = input.Close()
		if err := command.Wait(); err != nil {
			l.Errorf("the attack: %v", err)
		}
		l.note("%s", strings.TrimSuffix(strings.TrimSpace(output.String()), "PASS"))
	}
}
