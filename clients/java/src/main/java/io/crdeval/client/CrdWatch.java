package io.crdeval.client;

import io.crdeval.v1.WatchEventType;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;

/**
 * The events of the CRDs of a catalog. The watch never ends by itself. If the connection or the server is lost, it
 * resumes, and SYNCED comes again after it has caught up. If the server no longer keeps the state of the token, a watch
 * that began with every CRD reads all CRDs again and returns the difference. A watch that began from a token cannot
 * detect deleted CRDs then. It throws the error, as for every permanent error.
 *
 * <p>One thread at a time may read it. Another thread may close it.
 */
public final class CrdWatch implements Iterator<CrdEvent>, AutoCloseable {
    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
    private static final Duration MAX_PAUSE = Duration.ofSeconds(10);

    private final Function<String, ResultStream<CrdEvent>> open;
    private final Connection.Timer timer;
    private final Deque<CrdEvent> ready = new ArrayDeque<>();
    private final TreeMap<String, Crd> known; // null if the watch began from a token
    private String token;
    private Duration pause = FIRST_PAUSE;
    private Set<String> listed; // the CRDs that were seen while all are read again; otherwise null
    private volatile ResultStream<CrdEvent> stream;
    private volatile CountDownLatch pauseEnd = new CountDownLatch(0);
    private volatile boolean closed;

    CrdWatch(String token, Function<String, ResultStream<CrdEvent>> open, Connection.Timer timer) {
        this.token = token;
        this.open = open;
        this.timer = timer;
        this.known = token.isEmpty() ? new TreeMap<>() : null;
    }

    /** Returns true: the watch never ends by itself. */
    @Override
    public boolean hasNext() {
        return true;
    }

    /**
     * Waits for the next event.
     *
     * @throws CrdevalException for a permanent error, and if the watch was closed or the thread was interrupted
     */
    @Override
    public CrdEvent next() {
        while (ready.isEmpty()) {
            if (closed) {
                throw CrdevalException.of(
                        Status.CANCELLED.withDescription("the watch was closed").asRuntimeException());
            }
            try {
                if (stream == null) {
                    begin();
                }
                if (!stream.hasNext()) {
                    throw CrdevalException.of(Status.UNAVAILABLE
                            .withDescription("the server ended the watch")
                            .asRuntimeException());
                }
                take(stream.next());
            } catch (CrdevalException e) {
                stream = null;
                resume(e);
            }
        }
        return ready.remove();
    }

    private void begin() {
        listed = known != null && token.isEmpty() ? new TreeSet<>() : null;
        stream = open.apply(token);
        if (closed) {
            stream.close();
        }
    }

    /** Waits before the next call. Throws a permanent error, unless the watch was closed. */
    private void resume(CrdevalException error) {
        if (closed) {
            return; // next throws
        }
        boolean expired = error.reason().equals("WATCH_EXPIRED") || error.reason().equals("TOKEN_INVALID");
        if (error.code() != Status.Code.UNAVAILABLE && (known == null || !expired)) {
            throw error;
        }
        if (expired) {
            token = "";
        }
        double random = ThreadLocalRandom.current().nextDouble();
        Duration wait = new RetryPolicy(1, pause, pause).pause(1, error, random);
        pause = pause.multipliedBy(2).compareTo(MAX_PAUSE) < 0 ? pause.multipliedBy(2) : MAX_PAUSE;
        try {
            CountDownLatch end = new CountDownLatch(1);
            pauseEnd = end;
            if (!closed) {
                timer.after(wait, end::countDown);
                end.await();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw error;
        }
    }

    /** Adds the events that the caller does not know yet. */
    private void take(CrdEvent event) {
        pause = FIRST_PAUSE;
        if (known == null) {
            add(event);
            return;
        }
        switch (event.type()) {
            case WATCH_EVENT_TYPE_ADDED, WATCH_EVENT_TYPE_MODIFIED -> {
                Crd crd = event.crd().orElseThrow();
                Crd before = known.put(crd.name(), crd);
                if (listed != null) {
                    listed.add(crd.name());
                }
                if (before == null) {
                    add(event);
                } else if (!before.etag().equals(crd.etag())) {
                    add(new CrdEvent(WatchEventType.WATCH_EVENT_TYPE_MODIFIED, event.crd(), event.token()));
                }
            }
            case WATCH_EVENT_TYPE_DELETED -> {
                if (known.remove(event.crd().orElseThrow().name()) != null) {
                    add(event);
                }
            }
            case WATCH_EVENT_TYPE_SYNCED -> {
                if (listed != null) {
                    known.keySet().stream().filter(name -> !listed.contains(name)).toList().forEach(name -> add(
                            new CrdEvent(
                                    WatchEventType.WATCH_EVENT_TYPE_DELETED, Optional.of(known.remove(name)), "")));
                    listed = null;
                }
                add(event);
            }
            default -> add(event);
        }
        keep(event.token());
    }

    private void add(CrdEvent event) {
        ready.add(event);
        keep(event.token());
    }

    private void keep(String next) {
        if (!next.isEmpty()) {
            token = next;
        }
    }

    /** Ends the watch. A thread that waits for an event gets a CrdevalException. */
    @Override
    public void close() {
        closed = true;
        pauseEnd.countDown();
        ResultStream<CrdEvent> open = stream;
        if (open != null) {
            open.close();
        }
    }
}
