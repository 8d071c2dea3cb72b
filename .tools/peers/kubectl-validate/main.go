// Command kubectl-validate serves the protocol of package peers with the validator of kubectl-validate:
//
//	kubectl-validate FOLDER
//
// FOLDER contains CRDs. The validator reads neither a cluster nor built-in types.
package main

import (
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/kubectl-validate/pkg/openapiclient"
	"sigs.k8s.io/kubectl-validate/pkg/validator"

	"github.com/crdeval/crdeval/tools/peers"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kubectl-validate:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("usage: kubectl-validate FOLDER")
	}
	v, err := validator.New(openapiclient.NewLocalCRDFiles(os.DirFS(os.Args[1])))
	if err != nil {
		return err
	}
	return peers.Serve(os.Stdin, os.Stdout, func(object []byte) error {
		_, parsed, err := v.Parse(object)
		if err != nil {
			return err
		}
		return v.Validate(parsed)
	})
}
