package handwritten

import (
	"fmt"
	"strings"
)

// CronTab converts the CronTabs of Kubernetes' documentation: hostPort at example.com/v1beta1, host and port at
// example.com/v1. Server-side apply sends objects that lack fields. A field of the result is set if all fields
// that it consists of are present.
func CronTab(object map[string]any, to string) error {
	if to == "example.com/v1beta1" {
		host, hasHost := object["host"].(string)
		port, hasPort := object["port"].(string)
		delete(object, "host")
		delete(object, "port")
		if hasHost && hasPort {
			object["hostPort"] = host + ":" + port
		}
		return nil
	}
	hostPort, ok := object["hostPort"].(string)
	delete(object, "hostPort")
	if !ok {
		return nil
	}
	colon := strings.LastIndexByte(hostPort, ':')
	if colon < 0 {
		return fmt.Errorf("hostPort %q has no port", hostPort)
	}
	object["host"], object["port"] = hostPort[:colon], hostPort[colon+1:]
	return nil
}
