package io.crdeval.client;

import static io.crdeval.client.Operation.await;

import io.crdeval.v1.AdmitStreamRequest;
import io.crdeval.v1.AdmitStreamResponse;
import io.crdeval.v1.CrdView;
import io.crdeval.v1.EvaluationOptions;
import io.crdeval.v1.EvaluationServiceGrpc;
import io.crdeval.v1.ReadStreamRequest;
import io.crdeval.v1.ReadStreamResponse;
import io.crdeval.v1.RegistryServiceGrpc;
import io.crdeval.v1.ServerLimits;
import io.crdeval.v1.WatchCrdsRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Calls a crdeval service for one catalog. It is safe for concurrent use. Its methods block. {@link
 * #async} makes the same calls without blocking.
 *
 * <pre>{@code
 * try (CrdevalClient client = CrdevalClient.builder("localhost:9090").build()) {
 *     client.register(Document.of(crd));
 *     for (Result<Verdict> result : client.validate(Document.of(object))) {
 *         System.out.println(result.get().allowed());
 *     }
 * }
 * }</pre>
 *
 * <p>Calls with many objects are sent in as many requests as the limits of the server need. Result i belongs to object
 * i. If a request fails, the method throws a {@link CrdevalException} with the results of the earlier requests.
 *
 * <p>The {@code with…} methods return a view with another setting. Views share the connection: close only the first
 * client.
 */
public final class CrdevalClient implements AutoCloseable {
    private static final Duration LONGEST = Duration.ofDays(36_500);

    private final AsyncCrdevalClient calls;
    private final ManagedChannel owned;
    private final Duration streamTimeout;

    CrdevalClient(Connection connection, ManagedChannel owned, Duration timeout) {
        this(
                new AsyncCrdevalClient(connection, timeout, EvaluationOptions.getDefaultInstance(), List.of()),
                owned,
                null);
    }

    private CrdevalClient(AsyncCrdevalClient calls, ManagedChannel owned, Duration streamTimeout) {
        this.calls = calls;
        this.owned = owned;
        this.streamTimeout = streamTimeout;
    }

    /**
     * Returns a builder.
     *
     * @param target the address of the service: {@code localhost:9090}, or {@code unix:///run/crdeval/grpc.sock} on
     * Linux
     */
    public static CrdevalClientBuilder builder(String target) {
        return new CrdevalClientBuilder(target);
    }

    /**
     * Returns a view whose methods must end within a time, including all requests and retries. It also applies to
     * streams and watches, which otherwise have no limit.
     */
    public CrdevalClient withTimeout(Duration timeout) {
        Duration limit = positive(timeout);
        return new CrdevalClient(calls.withTimeout(limit), owned, limit);
    }

    /** Returns a positive timeout of at most a hundred years: gRPC counts nanoseconds. */
    static Duration positive(Duration timeout) {
        if (timeout.isNegative() || timeout.isZero()) {
            throw new IllegalArgumentException("the timeout is " + timeout + ": it must be positive");
        }
        return timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout;
    }

    /** Returns a view that evaluates with these options, for example with strict field validation. */
    public CrdevalClient withOptions(EvaluationOptions options) {
        return new CrdevalClient(calls.withOptions(Objects.requireNonNull(options)), owned, streamTimeout);
    }

    /**
     * Returns a view that sends inline CRDs with each evaluation, in addition to the CRDs of the catalog. They are
     * never registered. At most 16. The inline CRDs of this client come first.
     */
    public CrdevalClient withCrds(Document... manifests) {
        return new CrdevalClient(calls.withCrds(manifests), owned, streamTimeout);
    }

    /** Returns the asynchronous calls, with the settings of this client. Close this client, not the calls. */
    public AsyncCrdevalClient async() {
        return calls;
    }

    /** Makes later calls see at least the state of a token, for example the token of another client's write. */
    public void atLeast(String token) {
        calls.connection.token.set(token);
    }

    /** Returns the token of the latest write of this client, or that of atLeast. It is empty before both. */
    public String token() {
        return calls.connection.token.get();
    }

    /** Returns the channel, for the generated stubs in io.crdeval.v1. Calls of stubs are not repeated. */
    public Channel channel() {
        return calls.connection.channel;
    }

    /** Returns the limits of the server. The client requests them once. */
    public ServerLimits limits() {
        return await(calls.limits());
    }

    /** Returns for each object whether an API server would accept its creation. */
    public List<Result<Verdict>> validate(Document... objects) {
        return await(calls.validate(objects));
    }

    /** Returns for each write whether an API server would accept it. */
    public List<Result<Verdict>> validate(List<Write> writes) {
        return await(calls.validate(writes));
    }

    /** Runs the creation of each object through the whole write path of an API server. Nothing is stored. */
    public List<Result<Verdict>> admit(Document... objects) {
        return await(calls.admit(objects));
    }

    /** Runs each write through the whole write path of an API server. Nothing is stored. */
    public List<Result<Verdict>> admit(List<Write> writes) {
        return await(calls.admit(writes));
    }

    /**
     * Runs any number of writes through the whole write path, in bounded memory. A thread reads the writes, and stops
     * reading while the caller does not read results. Results come in the order of the writes.
     */
    public ResultStream<Result<Verdict>> admitStream(Iterator<Write> writes) {
        return BidiStream.open(
                call(EvaluationServiceGrpc.getAdmitStreamMethod()),
                calls.complete(AdmitStreamRequest.getDefaultInstance()),
                mapped(writes, Write::item),
                items -> AdmitStreamRequest.newBuilder().addAllItems(items).build(),
                AdmitStreamResponse::getResultsList,
                Verdict::result);
    }

    /** Removes the unknown fields of each object, and does nothing else. */
    public List<Result<Transformed>> prune(Document... objects) {
        return await(calls.prune(objects));
    }

    /** Adds the defaults to each object, and does nothing else. */
    public List<Result<Transformed>> defaults(Document... objects) {
        return await(calls.defaults(objects));
    }

    /** Returns each stored object as an API server reads it from storage, at its own version. */
    public List<Result<Transformed>> read(Document... objects) {
        return await(calls.read(objects));
    }

    /** Returns each stored object as an API server reads it from storage, at this version of its CRD. */
    public List<Result<Transformed>> readAt(String version, Document... objects) {
        return await(calls.readAt(version, objects));
    }

    /**
     * Reads any number of stored objects, as {@link #admitStream} admits writes.
     *
     * @param version the version to read at. "" reads each object at its own version.
     */
    public ResultStream<Result<Transformed>> readStream(String version, Iterator<Document> objects) {
        return BidiStream.open(
                call(EvaluationServiceGrpc.getReadStreamMethod()),
                calls.complete(ReadStreamRequest.newBuilder().setTargetVersion(version).build()),
                mapped(objects, AsyncCrdevalClient::item),
                items -> ReadStreamRequest.newBuilder().addAllItems(items).build(),
                ReadStreamResponse::getResultsList,
                Transformed::result);
    }

    private static <A, B> Iterator<B> mapped(Iterator<A> from, Function<A, B> convert) {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return from.hasNext();
            }

            @Override
            public B next() {
                return convert.apply(from.next());
            }
        };
    }

    /** Converts each object to this version of its CRD. */
    public List<Result<Transformed>> convert(String version, Document... objects) {
        return await(calls.convert(version, objects));
    }

    /**
     * Registers a CustomResourceDefinition. Later calls of this client see it, at any replica.
     *
     * @throws CrdRejectedException if an API server would reject the CRD
     */
    public Registration register(Document manifest) {
        return await(calls.register(manifest));
    }

    /**
     * Registers CRDs one after the other. A CRD that is rejected or fails does not affect the others. Check
     * {@link Registered#accepted} of each result. If a request fails, the CRDs of earlier requests stay registered.
     */
    public List<Registered> registerAll(List<Document> manifests) {
        return await(calls.registerAll(manifests));
    }

    /** Returns the result that a registration would have, and registers nothing. */
    public Registration check(Document manifest) {
        return await(calls.check(manifest));
    }

    /** Returns a registered CRD with its manifest. */
    public Crd get(String crd) {
        return await(calls.get(crd));
    }

    /** Returns the CRDs of the catalog without manifests, sorted by name, from one snapshot. */
    public List<Crd> list() {
        return await(calls.list());
    }

    /** Deletes a CRD by its name: {@code crontabs.stable.example.com}. */
    public void delete(String crd) {
        await(calls.delete(crd));
    }

    /**
     * Watches the CRDs of the catalog: first each CRD as ADDED, then SYNCED, then each change. With a token, only the
     * changes since that token. Close the watch to end it.
     *
     * @param fromToken the token of an event or a write. "" begins with every CRD.
     */
    public CrdWatch watch(String fromToken) {
        CallOptions options = streamOptions();
        Connection.Timer timer = (pause, task) -> calls.connection.timer.after(within(options, pause), task);
        return new CrdWatch(fromToken, token -> watchOnce(token, options), timer);
    }

    /** Returns a pause that does not exceed the deadline of a call. */
    private static Duration within(CallOptions options, Duration pause) {
        if (options.getDeadline() == null) {
            return pause;
        }
        long left = Math.max(options.getDeadline().timeRemaining(TimeUnit.NANOSECONDS), 0);
        return pause.toNanos() > left ? Duration.ofNanos(left) : pause;
    }

    private ResultStream<CrdEvent> watchOnce(String fromToken, CallOptions options) {
        if (owned != null && owned.isShutdown()) {
            throw CrdevalException.of(
                    Status.CANCELLED.withDescription("the client is closed").asRuntimeException());
        }
        WatchCrdsRequest request = WatchCrdsRequest.newBuilder()
                .setFromToken(fromToken)
                .setView(CrdView.CRD_VIEW_BASIC)
                .build();
        return ResultStream.open(
                calls.connection.channel.newCall(RegistryServiceGrpc.getWatchCrdsMethod(), options),
                calls.complete(request),
                event -> List.of(CrdEvent.fromProto(event)));
    }

    /** Closes the connection. Calls in progress fail. */
    @Override
    public void close() {
        if (owned != null) {
            owned.shutdownNow();
        }
    }

    private <Q, P> io.grpc.ClientCall<Q, P> call(MethodDescriptor<Q, P> method) {
        return calls.connection.channel.newCall(method, streamOptions());
    }

    /** Returns the options of a stream or a watch that begins now. */
    private CallOptions streamOptions() {
        return streamTimeout == null
                ? CallOptions.DEFAULT
                : CallOptions.DEFAULT.withDeadlineAfter(streamTimeout.toNanos(), TimeUnit.NANOSECONDS);
    }
}
