import io.crdeval.client.CrdRejectedException;
import io.crdeval.client.CrdevalClient;
import io.crdeval.client.CrdevalException;
import io.crdeval.client.Document;
import io.crdeval.client.Result;
import io.crdeval.client.Verdict;
import io.crdeval.client.Violation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Registers a CRD and validates objects: {@code Validate TARGET CRD OBJECT...}. CRDEVAL_TOKEN is the bearer token, if the
 * server needs one.
 */
public final class Validate {
    private Validate() {}

    /** Prints a line for each object and each violation. */
    public static void main(String[] args) throws IOException {
        String token = System.getenv().getOrDefault("CRDEVAL_TOKEN", "");
        try (CrdevalClient client = CrdevalClient.builder(args[0]).token(token).build()) {
            System.out.println("registered " + client.register(read(args[1])).crd().get().name());
            List<String> paths = Arrays.asList(args).subList(2, args.length);
            Document[] objects = new Document[paths.size()];
            for (int i = 0; i < objects.length; i++) {
                objects[i] = read(paths.get(i));
            }
            List<Result<Verdict>> results = client.validate(objects);
            for (int i = 0; i < objects.length; i++) {
                print(paths.get(i), results.get(i));
            }
        } catch (CrdRejectedException | CrdevalException e) {
            System.out.println(e.getMessage());
        }
    }

    private static Document read(String path) throws IOException {
        return Document.of(Files.readAllBytes(Path.of(path)));
    }

    private static void print(String path, Result<Verdict> result) {
        if (result.error().isPresent()) {
            System.out.println(path + ": not evaluated: " + result.error().get().getMessage());
            return;
        }
        System.out.println(path + ": " + (result.get().allowed() ? "allowed" : "rejected"));
        for (Violation v : result.get().violations()) {
            String at = v.position().map(p -> p.line() + ":" + p.column() + ": ").orElse("");
            System.out.println("  " + at + v.field() + ": " + v.message());
        }
    }
}
