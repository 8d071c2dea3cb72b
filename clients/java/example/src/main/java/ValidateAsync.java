import io.crdeval.client.CrdevalClient;
import io.crdeval.client.Document;
import io.crdeval.client.Result;
import io.crdeval.client.Verdict;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Validates objects of registered CRDs, all at the same time: {@code ValidateAsync TARGET OBJECT...}. CRDEVAL_TOKEN is the
 * bearer token, if the server needs one.
 */
public final class ValidateAsync {
    private ValidateAsync() {}

    /** Prints a line for each object. */
    public static void main(String[] args) throws IOException {
        String token = System.getenv().getOrDefault("CRDEVAL_TOKEN", "");
        try (CrdevalClient client = CrdevalClient.builder(args[0]).token(token).build()) {
            List<CompletableFuture<String>> lines = new ArrayList<>();
            for (String path : List.of(args).subList(1, args.length)) {
                Document object = Document.of(Files.readAllBytes(Path.of(path)));
                lines.add(client.async()
                        .validate(object)
                        .handle((results, error) ->
                                path + ": " + (error != null ? error.getMessage() : describe(results.get(0)))));
            }
            lines.forEach(line -> System.out.println(line.join()));
        }
    }

    private static String describe(Result<Verdict> result) {
        return result.error()
                .map(error -> "not evaluated: " + error.getMessage())
                .orElseGet(() -> result.get().allowed() ? "allowed" : "rejected");
    }
}
