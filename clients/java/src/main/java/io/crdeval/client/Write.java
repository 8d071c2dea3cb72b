package io.crdeval.client;

import io.crdeval.v1.EvaluationItem;
import io.crdeval.v1.ObjectPatch;
import io.crdeval.v1.PatchType;
import java.util.Objects;

/**
 * One write of an object, as a client sends it to an API server.
 *
 * @param item the message that is sent. Build it yourself to set fields for which this class has no method.
 */
public record Write(EvaluationItem item) {
    /** Checks that there is an item. */
    public Write {
        Objects.requireNonNull(item, "item");
    }

    /** Returns the creation of an object. */
    public static Write create(Document object) {
        return new Write(EvaluationItem.newBuilder().setObject(object.toProto()).build());
    }

    /** Returns an update of the stored object {@code old}. */
    public static Write update(Document old, Document object) {
        return new Write(
                EvaluationItem.newBuilder().setOldObject(old.toProto()).setObject(object.toProto()).build());
    }

    /** Returns a JSON merge patch (RFC 7386) of the stored object {@code old}. */
    public static Write mergePatch(Document old, Document patch) {
        return patch(old, PatchType.PATCH_TYPE_MERGE, patch);
    }

    /** Returns a JSON patch (RFC 6902) of the stored object {@code old}. */
    public static Write jsonPatch(Document old, Document patch) {
        return patch(old, PatchType.PATCH_TYPE_JSON, patch);
    }

    private static Write patch(Document old, PatchType type, Document patch) {
        ObjectPatch.Builder change = ObjectPatch.newBuilder().setType(type).setPatch(patch.toProto());
        return new Write(
                EvaluationItem.newBuilder().setOldObject(old.toProto()).setPatch(change).build());
    }

    /** Returns this write to a subresource: {@code status} or {@code scale}. The object of a scale is a Scale. */
    public Write subresource(String name) {
        return new Write(item.toBuilder().setSubresource(name).build());
    }

    /** Returns this write with the CRD of the request, for example {@code crontabs.stable.example.com}. */
    public Write crd(String name) {
        return new Write(item.toBuilder().setCrd(name).build());
    }

    /** Returns this write with the version of the endpoint. */
    public Write version(String version) {
        return new Write(item.toBuilder().setVersion(version).build());
    }

    /** Returns this write with the namespace of the request. */
    public Write namespace(String namespace) {
        return new Write(item.toBuilder().setNamespace(namespace).build());
    }

    /** Returns this write with the name in the URL of the request. */
    public Write name(String name) {
        return new Write(item.toBuilder().setName(name).build());
    }
}
