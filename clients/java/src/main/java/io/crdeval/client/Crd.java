package io.crdeval.client;

import java.util.List;
import java.util.Optional;

/**
 * A registered CustomResourceDefinition.
 *
 * @param name the name: {@code crontabs.stable.example.com}
 * @param group the API group
 * @param kind the kind of an object
 * @param scope {@code Namespaced} or {@code Cluster}
 * @param versions the names of the versions, in the order of priority of Kubernetes
 * @param storageVersion the version that objects are stored in
 * @param revision the digest of everything that affects the meaning of the CRD
 * @param etag changes with every write to the CRD
 * @param generation 1 for the first registration, incremented by each change of the spec
 * @param manifest the manifest as canonical JSON. Empty in lists and registrations.
 * @param message the message of the server, with the fields that this class lacks
 */
public record Crd(
        String name,
        String group,
        String kind,
        String scope,
        List<String> versions,
        String storageVersion,
        String revision,
        String etag,
        long generation,
        Optional<Document> manifest,
        io.crdeval.v1.Crd message) {
    static Crd fromProto(io.crdeval.v1.Crd c) {
        return new Crd(
                c.getName(),
                c.getGroup(),
                c.getNames().getKind(),
                c.getScope(),
                Protos.list(c.getVersionsList(), io.crdeval.v1.CrdVersion::getName),
                c.getStorageVersion(),
                c.getRevision(),
                c.getEtag(),
                c.getGeneration(),
                Protos.optional(c.hasManifest(), c::getManifest, Document::fromProto),
                c);
    }
}
