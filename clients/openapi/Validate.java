import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.EvaluationServiceApi;
import org.openapitools.client.model.EvaluationServiceValidateBody;
import org.openapitools.client.model.V1Create;
import org.openapitools.client.model.V1Violation;
import org.openapitools.client.model.V1WriteItem;

/** Validate uses the Java client of openapi-generator: Validate URL TOKEN. */
public final class Validate {
  public static void main(String[] args) throws ApiException {
    var client = new ApiClient();
    client.updateBaseUri(args[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + args[1]));
    var api = new EvaluationServiceApi(client);
    Map<String, Object> object = Map.of(
        "apiVersion", "openapi.example.com/v1", "kind", "Bell", "metadata", Map.of("name", "a"),
        "size", new BigInteger("9007199254740993"));
    var body = new EvaluationServiceValidateBody().items(List.of(new V1WriteItem().create(new V1Create()._object(object))));
    V1Violation violation = api.validate("default", body).getResults().get(0).getVerdict().getViolations().get(0);
    if (!violation.getField().equals("size") || !violation.getMessage().contains("9007199254740993")) {
      throw new AssertionError(violation);
    }
    try {
      api.validate("missing", body);
      throw new AssertionError("a missing catalog is no error");
    } catch (ApiException e) {
      if (e.getCode() != 404) {
        throw e;
      }
    }
    System.out.println("java: " + violation.getMessage());
  }
}
