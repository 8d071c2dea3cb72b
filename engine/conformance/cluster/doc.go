// Package cluster tests conversion webhooks with a genuine API server for CRDs and etcd, in the process of the test.
// Its tests have the build tag cluster, because their binary takes long to link: make cluster runs them.
package cluster
