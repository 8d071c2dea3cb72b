package io.crdeval.client;

import io.crdeval.v1.WatchEventType;
import java.util.Optional;

/**
 * One event of a watch.
 *
 * @param type whether a CRD was added, modified or deleted, or all CRDs were sent (SYNCED)
 * @param crd the CRD. Empty for SYNCED.
 * @param token the token to resume from. Empty before SYNCED in a watch without a token.
 */
public record CrdEvent(WatchEventType type, Optional<Crd> crd, String token) {
    static CrdEvent fromProto(io.crdeval.v1.WatchCrdsResponse e) {
        return new CrdEvent(
                e.getType(), Protos.optional(e.hasCrd(), e::getCrd, Crd::fromProto), e.getToken());
    }
}
