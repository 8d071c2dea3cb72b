// Uses the typescript-fetch client of openapi-generator: node typescript_fetch.js URL TOKEN
import { Configuration, EvaluationServiceApi, ResponseError, V1FieldValidation } from "./generated/index.js";

const [, , basePath = "", accessToken = ""] = process.argv;
const api = new EvaluationServiceApi(new Configuration({ basePath, accessToken }));
const object = { apiVersion: "openapi.example.com/v1", kind: "Bell", metadata: { name: "a" }, size: 4, colour: "red" };
const { results } = await api.validate({
  catalog: "default",
  evaluationServiceValidateBody: {
    items: [{ create: { object } }, { create: { object: { ...object, size: 3 } } }],
    context: { options: { fieldValidation: V1FieldValidation.FieldValidationWarn } },
  },
});
const [first, second] = results;
if (
  first?.verdict?.violations[0]?.position?.line !== 1 ||
  first.verdict.warnings[0]?.text !== 'unknown field "colour"' ||
  !second?.verdict?.allowed
) {
  throw new Error(JSON.stringify(results));
}
try {
  await api.validate({ catalog: "missing", evaluationServiceValidateBody: { items: [] } });
  throw new Error("a missing catalog is no error");
} catch (error) {
  if (!(error instanceof ResponseError) || error.response.status !== 404) {
    throw error;
  }
}
console.log("typescript-fetch:", first.verdict.violations[0].message);
