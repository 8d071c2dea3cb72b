package io.crdeval.client;

import com.google.protobuf.Duration;
import com.google.rpc.RetryInfo;
import io.crdeval.v1.EvaluationOptions;
import io.crdeval.v1.FieldValidation;
import io.crdeval.v1.WatchEventType;
import io.crdeval.v1.WriteItem;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** Runs the steps of one scenario, and returns their outcomes in the form of {@code expect}. */
final class ScenarioRunner implements AutoCloseable {
    private static final Set<String> STEP_KEYS = Set.of(
            "call", "manifests", "items", "options", "version", "group", "crd", "repeat", "catalog", "token", "retries",
            "timeoutMs", "releaseAfterMs", "expect");
    private static final Set<String> ITEM_KEYS =
            Set.of("object", "oldObject", "mergePatch", "jsonPatch", "subresource", "padding");
    private static final Set<String> OPTION_KEYS = Set.of("fieldValidation", "itemTimeoutNs");

    private final String address;
    private final String token;
    private final Map<String, Object> documents;
    private final List<CrdevalClient> clients = new ArrayList<>();
    private CountDownLatch held;

    ScenarioRunner(String address, Map<String, Object> file) {
        known(file, Set.of("token", "documents", "scenarios"));
        this.address = address;
        this.token = (String) file.get("token");
        this.documents = map(file.get("documents"));
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> map(Object value) {
        return value == null ? Map.of() : (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> maps(Object value) {
        return (List<Map<String, Object>>) value;
    }

    private static List<?> list(Object value) {
        return value == null ? List.of() : (List<?>) value;
    }

    private static void known(Map<String, Object> map, Set<String> keys) {
        for (String key : map.keySet()) {
            if (!keys.contains(key)) {
                throw new IllegalArgumentException("unknown key " + key);
            }
        }
    }

    private Document document(Object name) {
        if (!(documents.get(name) instanceof String text)) {
            throw new IllegalArgumentException("there is no document " + name);
        }
        return Document.of(text);
    }

    private CrdevalClient client(Map<String, Object> step) {
        CrdevalClientBuilder builder =
                CrdevalClient.builder(address).token((String) step.getOrDefault("token", token));
        if (step.get("catalog") instanceof String catalog) {
            builder.catalog(catalog);
        }
        if (Boolean.FALSE.equals(step.get("retries"))) {
            builder.retries(RetryPolicy.NONE);
        }
        CrdevalClient client = builder.build();
        clients.add(client);
        int millis = (Integer) step.getOrDefault("timeoutMs", 60_000);
        return client.withTimeout(java.time.Duration.ofMillis(millis)).withOptions(options(map(step.get("options"))));
    }

    private static EvaluationOptions options(Map<String, Object> options) {
        known(options, OPTION_KEYS);
        EvaluationOptions.Builder builder = EvaluationOptions.newBuilder();
        if (options.get("fieldValidation") instanceof String name) {
            builder.setFieldValidation(FieldValidation.valueOf("FIELD_VALIDATION_" + name));
        }
        if (options.get("itemTimeoutNs") instanceof Integer nanos) {
            builder.setItemTimeout(Duration.newBuilder().setNanos(nanos));
        }
        return builder.build();
    }

    private Write write(Object item) {
        if (item instanceof String name) {
            return Write.create(document(name));
        }
        Map<String, Object> map = map(item);
        known(map, ITEM_KEYS);
        Document old = map.containsKey("oldObject") ? document(map.get("oldObject")) : null;
        Write write;
        if (map.containsKey("mergePatch")) {
            write = Write.mergePatch(Document.of("{}"), document(map.get("mergePatch")));
        } else if (map.containsKey("jsonPatch")) {
            write = Write.jsonPatch(Document.of("{}"), document(map.get("jsonPatch")));
        } else {
            String padding = " ".repeat((Integer) map.getOrDefault("padding", 0));
            Document object = Document.of(document(map.get("object")).text() + padding);
            write = old == null ? Write.create(object) : Write.update(old, object);
        }
        WriteItem.Builder builder = write.item().toBuilder();
        if (builder.hasPatch()) {
            builder.getPatchBuilder().clearOldObject();
            if (old != null) {
                builder.getPatchBuilder().setOldObject(old.toProto());
            }
        }
        write = new Write(builder.build());
        return map.containsKey("subresource") ? write.subresource((String) map.get("subresource")) : write;
    }

    /** Returns the outcome of a step. */
    Map<String, Object> run(Map<String, Object> step) {
        known(step, STEP_KEYS);
        CrdevalClient client = client(step);
        List<Write> once = new ArrayList<>();
        list(step.get("items")).forEach(item -> once.add(write(item)));
        List<Write> writes = new ArrayList<>();
        Collections.nCopies((Integer) step.getOrDefault("repeat", 1), once).forEach(writes::addAll);
        Document[] objects = writes.stream()
                .map(w -> Document.fromProto(w.item().getCreate().getObject()))
                .toArray(Document[]::new);
        String version = (String) step.getOrDefault("version", "");
        String group = (String) step.get("group");
        if (step.get("releaseAfterMs") instanceof Integer millis) {
            release(millis);
        }
        try {
            return switch ((String) step.get("call")) {
                case "register" -> registrations(client, list(step.get("manifests")));
                case "validate" -> results(client.validate(writes), ScenarioRunner::verdict);
                case "admit" -> results(client.admit(writes), ScenarioRunner::verdict);
                case "prune" -> results(client.prune(objects), ScenarioRunner::transformed);
                case "default" -> results(client.defaults(objects), ScenarioRunner::transformed);
                case "read" -> results(
                        version.isEmpty() ? client.read(objects) : client.readAt(version, objects),
                        ScenarioRunner::transformed);
                case "convert" -> results(client.convert(version, objects), ScenarioRunner::transformed);
                case "admitStream" -> results(all(client.admitStream(writes.iterator())), ScenarioRunner::verdict);
                case "readStream" -> results(
                        all(client.readStream(version, List.of(objects).iterator())), ScenarioRunner::transformed);
                case "list" -> Map.of(
                        "crds",
                        client.list().stream().filter(c -> c.group().equals(group)).map(Crd::name).toList());
                case "watch" -> Map.of("events", watch(client, group));
                case "delete" -> {
                    client.delete((String) step.get("crd"));
                    yield Map.of();
                }
                case "hold" -> hold(client, writes.get(0));
                default -> throw new IllegalArgumentException("unknown call " + step.get("call"));
            };
        } catch (CrdevalException e) {
            List<Map<String, Object>> earlier = new ArrayList<>();
            e.verdicts().forEach(r -> earlier.add(verdict(r)));
            e.transformed().forEach(r -> earlier.add(transformed(r)));
            e.registered().forEach(r -> earlier.add(registered(r)));
            return earlier.isEmpty() ? Map.of("error", error(e)) : Map.of("error", error(e), "results", earlier);
        }
    }

    private Map<String, Object> registrations(CrdevalClient client, List<?> names) {
        List<Document> manifests = new ArrayList<>();
        names.forEach(name -> manifests.add(document(name)));
        return results(client.registerAll(manifests), ScenarioRunner::registered);
    }

    private static Map<String, Object> registered(Registered r) {
        Map<String, Object> all = new TreeMap<>();
        all.put("name", r.crd());
        if (r.result().error().isPresent()) {
            all.put("error", error(r.result().error().get()));
            return all;
        }
        Registration registration = r.result().get();
        all.put("accepted", registration.accepted());
        all.put("outcome", registration.outcome().name().replace("REGISTRATION_OUTCOME_", ""));
        all.put("violations", registration.violations().stream().map(ScenarioRunner::violation).toList());
        registration.rejection().ifPresent(rejection -> all.put("rejection", rejection(rejection)));
        return all;
    }

    private static <R> List<R> all(ResultStream<R> stream) {
        List<R> all = new ArrayList<>();
        stream.forEachRemaining(all::add);
        return all;
    }

    private static List<String> watch(CrdevalClient client, String group) {
        List<String> events = new ArrayList<>();
        try (CrdWatch stream = client.watch("")) {
            while (true) {
                CrdEvent event = stream.next();
                String type = event.type().name().replace("WATCH_EVENT_TYPE_", "");
                event.crd().filter(c -> c.group().equals(group)).ifPresent(c -> events.add(type + " " + c.name()));
                if (event.type() == WatchEventType.WATCH_EVENT_TYPE_SYNCED) {
                    events.add(type);
                    return events;
                }
            }
        }
    }

    /** Opens a stream, waits for one result, and keeps the stream open until {@link #release}. */
    private Map<String, Object> hold(CrdevalClient client, Write write) {
        CountDownLatch open = new CountDownLatch(1);
        held = open;
        ResultStream<Result<Verdict>> stream = client.admitStream(new Iterator<>() {
            private boolean sent;

            @Override
            public boolean hasNext() {
                if (sent) {
                    try {
                        open.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }
                return !sent;
            }

            @Override
            public Write next() {
                sent = true;
                return write;
            }
        });
        stream.next().get();
        return Map.of();
    }

    private void release(int millis) {
        CountDownLatch open = held;
        held = null;
        Thread thread = new Thread(() -> {
            try {
                TimeUnit.MILLISECONDS.sleep(millis);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            open.countDown();
        });
        thread.setDaemon(true);
        thread.start();
    }

    /** Reports whether no stream is held. */
    boolean released() {
        return held == null;
    }

    @Override
    public void close() {
        clients.forEach(CrdevalClient::close);
    }

    private static <R> Map<String, Object> results(List<R> results, Function<R, Map<String, Object>> convert) {
        return Map.of("results", results.stream().map(convert).toList());
    }

    private static Map<String, Object> error(CrdevalException e) {
        Map<String, Object> all = new TreeMap<>();
        all.put("code", e.code().name());
        all.put("metadata", e.metadata());
        if (!e.reason().isEmpty()) {
            all.put("reason", e.reason());
        }
        if (e.detail(RetryInfo.class).isPresent()) {
            all.put("retryDelay", e.retryDelay().filter(d -> !d.isZero() && !d.isNegative()).isPresent());
        }
        return all;
    }

    private static Map<String, Object> verdict(Result<Verdict> result) {
        Map<String, Object> all = new TreeMap<>();
        if (result.error().isPresent()) {
            all.put("error", error(result.error().get()));
            return all;
        }
        Verdict v = result.get();
        all.put("allowed", v.allowed());
        all.put("violations", v.violations().stream().map(ScenarioRunner::violation).toList());
        all.put("ratcheted", v.ratcheted().stream().map(ScenarioRunner::violation).toList());
        all.put("warnings", v.warnings().stream().map(Warning::text).toList());
        all.put("next", v.next().stream().map(ScenarioRunner::violation).toList());
        all.put("pruned", changes(v.pruned()));
        all.put("defaulted", changes(v.defaulted()));
        v.rejection().ifPresent(r -> all.put("rejection", rejection(r)));
        v.object().ifPresent(d -> all.put("object", d.text()));
        v.storedObject().ifPresent(d -> all.put("storedObject", d.text()));
        return all;
    }

    private static Map<String, Object> transformed(Result<Transformed> result) {
        Map<String, Object> all = new TreeMap<>();
        if (result.error().isPresent()) {
            all.put("error", error(result.error().get()));
            return all;
        }
        Transformed t = result.get();
        all.put("changed", t.changed());
        all.put("warnings", t.warnings().stream().map(Warning::text).toList());
        all.put("pruned", changes(t.pruned()));
        all.put("defaulted", changes(t.defaulted()));
        t.rejection().ifPresent(r -> all.put("rejection", rejection(r)));
        t.object().ifPresent(d -> all.put("object", d.text()));
        return all;
    }

    private static Map<String, Object> violation(Violation v) {
        Map<String, Object> all = new TreeMap<>();
        all.put("type", v.type());
        all.put("field", v.field());
        all.put("message", v.message());
        all.put("detail", v.detail());
        all.put("pointer", v.pointer());
        all.put("schemaPointer", v.schemaPointer());
        all.put("step", v.step().name().replace("PIPELINE_STEP_", ""));
        v.badValue().ifPresent(d -> all.put("badValue", d.text()));
        v.position().ifPresent(p ->
                all.put("position", Map.of("line", p.line(), "column", p.column(), "offset", p.offset())));
        v.rule().ifPresent(
                r -> all.put("rule", Map.of("rule", r.rule(), "index", r.index(), "reason", r.reason())));
        return all;
    }

    private static List<Map<String, Object>> changes(List<FieldChange> changes) {
        return changes.stream()
                .map(c -> Map.<String, Object>of("path", c.path(), "value", c.value().text()))
                .toList();
    }

    private static Map<String, Object> rejection(Rejection r) {
        return Map.of("code", r.code(), "reason", r.reason(), "message", r.message());
    }
}
