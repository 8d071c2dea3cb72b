package main

import (
	"fmt"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/suites/promises"
)

// promiseSuite is the name of the suite that checks what authors of real CRDs promise. Its length is that of the
// corpus, whatever N is.
const promiseSuite = "promises"

func promised(f flags, c *corpus.Corpus) (ran, failed bool) {
	if f.Suite != "" && f.Suite != promiseSuite || f.Generator != "" {
		return false, false
	}
	r := promises.Run(c, f.Ours)
	r.Print(f.Log)
	fmt.Println(r)
	return true, r.Failed()
}
