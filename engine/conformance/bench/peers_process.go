package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// peerProcess is a validator in a process of its own. .tools/peers/worker.go documents the protocol.
type peerProcess struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  bytes.Buffer
}

// startPeer starts a validator. It uses one core, like the cases in this process.
func startPeer(arguments []string) (*peerProcess, error) {
	p := &peerProcess{command: exec.Command(arguments[0], arguments[1:]...)} //nolint:noctx // close ends it
	p.command.Env = append(p.command.Environ(), "GOMAXPROCS=1", "RAYON_NUM_THREADS=1")
	p.command.Stderr = &p.stderr
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.command.Start()
}

func (p *peerProcess) close() error {
	return errors.Join(p.in.Close(), p.command.Wait())
}

// ask sends a command and returns its answer.
func (p *peerProcess) ask(format string, arguments ...any) (string, error) {
	_, err := fmt.Fprintf(p.in, format+"\n", arguments...)
	line := ""
	if err == nil {
		line, err = p.out.ReadString('\n')
	}
	if err != nil {
		_ = p.close() // the reason is in stderr
		return "", fmt.Errorf("%w: %s", err, p.stderr.String())
	}
	return strings.TrimSuffix(line, "\n"), nil
}

// judge validates the object in a file, and returns the reason if it is invalid.
func (p *peerProcess) judge(file string) (valid bool, reason string, err error) {
	answer, err := p.ask("object %s", file)
	verdict, reason, _ := strings.Cut(answer, " ")
	if err == nil && verdict != "valid" && verdict != "invalid" {
		err = fmt.Errorf("unexpected answer %q", answer)
	}
	return verdict == "valid", reason, err
}

// run returns the CPU time of n validations of the object that was judged last.
func (p *peerProcess) run(n int) (float64, error) {
	answer, err := p.ask("run %d", n)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(answer, 64)
}

// fitting returns the number of validations that fit into a turn. It also warms up the process.
func (p *peerProcess) fitting(turn time.Duration) (int, error) {
	for n := 1; ; n *= 2 {
		took, err := p.run(n)
		if err != nil {
			return 0, err
		}
		if took >= turn.Seconds()/2 {
			return max(1, int(float64(n)*turn.Seconds()/took)), nil
		}
	}
}
