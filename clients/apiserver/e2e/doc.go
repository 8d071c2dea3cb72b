// Package e2e runs kubectl against servers of package apiserver. The scripts are in testdata, with the expected output of
// each command. It is a module of its own, because only these tests need kubectl.
package e2e
