package io.crdeval.client;

import com.google.protobuf.MessageLite;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;

/**
 * A stream that also sends items. A thread reads them from an iterator. Each message has the items that are ready, so a
 * single item is answered at once. At most two messages are unanswered: the server evaluates one, and the other is on
 * its way.
 */
final class BidiStream<I extends MessageLite, Q, R> extends ResultStream<R> {
    private static final int ITEMS_AT_ONCE = 100; // the limit of the server
    private static final int BYTES_AT_ONCE = 1 << 20; // a single item can have more
    private static final int MESSAGES_AT_ONCE = 2;

    private final ClientCall<Q, ?> call;
    private final Function<List<I>, Q> message;
    private final BlockingQueue<I> items = new LinkedBlockingQueue<>(ITEMS_AT_ONCE);
    private final Deque<Long> unanswered = new ArrayDeque<>(); // the number of the last item of each message
    private long sent;
    private long received;
    private boolean exhausted; // all items are in the queue or sent
    private boolean closed; // nothing more may be sent
    private Thread reader;

    private BidiStream(ClientCall<Q, ?> call, Function<List<I>, Q> message) {
        super(call);
        this.call = call;
        this.message = message;
    }

    /** Opens a stream with its first message, and sends items. */
    static <I extends MessageLite, Q, P, A, R> ResultStream<R> open(
            ClientCall<Q, P> call,
            Q first,
            Iterator<I> from,
            Function<List<I>, Q> message,
            Function<P, List<A>> results,
            Function<A, R> convert) {
        BidiStream<I, Q, R> stream = new BidiStream<>(call, message);
        stream.reader = new Thread(() -> stream.read(from), "crdeval-stream");
        stream.reader.setDaemon(true);
        call.start(stream.listener(p -> Protos.list(results.apply(p), convert)), new Metadata());
        synchronized (stream) {
            call.sendMessage(first);
        }
        stream.reader.start();
        synchronized (stream) {
            if (stream.closed) { // before the thread could be interrupted
                stream.reader.interrupt();
            }
        }
        return stream;
    }

    private void read(Iterator<I> from) {
        try {
            while (from.hasNext()) {
                items.put(from.next());
                ready();
            }
            synchronized (this) {
                exhausted = true;
            }
            ready();
        } catch (InterruptedException e) {
            // The stream has ended: its end has the reason.
        } catch (RuntimeException e) {
            super.finish(e);
            close();
        } catch (Error e) { // else the caller would wait forever
            super.finish(new IllegalStateException("the iterator of the items failed", e));
            close();
            throw e;
        }
    }

    @Override
    synchronized void received(int count) {
        received += count;
        while (!unanswered.isEmpty() && received >= unanswered.peek()) {
            unanswered.remove();
        }
        ready();
    }

    @Override
    synchronized void ready() {
        while (!closed && call.isReady() && unanswered.size() < MESSAGES_AT_ONCE) {
            List<I> batch = new ArrayList<>();
            long bytes = 0;
            while (batch.size() < ITEMS_AT_ONCE && bytes < BYTES_AT_ONCE && !items.isEmpty()) {
                I item = items.remove();
                batch.add(item);
                bytes += item.getSerializedSize();
            }
            if (batch.isEmpty()) {
                if (exhausted) {
                    closed = true;
                    call.halfClose();
                }
                return;
            }
            sent += batch.size();
            unanswered.add(sent);
            call.sendMessage(message.apply(batch));
        }
    }

    @Override
    void finish(RuntimeException error) {
        stop();
        super.finish(error);
    }

    private synchronized void stop() {
        closed = true;
        reader.interrupt();
    }

    @Override
    public void close() {
        stop();
        super.close();
    }
}
