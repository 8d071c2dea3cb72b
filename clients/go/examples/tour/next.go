package main

import "fmt"

// printNext prints commands to paste into another terminal, at the root of the repository.
func printNext(srv *server, samples string) {
	fmt.Printf(`Next, in another terminal:

  # What is registered
  curl -sS %[1]s/v1/catalogs/default/crds

  # Judge an object of your own
  curl -sS -X POST %[1]s/v1/catalogs/default:validate -d '{"items": [{"object": {
    "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "mine", "namespace": "default"},
    "spec": {"cronSpec": "* * * *", "image": "busybox", "replicas": 0}}}]}'

  # Would this update be refused? What it leaves as it was may stay wrong; rules about oldSelf run
  curl -sS -X POST %[1]s/v1/catalogs/default:validate -d '{"items": [{"subresource": "status",
    "oldObject": {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "mine", "namespace": "default", "resourceVersion": "1"},
      "spec": {"image": "busybox"}, "status": {"runs": 12}},
    "object": {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "mine", "namespace": "default", "resourceVersion": "1"},
      "status": {"runs": 11}}}]}'

  # What would a patch store, and how would it be shown?
  curl -sS -X POST %[1]s/v1/catalogs/default:admit -d '{"include": {"tableRow": true}, "items": [{
    "oldObject": {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "mine", "namespace": "default", "resourceVersion": "1"},
      "spec": {"image": "busybox", "replicas": 1}},
    "patch": {"type": "PATCH_TYPE_MERGE", "patch": {"spec": {"replicas": 3, "replica": 4}}}}]}'

  # What kubectl would say of it
  curl -sS -H 'Accept: text/plain' %[1]s/v1/catalogs/default/explain/crontabs.spec
  kubectl --server %[1]s/v1/catalogs/default api-resources

  # See what would be pruned and defaulted
  curl -sS -X POST %[1]s/v1/catalogs/default:read -d '{"items": [{"object": {
    "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "mine", "namespace": "default"},
    "spec": {"image": "busybox", "typo": 9007199254740993}}}]}'

  # Would an API server take this CRD? What may its rules cost, and which Kubernetes do they need?
  curl -sS -X POST %[1]s/v1/catalogs/default/crds:check -H 'Content-Type: application/yaml' --data-binary @%[3]s/crds/databases.yaml

  # The same service over gRPC (https://github.com/fullstorydev/grpcurl)
  grpcurl -plaintext %[2]s list
  grpcurl -plaintext %[2]s crdeval.v1.ServerService/GetServerInfo

`, srv.restURL, srv.grpcAddress, samples)
}
