package io.crdeval.client;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.crdeval.v1.AdmitRequest;
import io.crdeval.v1.AdmitResponse;
import io.crdeval.v1.AdmitStreamRequest;
import io.crdeval.v1.AdmitStreamResponse;
import io.crdeval.v1.CheckCrdRequest;
import io.crdeval.v1.ConvertRequest;
import io.crdeval.v1.ConvertResponse;
import io.crdeval.v1.CrdView;
import io.crdeval.v1.DefaultRequest;
import io.crdeval.v1.DefaultResponse;
import io.crdeval.v1.DeleteCrdRequest;
import io.crdeval.v1.EvaluationItem;
import io.crdeval.v1.EvaluationOptions;
import io.crdeval.v1.EvaluationServiceGrpc;
import io.crdeval.v1.GetCrdRequest;
import io.crdeval.v1.ListCrdsRequest;
import io.crdeval.v1.ListCrdsResponse;
import io.crdeval.v1.PruneRequest;
import io.crdeval.v1.PruneResponse;
import io.crdeval.v1.ReadRequest;
import io.crdeval.v1.ReadResponse;
import io.crdeval.v1.ReadStreamRequest;
import io.crdeval.v1.ReadStreamResponse;
import io.crdeval.v1.RegisterCrdRequest;
import io.crdeval.v1.RegisterCrdsEntry;
import io.crdeval.v1.RegisterCrdsRequest;
import io.crdeval.v1.RegisterCrdsResponse;
import io.crdeval.v1.RegistryServiceGrpc;
import io.crdeval.v1.ServerLimits;
import io.crdeval.v1.ValidateRequest;
import io.crdeval.v1.ValidateResponse;
import io.crdeval.v1.WatchCrdsRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Calls a crdeval service for one catalog. It is safe for concurrent use, and every method blocks.
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
 * i. If a request fails, the method throws a {@link CrdevalException}, and returns no results of earlier requests.
 *
 * <p>The {@code with…} methods return a view with another setting. Views share the connection: close only the first
 * client.
 */
public final class CrdevalClient implements AutoCloseable {
    /**
     * CRDs in one request. Validating a large CRD takes some ten milliseconds, and a request should end within
     * seconds.
     */
    private static final int ENTRIES_AT_ONCE = 100;

    private static final int PAGE_SIZE = 1_000;

    private final Connection connection;
    private final ManagedChannel owned;
    private final Duration unaryTimeout;
    private final Duration streamTimeout;
    private final EvaluationOptions options;
    private final List<io.crdeval.v1.Document> crds;

    CrdevalClient(Connection connection, ManagedChannel owned, Duration timeout) {
        this(connection, owned, timeout, null, EvaluationOptions.getDefaultInstance(), List.of());
    }

    private CrdevalClient(
            Connection connection,
            ManagedChannel owned,
            Duration unaryTimeout,
            Duration streamTimeout,
            EvaluationOptions options,
            List<io.crdeval.v1.Document> crds) {
        this.connection = connection;
        this.owned = owned;
        this.unaryTimeout = unaryTimeout;
        this.streamTimeout = streamTimeout;
        this.options = options;
        this.crds = crds;
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
        return new CrdevalClient(connection, owned, positive(timeout), timeout, options, crds);
    }

    static Duration positive(Duration timeout) {
        if (timeout.isNegative() || timeout.isZero()) {
            throw new IllegalArgumentException("the timeout is " + timeout + ": it must be positive");
        }
        return timeout;
    }

    /** Returns a view that evaluates with these options, for example with strict field validation. */
    public CrdevalClient withOptions(EvaluationOptions options) {
        return new CrdevalClient(connection, owned, unaryTimeout, streamTimeout, Objects.requireNonNull(options), crds);
    }

    /**
     * Returns a view that sends inline CRDs with each evaluation, in addition to the CRDs of the catalog. They are
     * never registered. At most 16. The inline CRDs of this client come first.
     */
    public CrdevalClient withCrds(Document... manifests) {
        List<io.crdeval.v1.Document> all = new ArrayList<>(crds);
        for (Document manifest : manifests) {
            all.add(manifest.toProto());
        }
        return new CrdevalClient(connection, owned, unaryTimeout, streamTimeout, options, List.copyOf(all));
    }

    /** Makes later calls see at least the state of a token, for example the token of another client's write. */
    public void atLeast(String token) {
        connection.token.set(token);
    }

    /** Returns the token of the latest write of this client, or that of atLeast. It is empty before both. */
    public String token() {
        return connection.token.get();
    }

    /** Returns the channel, for the generated stubs in io.crdeval.v1. Calls of stubs are not repeated. */
    public Channel channel() {
        return connection.channel;
    }

    /** Returns the limits of the server. The client requests them once. */
    public ServerLimits limits() {
        return connection.limits(deadline());
    }

    /** Returns for each object whether an API server would accept its creation. */
    public List<Result<Verdict>> validate(Document... objects) {
        return validate(creations(objects));
    }

    /** Returns for each write whether an API server would accept it. */
    public List<Result<Verdict>> validate(List<Write> writes) {
        return batches(
                EvaluationServiceGrpc.getValidateMethod(),
                ValidateRequest.getDefaultInstance(),
                writes,
                ValidateResponse::getResultsList,
                Verdict::result);
    }

    /** Runs the creation of each object through the whole write path of an API server. Nothing is stored. */
    public List<Result<Verdict>> admit(Document... objects) {
        return admit(creations(objects));
    }

    /** Runs each write through the whole write path of an API server. Nothing is stored. */
    public List<Result<Verdict>> admit(List<Write> writes) {
        return batches(
                EvaluationServiceGrpc.getAdmitMethod(),
                AdmitRequest.getDefaultInstance(),
                writes,
                AdmitResponse::getResultsList,
                Verdict::result);
    }

    /**
     * Runs any number of writes through the whole write path, in bounded memory. A thread reads the writes, and stops
     * reading while the caller does not read results. Results come in the order of the writes.
     */
    public ResultStream<Result<Verdict>> admitStream(Iterator<Write> writes) {
        return BidiStream.open(
                call(EvaluationServiceGrpc.getAdmitStreamMethod()),
                complete(AdmitStreamRequest.getDefaultInstance()),
                writes,
                items -> AdmitStreamRequest.newBuilder().addAllItems(items).build(),
                AdmitStreamResponse::getResultsList,
                Verdict::result);
    }

    /** Removes the unknown fields of each object, and does nothing else. */
    public List<Result<Transformed>> prune(Document... objects) {
        return batches(
                EvaluationServiceGrpc.getPruneMethod(),
                PruneRequest.getDefaultInstance(),
                creations(objects),
                PruneResponse::getResultsList,
                Transformed::result);
    }

    /** Adds the defaults to each object, and does nothing else. */
    public List<Result<Transformed>> defaults(Document... objects) {
        return batches(
                EvaluationServiceGrpc.getDefaultMethod(),
                DefaultRequest.getDefaultInstance(),
                creations(objects),
                DefaultResponse::getResultsList,
                Transformed::result);
    }

    /** Returns each stored object as an API server reads it from storage, at its own version. */
    public List<Result<Transformed>> read(Document... objects) {
        return readAt("", objects);
    }

    /** Returns each stored object as an API server reads it from storage, at this version of its CRD. */
    public List<Result<Transformed>> readAt(String version, Document... objects) {
        return batches(
                EvaluationServiceGrpc.getReadMethod(),
                ReadRequest.newBuilder().setTargetVersion(version).build(),
                creations(objects),
                ReadResponse::getResultsList,
                Transformed::result);
    }

    /**
     * Reads any number of stored objects, as {@link #admitStream} admits writes.
     *
     * @param version the version to read at. "" reads each object at its own version.
     */
    public ResultStream<Result<Transformed>> readStream(String version, Iterator<Document> objects) {
        Iterator<Write> writes = new Iterator<>() {
            @Override
            public boolean hasNext() {
                return objects.hasNext();
            }

            @Override
            public Write next() {
                return Write.create(objects.next());
            }
        };
        return BidiStream.open(
                call(EvaluationServiceGrpc.getReadStreamMethod()),
                complete(ReadStreamRequest.newBuilder().setTargetVersion(version).build()),
                writes,
                items -> ReadStreamRequest.newBuilder().addAllItems(items).build(),
                ReadStreamResponse::getResultsList,
                Transformed::result);
    }

    /** Converts each object to this version of its CRD. */
    public List<Result<Transformed>> convert(String version, Document... objects) {
        if (version.isEmpty()) {
            throw new IllegalArgumentException("the version to convert to is missing");
        }
        return batches(
                EvaluationServiceGrpc.getConvertMethod(),
                ConvertRequest.newBuilder().setTargetVersion(version).build(),
                creations(objects),
                ConvertResponse::getResultsList,
                Transformed::result);
    }

    /**
     * Registers a CustomResourceDefinition. Later calls of this client see it, at any replica.
     *
     * @throws CrdRejectedException if an API server would reject the CRD
     */
    public Registration register(Document manifest) {
        RegisterCrdRequest request =
                RegisterCrdRequest.newBuilder().setManifest(manifest.toProto()).build();
        Registration registration = Registration.of(
                unary(RegistryServiceGrpc.getRegisterCrdMethod(), request, deadline()));
        if (!registration.accepted()) {
            throw new CrdRejectedException(registration);
        }
        return registration;
    }

    /**
     * Registers CRDs one after the other. A CRD that is rejected or fails does not affect the others. Check
     * {@link Registered#accepted} of each result. If a request fails, the CRDs of earlier requests stay registered.
     */
    public List<Registered> registerAll(List<Document> manifests) {
        List<RegisterCrdsEntry> entries = Protos.list(manifests, m ->
                RegisterCrdsEntry.newBuilder().setManifest(m.toProto()).build());
        return batches(
                RegistryServiceGrpc.getRegisterCrdsMethod(),
                RegisterCrdsRequest.getDefaultInstance(),
                "entries",
                entries,
                RegisterCrdsResponse::getResultsList,
                Registered::fromProto);
    }

    /** Returns the result that a registration would have, and registers nothing. */
    public Registration check(Document manifest) {
        CheckCrdRequest request =
                CheckCrdRequest.newBuilder().setManifest(manifest.toProto()).build();
        return Registration.of(unary(RegistryServiceGrpc.getCheckCrdMethod(), request, deadline()));
    }

    /** Returns a registered CRD with its manifest. */
    public Crd get(String crd) {
        GetCrdRequest request = GetCrdRequest.newBuilder().setCrd(crd).build();
        return Crd.fromProto(
                unary(RegistryServiceGrpc.getGetCrdMethod(), request, deadline()).getCrd());
    }

    /** Returns the CRDs of the catalog without manifests, sorted by name, from one snapshot. */
    public List<Crd> list() {
        Deadline deadline = deadline();
        List<Crd> all = new ArrayList<>();
        String page = "";
        do {
            ListCrdsRequest request = ListCrdsRequest.newBuilder()
                    .setPageSize(PAGE_SIZE)
                    .setPageToken(page)
                    .build();
            ListCrdsResponse response = connection.call(
                    RegistryServiceGrpc.getListCrdsMethod(), complete(request), deadline);
            all.addAll(Protos.list(response.getCrdsList(), Crd::fromProto));
            page = response.getNextPageToken();
        } while (!page.isEmpty());
        return List.copyOf(all);
    }

    /** Deletes a CRD by its name: {@code crontabs.stable.example.com}. */
    public void delete(String crd) {
        unary(
                RegistryServiceGrpc.getDeleteCrdMethod(),
                DeleteCrdRequest.newBuilder().setCrd(crd).build(),
                deadline());
    }

    /**
     * Watches the CRDs of the catalog: first each CRD as ADDED, then SYNCED, then each change. With a token, only the
     * changes since that token. Close the watch to end it.
     *
     * @param fromToken the token of an event or a write. "" begins with every CRD.
     */
    public CrdWatch watch(String fromToken) {
        return new CrdWatch(fromToken, this::watchOnce, connection.sleeper);
    }

    private ResultStream<CrdEvent> watchOnce(String fromToken) {
        WatchCrdsRequest request = WatchCrdsRequest.newBuilder()
                .setFromToken(fromToken)
                .setView(CrdView.CRD_VIEW_BASIC)
                .build();
        return ResultStream.open(
                call(RegistryServiceGrpc.getWatchCrdsMethod()),
                complete(request),
                event -> List.of(CrdEvent.fromProto(event)));
    }

    /** Closes the connection. Calls in progress fail. */
    @Override
    public void close() {
        if (owned != null) {
            owned.shutdownNow();
        }
    }

    private Deadline deadline() {
        return Deadline.after(unaryTimeout.toNanos(), TimeUnit.NANOSECONDS);
    }

    private <Q, P> io.grpc.ClientCall<Q, P> call(MethodDescriptor<Q, P> method) {
        CallOptions call = CallOptions.DEFAULT;
        if (streamTimeout != null) {
            call = call.withDeadlineAfter(streamTimeout.toNanos(), TimeUnit.NANOSECONDS);
        }
        return connection.channel.newCall(method, call);
    }

    private <Q extends Message, P extends Message> P unary(
            MethodDescriptor<Q, P> method, Q request, Deadline deadline) {
        return connection.call(method, complete(request), deadline);
    }

    private static List<Write> creations(Document[] objects) {
        return Protos.list(Arrays.asList(objects), Write::create);
    }

    /**
     * Returns the request with the catalog, the token, the options and the inline CRDs, if its message has these
     * fields.
     */
    private <Q extends Message> Q complete(Q request) {
        Message.Builder builder = request.toBuilder();
        set(builder, "catalog", connection.catalog);
        set(builder, "at_least", token());
        set(builder, "options", options);
        set(builder, "crds", crds);
        @SuppressWarnings("unchecked")
        Q complete = (Q) builder.build();
        return complete;
    }

    private static void set(Message.Builder message, String name, Object value) {
        FieldDescriptor field = message.getDescriptorForType().findFieldByName(name);
        if (field != null) {
            message.setField(field, value);
        }
    }

    private <Q extends Message, P extends Message, A, R> List<R> batches(
            MethodDescriptor<Q, P> method,
            Q request,
            List<Write> writes,
            Function<P, List<A>> results,
            Function<A, R> convert) {
        List<EvaluationItem> items = Protos.list(writes, Write::item);
        return batches(method, request, "items", items, results, convert);
    }

    /**
     * Sends elements in a field of as many requests as needed, one after the other. Returns a result for each
     * element.
     */
    private <Q extends Message, P extends Message, A, R> List<R> batches(
            MethodDescriptor<Q, P> method,
            Q request,
            String field,
            List<? extends Message> elements,
            Function<P, List<A>> results,
            Function<A, R> convert) {
        Deadline deadline = deadline();
        List<R> all = new ArrayList<>(elements.size());
        Q head = complete(request);
        for (int sent = 0; sent < elements.size(); ) {
            int end = elements.size() == 1 ? 1 : end(elements, sent, field, head, deadline);
            Message.Builder part = head.toBuilder();
            set(part, field, elements.subList(sent, end));
            @SuppressWarnings("unchecked")
            P response = connection.call(method, (Q) part.build(), deadline);
            List<A> answers = results.apply(response);
            if (answers.size() != end - sent) {
                throw new IllegalStateException("the server sent " + answers.size() + " results for " + (end - sent)
                        + " objects of " + method.getFullMethodName());
            }
            all.addAll(Protos.list(answers, convert));
            sent = end;
        }
        return List.copyOf(all);
    }

    /** Returns the end of the next batch: at least one element, otherwise as many as the limits of the server allow. */
    private int end(List<? extends Message> elements, int start, String field, Message head, Deadline deadline) {
        ServerLimits limits = connection.limits(deadline);
        int most = limits.getMaxBatchItems();
        if (field.equals("entries")) {
            int limit = limits.getMaxRegisterCrds();
            most = limit > 0 ? Math.min(ENTRIES_AT_ONCE, limit) : ENTRIES_AT_ONCE;
        }
        // Half of a message, because the response can be larger than the request.
        long capacity = limits.getMaxMessageBytes() / 2 - head.getSerializedSize();
        int end = start;
        while (end < elements.size()) {
            capacity -= elements.get(end).getSerializedSize();
            if (end > start && (end - start >= most || capacity < 0)) {
                break;
            }
            end++;
        }
        return end;
    }
}
