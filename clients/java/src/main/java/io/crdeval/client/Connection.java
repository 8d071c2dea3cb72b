package io.crdeval.client;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.crdeval.v1.ServerLimits;
import io.grpc.Channel;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The state that the views of a client share: the channel, the token of the latest write, and the limits of the
 * server.
 */
final class Connection {
    /** Runs a task after a pause. Tests replace it. */
    interface Timer {
        void after(Duration pause, Runnable task);
    }

    final Channel channel;
    final String catalog;
    final AtomicReference<String> token = new AtomicReference<>("");
    final AtomicReference<ServerLimits> limits = new AtomicReference<>();
    final RetryPolicy retries;
    final Timer timer;

    Connection(Channel channel, String catalog, RetryPolicy retries, Timer timer) {
        this.channel = channel;
        this.catalog = catalog;
        this.retries = retries;
        this.timer = timer;
    }

    /** Keeps the token of a write. */
    void keepToken(Message response) {
        FieldDescriptor field = response.getDescriptorForType().findFieldByName("token");
        if (field != null && !response.getField(field).equals("")) {
            token.set((String) response.getField(field));
        }
    }
}
