// Package controllers tests API servers of this module with a project that uses controller-runtime: Cluster API. Its
// source is downloaded and compiled when the tests run.
//
// manager_test.go runs its manager as users do, and suites_test.go its own tests, which use envtest.
package controllers
