package io.crdeval.client;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.crdeval.v1.AdmitRequest;
import io.crdeval.v1.AdmitResponse;
import io.crdeval.v1.CheckCrdRequest;
import io.crdeval.v1.ConvertRequest;
import io.crdeval.v1.ConvertResponse;
import io.crdeval.v1.DefaultRequest;
import io.crdeval.v1.DefaultResponse;
import io.crdeval.v1.DeleteCrdRequest;
import io.crdeval.v1.EvaluationContext;
import io.crdeval.v1.EvaluationOptions;
import io.crdeval.v1.EvaluationServiceGrpc;
import io.crdeval.v1.GetCrdRequest;
import io.crdeval.v1.GetServerInfoRequest;
import io.crdeval.v1.ListCrdsRequest;
import io.crdeval.v1.ObjectItem;
import io.crdeval.v1.PruneRequest;
import io.crdeval.v1.PruneResponse;
import io.crdeval.v1.ReadRequest;
import io.crdeval.v1.ReadResponse;
import io.crdeval.v1.RegisterCrdRequest;
import io.crdeval.v1.RegisterCrdsEntry;
import io.crdeval.v1.RegisterCrdsRequest;
import io.crdeval.v1.RegisterCrdsResponse;
import io.crdeval.v1.RegistryServiceGrpc;
import io.crdeval.v1.ServerLimits;
import io.crdeval.v1.ServerServiceGrpc;
import io.crdeval.v1.TransformResult;
import io.crdeval.v1.ValidateRequest;
import io.crdeval.v1.ValidateResponse;
import io.crdeval.v1.VerdictResult;
import io.crdeval.v1.WriteItem;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Makes the unary calls of a {@link CrdevalClient} without blocking. {@link CrdevalClient#async} returns it.
 *
 * <pre>{@code
 * client.async()
 *         .validate(Document.of(object))
 *         .thenAccept(results -> results.forEach(r -> System.out.println(r.get().allowed())));
 * }</pre>
 *
 * <p>If the same method of {@link CrdevalClient} would throw an exception, the future fails with it. For invalid
 * arguments, methods throw at once. The timeout, the retries and the batches are those of the client. If you cancel
 * the future, the request in progress is cancelled. Dependent stages run in a thread of the channel, unless you give
 * them an executor.
 */
public final class AsyncCrdevalClient {
    /**
     * The maximum number of CRDs in one request. Validating a large CRD takes tens of milliseconds, and a request
     * should end within seconds.
     */
    private static final int ENTRIES_AT_ONCE = 100;

    private static final int PAGE_SIZE = 1_000;

    final Connection connection;
    private final Duration timeout;
    private final EvaluationOptions options;
    private final List<io.crdeval.v1.Document> crds;

    AsyncCrdevalClient(
            Connection connection, Duration timeout, EvaluationOptions options, List<io.crdeval.v1.Document> crds) {
        this.connection = connection;
        this.timeout = timeout;
        this.options = options;
        this.crds = crds;
    }

    AsyncCrdevalClient withTimeout(Duration timeout) {
        return new AsyncCrdevalClient(connection, timeout, options, crds);
    }

    AsyncCrdevalClient withOptions(EvaluationOptions options) {
        return new AsyncCrdevalClient(connection, timeout, options, crds);
    }

    AsyncCrdevalClient withCrds(Document... manifests) {
        Stream<io.crdeval.v1.Document> more = Arrays.stream(manifests).map(Document::toProto);
        return new AsyncCrdevalClient(
                connection, timeout, options, Stream.concat(crds.stream(), more).toList());
    }

    /** See {@link CrdevalClient#limits}. */
    public CompletableFuture<ServerLimits> limits() {
        Operation<ServerLimits> operation = new Operation<>(connection, timeout);
        limits(operation, operation.result::complete);
        return operation.result;
    }

    /** See {@link CrdevalClient#validate(Document...)}. */
    public CompletableFuture<List<Result<Verdict>>> validate(Document... objects) {
        return validate(creations(objects));
    }

    /** See {@link CrdevalClient#validate(List)}. */
    public CompletableFuture<List<Result<Verdict>>> validate(List<Write> writes) {
        return verdicts(
                EvaluationServiceGrpc.getValidateMethod(),
                ValidateRequest.getDefaultInstance(),
                writes,
                ValidateResponse::getResultsList);
    }

    /** See {@link CrdevalClient#admit(Document...)}. */
    public CompletableFuture<List<Result<Verdict>>> admit(Document... objects) {
        return admit(creations(objects));
    }

    /** See {@link CrdevalClient#admit(List)}. */
    public CompletableFuture<List<Result<Verdict>>> admit(List<Write> writes) {
        return verdicts(
                EvaluationServiceGrpc.getAdmitMethod(),
                AdmitRequest.getDefaultInstance(),
                writes,
                AdmitResponse::getResultsList);
    }

    /** See {@link CrdevalClient#prune}. */
    public CompletableFuture<List<Result<Transformed>>> prune(Document... objects) {
        return transformed(
                EvaluationServiceGrpc.getPruneMethod(),
                PruneRequest.getDefaultInstance(),
                objects,
                PruneResponse::getResultsList);
    }

    /** See {@link CrdevalClient#defaults}. */
    public CompletableFuture<List<Result<Transformed>>> defaults(Document... objects) {
        return transformed(
                EvaluationServiceGrpc.getDefaultMethod(),
                DefaultRequest.getDefaultInstance(),
                objects,
                DefaultResponse::getResultsList);
    }

    /** See {@link CrdevalClient#read}. */
    public CompletableFuture<List<Result<Transformed>>> read(Document... objects) {
        return readAt("", objects);
    }

    /** See {@link CrdevalClient#readAt}. */
    public CompletableFuture<List<Result<Transformed>>> readAt(String version, Document... objects) {
        return transformed(
                EvaluationServiceGrpc.getReadMethod(),
                ReadRequest.newBuilder().setTargetVersion(version).build(),
                objects,
                ReadResponse::getResultsList);
    }

    /** See {@link CrdevalClient#convert}. */
    public CompletableFuture<List<Result<Transformed>>> convert(String version, Document... objects) {
        if (version.isEmpty()) {
            throw new IllegalArgumentException("the version to convert to is missing");
        }
        return transformed(
                EvaluationServiceGrpc.getConvertMethod(),
                ConvertRequest.newBuilder().setTargetVersion(version).build(),
                objects,
                ConvertResponse::getResultsList);
    }

    /** See {@link CrdevalClient#register}. */
    public CompletableFuture<Registration> register(Document manifest) {
        RegisterCrdRequest request =
                RegisterCrdRequest.newBuilder().setManifest(manifest.toProto()).build();
        return unary(RegistryServiceGrpc.getRegisterCrdMethod(), request, response -> {
            Registration registration = Registration.of(response);
            if (!registration.accepted()) {
                throw new CrdRejectedException(registration);
            }
            return registration;
        });
    }

    /** See {@link CrdevalClient#registerAll}. */
    public CompletableFuture<List<Registered>> registerAll(List<Document> manifests) {
        List<RegisterCrdsEntry> entries = Protos.list(manifests, m ->
                RegisterCrdsEntry.newBuilder().setManifest(m.toProto()).build());
        return batches(
                RegistryServiceGrpc.getRegisterCrdsMethod(),
                RegisterCrdsRequest.getDefaultInstance(),
                "entries",
                entries,
                RegisterCrdsResponse::getResultsList,
                Registered::fromProto,
                CrdevalException::keepRegistered);
    }

    /** See {@link CrdevalClient#check}. */
    public CompletableFuture<Registration> check(Document manifest) {
        CheckCrdRequest request =
                CheckCrdRequest.newBuilder().setManifest(manifest.toProto()).build();
        return unary(RegistryServiceGrpc.getCheckCrdMethod(), request, Registration::of);
    }

    /** See {@link CrdevalClient#get}. */
    public CompletableFuture<Crd> get(String crd) {
        GetCrdRequest request = GetCrdRequest.newBuilder().setCrd(crd).build();
        return unary(RegistryServiceGrpc.getGetCrdMethod(), request, response -> Crd.fromProto(response.getCrd()));
    }

    /** See {@link CrdevalClient#list}. */
    public CompletableFuture<List<Crd>> list() {
        Operation<List<Crd>> operation = new Operation<>(connection, timeout);
        page(operation, new ArrayList<>(), "");
        return operation.result;
    }

    private void page(Operation<List<Crd>> operation, List<Crd> all, String token) {
        ListCrdsRequest request = ListCrdsRequest.newBuilder()
                .setPageSize(PAGE_SIZE)
                .setPageToken(token)
                .build();
        operation.call(RegistryServiceGrpc.getListCrdsMethod(), complete(request), response -> {
            all.addAll(Protos.list(response.getCrdsList(), Crd::fromProto));
            if (response.getNextPageToken().isEmpty()) {
                operation.result.complete(List.copyOf(all));
            } else {
                page(operation, all, response.getNextPageToken());
            }
        });
    }

    /** See {@link CrdevalClient#delete}. */
    public CompletableFuture<Void> delete(String crd) {
        DeleteCrdRequest request = DeleteCrdRequest.newBuilder().setCrd(crd).build();
        return unary(RegistryServiceGrpc.getDeleteCrdMethod(), request, response -> null);
    }

    /** Passes on the limits of the server. Requests them once. */
    private void limits(Operation<?> operation, Consumer<ServerLimits> then) {
        ServerLimits known = connection.limits.get();
        if (known != null) {
            then.accept(known);
            return;
        }
        operation.call(
                ServerServiceGrpc.getGetServerInfoMethod(), GetServerInfoRequest.getDefaultInstance(), response -> {
                    connection.limits.set(response.getLimits());
                    then.accept(response.getLimits());
                });
    }

    private <Q extends Message, P extends Message, R> CompletableFuture<R> unary(
            MethodDescriptor<Q, P> method, Q request, Function<P, R> convert) {
        Operation<R> operation = new Operation<>(connection, timeout);
        operation.call(
                method, complete(request), response -> operation.result.complete(convert.apply(response)));
        return operation.result;
    }

    static ObjectItem item(Document object) {
        return ObjectItem.newBuilder().setObject(object.toProto()).build();
    }

    private static List<Write> creations(Document[] objects) {
        return Protos.list(Arrays.asList(objects), Write::create);
    }

    /**
     * Returns the request with the context of this client or, if its message has no context, with the catalog and the
     * token, if it has these fields.
     */
    <Q extends Message> Q complete(Q request) {
        Message.Builder builder = request.toBuilder();
        set(builder, "catalog", connection.catalog);
        set(builder, "at_least", connection.token.get());
        EvaluationContext context = EvaluationContext.newBuilder()
                .setCatalog(connection.catalog)
                .setAtLeast(connection.token.get())
                .setOptions(options)
                .addAllCrds(crds)
                .build();
        set(builder, "context", context);
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

    private <Q extends Message, P extends Message> CompletableFuture<List<Result<Verdict>>> verdicts(
            MethodDescriptor<Q, P> method, Q request, List<Write> writes, Function<P, List<VerdictResult>> results) {
        List<WriteItem> items = Protos.list(writes, Write::item);
        return batches(method, request, "items", items, results, Verdict::result, CrdevalException::keepVerdicts);
    }

    private <Q extends Message, P extends Message> CompletableFuture<List<Result<Transformed>>> transformed(
            MethodDescriptor<Q, P> method,
            Q request,
            Document[] objects,
            Function<P, List<TransformResult>> results) {
        List<ObjectItem> items = Protos.list(Arrays.asList(objects), AsyncCrdevalClient::item);
        return batches(
                method, request, "items", items, results, Transformed::result, CrdevalException::keepTransformed);
    }

    /**
     * Sends elements in a field of as many requests as needed, one after the other. Returns a result for each element.
     * If a request fails, {@code keep} adds the results of the earlier requests to the error.
     */
    private <Q extends Message, P extends Message, A, R> CompletableFuture<List<R>> batches(
            MethodDescriptor<Q, P> method,
            Q request,
            String field,
            List<? extends Message> elements,
            Function<P, List<A>> results,
            Function<A, R> convert,
            BiConsumer<CrdevalException, List<R>> keep) {
        List<R> all = new ArrayList<>(elements.size());
        Operation<List<R>> operation =
                new Operation<>(connection, timeout, error -> keep.accept(error, List.copyOf(all)));
        Q head = complete(request);
        send(operation, method, head, field, elements, response -> Protos.list(results.apply(response), convert), all);
        return operation.result;
    }

    private <Q extends Message, P extends Message, R> void send(
            Operation<List<R>> operation,
            MethodDescriptor<Q, P> method,
            Q head,
            String field,
            List<? extends Message> elements,
            Function<P, List<R>> convert,
            List<R> all) {
        int start = all.size();
        if (start == elements.size()) {
            operation.result.complete(List.copyOf(all));
            return;
        }
        Consumer<Integer> sendTo = end -> {
            Message.Builder part = head.toBuilder();
            set(part, field, elements.subList(start, end));
            @SuppressWarnings("unchecked")
            Q request = (Q) part.build();
            operation.call(method, request, response -> {
                List<R> results = convert.apply(response);
                if (results.size() != end - start) {
                    throw CrdevalException.of(Status.INTERNAL
                            .withDescription("the server sent " + results.size() + " results for " + (end - start)
                                    + " objects of " + method.getFullMethodName())
                            .asRuntimeException());
                }
                all.addAll(results);
                send(operation, method, head, field, elements, convert, all);
            });
        };
        if (elements.size() == 1) {
            sendTo.accept(1);
        } else {
            limits(operation, limits -> sendTo.accept(end(elements, start, field, head, limits)));
        }
    }

    /** Returns the end of the next batch: at least one element, otherwise as many as the limits of the server allow. */
    private static int end(
            List<? extends Message> elements, int start, String field, Message head, ServerLimits limits) {
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
