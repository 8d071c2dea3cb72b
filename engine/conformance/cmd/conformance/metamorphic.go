package main

import (
	"errors"
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/suites/metamorphic"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
)

// metamorphicSuite is the name of the suite that compares configurations of the service with each other.
const metamorphicSuite = "metamorphic"

// etcdShare is the percentage of the histories that also run on etcd, which is slow.
const etcdShare = 1

// metamorphicCounts are the results of the two parts of the suite.
type metamorphicCounts struct {
	all, etcd metamorphic.Counts
	err       error
}

func histories(f flags, o runner.Options) *metamorphicCounts {
	options := metamorphic.Options{Options: o, Store: f.store, Out: f.Out, Quick: f.Quick, Only: f.history}
	if f.history >= 0 {
		options.N = 1
	}
	all, err := metamorphic.Run(options)
	c := &metamorphicCounts{all: all, err: err}
	if n := o.N * etcdShare / 100; err == nil && f.store == "" && f.history < 0 && n > 0 {
		options.N, options.Store = n, "etcd"
		c.etcd, c.err = metamorphic.Run(options)
	}
	return c
}

// String implements counts.
func (c *metamorphicCounts) String() string {
	text := fmt.Sprintf("%v; etcd: %d histories, %d disagreements", &c.all, c.etcd.Histories, c.etcd.Disagreements)
	if first := c.all.First; first > 0 {
		text += fmt.Sprintf("; history %d was the first to disagree", first)
	}
	if c.err != nil {
		text += "; " + c.err.Error()
	}
	return text
}

// Detail implements counts.
func (c *metamorphicCounts) Detail() string { return c.all.Detail() }

// Failed implements counts.
func (c *metamorphicCounts) Failed() bool { return c.err != nil || c.all.Failed() || c.etcd.Failed() }

// replay runs a history that a failure has written.
func replay(file string) error {
	difference, err := metamorphic.Replay(file)
	switch {
	case err != nil:
		return err
	case difference != "":
		fmt.Println(difference)
		return errors.New("the configuration and the reference differ")
	}
	fmt.Println("the configuration and the reference are equal")
	return nil
}
