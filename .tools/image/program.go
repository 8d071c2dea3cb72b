package main

import (
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// program describes the image of a program. The name of the program is that of the image for docker load, where the
// first image has the tag devel.
type program struct {
	name, description string
	environment       []string
	ports             map[string]struct{}
	health            *v1.HealthConfig
}

var programs = map[string]program{
	"crdeval": {
		name:        "crdeval",
		description: "Evaluates custom resources as a Kubernetes API server does",
		environment: []string{
			"CRDEVAL_GRPC_ADDRESS=:9090", "CRDEVAL_HTTP_ADDRESS=:8080", "CRDEVAL_DATA_DIR=/data", "CRDEVAL_LOG_FORMAT=json",
		},
		ports: map[string]struct{}{"9090/tcp": {}, "8080/tcp": {}},
		// The command connects to CRDEVAL_GRPC_ADDRESS. With TLS, probe --metrics-address instead.
		health: &v1.HealthConfig{
			Test: []string{"CMD", "/crdeval", "healthcheck"}, Interval: 10 * time.Second, Timeout: 5 * time.Second,
			StartPeriod: 5 * time.Second,
		},
	},
	"crdeval-apiserver": {
		name:        "crdeval-apiserver",
		description: "Serves custom resources as a Kubernetes API server does, without a cluster",
		environment: []string{"CRDEVAL_APISERVER_ADDRESS=:6443", "CRDEVAL_APISERVER_DATA_DIR=/data/apiserver"},
		ports:       map[string]struct{}{"6443/tcp": {}},
	},
}
