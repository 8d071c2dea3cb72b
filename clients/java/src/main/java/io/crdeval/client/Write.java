package io.crdeval.client;

import io.crdeval.v1.Create;
import io.crdeval.v1.Patch;
import io.crdeval.v1.PatchType;
import io.crdeval.v1.Update;
import io.crdeval.v1.WriteItem;
import java.util.Objects;

/**
 * One write of an object, as a client sends it to an API server.
 *
 * @param item the message that is sent. Build it yourself to set fields for which this class has no method.
 */
public record Write(WriteItem item) {
    /** Checks that there is an item. */
    public Write {
        Objects.requireNonNull(item, "item");
    }

    /** Returns the creation of an object. */
    public static Write create(Document object) {
        Create.Builder operation = Create.newBuilder().setObject(object.toProto());
        return new Write(WriteItem.newBuilder().setCreate(operation).build());
    }

    /** Returns an update of the stored object {@code old}. */
    public static Write update(Document old, Document object) {
        Update.Builder operation =
                Update.newBuilder().setObject(object.toProto()).setOldObject(old.toProto());
        return new Write(WriteItem.newBuilder().setUpdate(operation).build());
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
        Patch.Builder operation =
                Patch.newBuilder().setType(type).setPatch(patch.toProto()).setOldObject(old.toProto());
        return new Write(WriteItem.newBuilder().setPatch(operation).build());
    }

    /**
     * Returns this update or patch of a subresource: {@code status} or {@code scale}. The object of a scale is a Scale.
     *
     * @throws IllegalStateException if this write creates an object
     */
    public Write subresource(String name) {
        WriteItem.Builder builder = item.toBuilder();
        if (item.hasUpdate()) {
            builder.getUpdateBuilder().setSubresource(name);
        } else if (item.hasPatch()) {
            builder.getPatchBuilder().setSubresource(name);
        } else {
            throw new IllegalStateException("a creation has no subresource");
        }
        return new Write(builder.build());
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
