package io.crdeval.client;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.crdeval.v1.GetServerInfoRequest;
import io.crdeval.v1.ServerLimits;
import io.crdeval.v1.ServerServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Deadline;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The state that the views of a client share: the channel, the token of the latest write, and the limits of the
 * server.
 */
final class Connection {
    /** Waits between attempts. Tests replace it. */
    interface Sleeper {
        void sleep(Duration pause) throws InterruptedException;
    }

    final Channel channel;
    final String catalog;
    final AtomicReference<String> token = new AtomicReference<>("");
    private final RetryPolicy retries;
    final Sleeper sleeper;
    private final AtomicReference<ServerLimits> limits = new AtomicReference<>();

    Connection(Channel channel, String catalog, RetryPolicy retries, Sleeper sleeper) {
        this.channel = channel;
        this.catalog = catalog;
        this.retries = retries;
        this.sleeper = sleeper;
    }

    /** Returns the limits of the server. Requests them once. */
    ServerLimits limits(Deadline deadline) {
        ServerLimits known = limits.get();
        if (known == null) {
            known = call(
                            ServerServiceGrpc.getGetServerInfoMethod(),
                            GetServerInfoRequest.getDefaultInstance(),
                            deadline)
                    .getLimits();
            limits.set(known);
        }
        return known;
    }

    /** Makes a unary call, repeats it while the server is overloaded, and keeps the token of a write. */
    <Q extends Message, P extends Message> P call(MethodDescriptor<Q, P> method, Q request, Deadline deadline) {
        CallOptions options = CallOptions.DEFAULT.withDeadline(deadline);
        for (int attempt = 1; ; attempt++) {
            try {
                P response = ClientCalls.blockingUnaryCall(channel, method, options, request);
                keepToken(response);
                return response;
            } catch (StatusRuntimeException e) {
                CrdevalException error = CrdevalException.of(e);
                if (!error.overloaded() || attempt >= retries.maxAttempts()) {
                    throw error;
                }
                pause(attempt, error, deadline);
            }
        }
    }

    private void pause(int attempt, CrdevalException error, Deadline deadline) {
        Duration pause = retries.pause(attempt, error, ThreadLocalRandom.current().nextDouble());
        if (deadline.timeRemaining(TimeUnit.NANOSECONDS) <= pause.toNanos()) {
            throw error;
        }
        try {
            sleeper.sleep(pause);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CrdevalException.of(Status.CANCELLED
                    .withDescription("the thread was interrupted before a retry")
                    .withCause(e)
                    .asRuntimeException());
        }
    }

    private void keepToken(Message response) {
        FieldDescriptor field = response.getDescriptorForType().findFieldByName("token");
        if (field != null && !response.getField(field).equals("")) {
            token.set((String) response.getField(field));
        }
    }
}
