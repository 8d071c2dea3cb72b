package io.crdeval.client;

import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;

/**
 * The results of a stream, in order. The next message is requested when the caller has read all results of the last
 * one.
 *
 * <p>An error that ends the stream is thrown by {@link #hasNext} and {@link #next} after the earlier results, as a
 * {@link CrdevalException}. Close the stream if you do not read it to its end. One thread at a time may read it.
 *
 * @param <R> the type of a result
 */
public sealed class ResultStream<R> implements Iterator<R>, AutoCloseable permits BidiStream {
    /** A message of the server, or the end of the stream: then message is null. */
    private record Event<R>(List<R> results, RuntimeException error) {}

    private final ClientCall<?, ?> call;
    private final BlockingQueue<Event<R>> events = new LinkedBlockingQueue<>(); // at most one message and the end
    private Iterator<R> results = Collections.emptyIterator();
    private Event<R> end;

    ResultStream(ClientCall<?, ?> call) {
        this.call = call;
    }

    /** Opens a stream with one request. */
    static <Q, P, R> ResultStream<R> open(ClientCall<Q, P> call, Q request, Function<P, List<R>> results) {
        ResultStream<R> stream = new ResultStream<>(call);
        call.start(stream.listener(results), new Metadata());
        call.sendMessage(request);
        call.halfClose();
        return stream;
    }

    /** Returns the listener of the call. */
    final <P> ClientCall.Listener<P> listener(Function<P, List<R>> convert) {
        return new ClientCall.Listener<>() {
            @Override
            public void onMessage(P message) {
                List<R> all = convert.apply(message);
                received(all.size());
                events.add(new Event<>(all, null));
            }

            @Override
            public void onReady() {
                ready();
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
                RuntimeException error =
                        status.isOk() ? null : CrdevalException.of(new StatusRuntimeException(status, trailers));
                finish(error);
            }
        };
    }

    /** Ends the stream after the results that were received. */
    void finish(RuntimeException error) {
        events.add(new Event<>(null, error));
    }

    /** Is called when results were received. */
    void received(int count) {}

    /** Is called when the call can take another message. */
    void ready() {}

    @Override
    public final boolean hasNext() {
        while (!results.hasNext()) {
            if (end == null) {
                call.request(1);
                Event<R> event = take();
                if (event.results() != null) {
                    results = event.results().iterator();
                    continue;
                }
                end = event;
            }
            if (end.error() != null) {
                throw end.error();
            }
            return false;
        }
        return true;
    }

    private Event<R> take() {
        try {
            return events.take();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            close();
            return new Event<>(null, CrdevalException.of(Status.CANCELLED
                    .withDescription("the thread was interrupted while it waited for a result")
                    .withCause(e)
                    .asRuntimeException()));
        }
    }

    @Override
    public final R next() {
        if (!hasNext()) {
            throw new NoSuchElementException("the stream has ended");
        }
        return results.next();
    }

    /** Cancels the stream if it has not ended. */
    @Override
    public void close() {
        call.cancel("the caller closed the stream", null);
    }
}
