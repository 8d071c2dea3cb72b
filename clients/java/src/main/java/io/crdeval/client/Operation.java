package io.crdeval.client;

import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The execution of one method of a client: its calls, one after the other, and its deadline. If the caller cancels the
 * future, the call in progress is cancelled.
 */
final class Operation<R> {
    final CompletableFuture<R> result = new CompletableFuture<>();
    private final Connection connection;
    private final Deadline deadline;
    private final Consumer<CrdevalException> onError;
    private final Context.CancellableContext context = Context.current().withCancellation();

    Operation(Connection connection, Duration timeout) {
        this(connection, timeout, error -> {});
    }

    /** Creates an operation that passes its error to a function before it fails. */
    Operation(Connection connection, Duration timeout, Consumer<CrdevalException> onError) {
        this.connection = connection;
        this.deadline = Deadline.after(timeout.toNanos(), TimeUnit.NANOSECONDS);
        this.onError = onError;
        result.whenComplete((value, error) -> context.cancel(null));
    }

    /** Makes a unary call, repeats it while the server is overloaded, and passes the response on. */
    <Q extends Message, P extends Message> void call(MethodDescriptor<Q, P> method, Q request, Consumer<P> then) {
        run(() -> attempt(method, request, then, 1));
    }

    private <Q extends Message, P extends Message> void attempt(
            MethodDescriptor<Q, P> method, Q request, Consumer<P> then, int number) {
        context.run(() -> {
            CallOptions options = CallOptions.DEFAULT.withDeadline(deadline);
            ListenableFuture<P> response =
                    ClientCalls.futureUnaryCall(connection.channel.newCall(method, options), request);
            response.addListener(() -> run(() -> end(response, method, request, then, number)), Runnable::run);
        });
    }

    private <Q extends Message, P extends Message> void end(
            ListenableFuture<P> done, MethodDescriptor<Q, P> method, Q request, Consumer<P> then, int number) {
        P response;
        try {
            response = Futures.getDone(done);
        } catch (ExecutionException e) {
            CrdevalException error = CrdevalException.of(e.getCause());
            RetryPolicy retries = connection.retries;
            Duration pause = retries.pause(number, error, ThreadLocalRandom.current().nextDouble());
            if (!error.overloaded()
                    || number >= retries.maxAttempts()
                    || deadline.timeRemaining(TimeUnit.NANOSECONDS) <= pause.toNanos()) {
                throw error;
            }
            connection.timer.after(pause, () -> run(() -> attempt(method, request, then, number + 1)));
            return;
        }
        connection.keepToken(response);
        then.accept(response);
    }

    /** Runs a step. If it throws, the operation fails. */
    private void run(Runnable step) {
        try {
            step.run();
        } catch (CrdevalException e) {
            onError.accept(e);
            result.completeExceptionally(e);
        } catch (RuntimeException | Error e) {
            result.completeExceptionally(e);
        }
    }

    /** Waits for the result of an operation, and throws its error with the stack of the caller. */
    static <R> R await(CompletableFuture<R> result) {
        try {
            return result.get();
        } catch (ExecutionException e) {
            Throwable error = e.getCause().fillInStackTrace();
            if (error instanceof RuntimeException exception) {
                throw exception;
            }
            throw (Error) error;
        } catch (InterruptedException e) {
            result.cancel(true);
            Thread.currentThread().interrupt();
            throw CrdevalException.of(Status.CANCELLED
                    .withDescription("the thread was interrupted")
                    .withCause(e)
                    .asRuntimeException());
        }
    }
}
