// Uses the types of openapi-typescript with openapi-fetch: node openapi_typescript.js URL TOKEN
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const [, , baseUrl = "", token = ""] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
const crd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "bells.openapi.example.com" },
  spec: {
    group: "openapi.example.com",
    scope: "Cluster",
    names: { plural: "bells", kind: "Bell" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { size: { type: "integer", maximum: 3 } } } },
      },
    ],
  },
};
const registered = await client.POST("/v1/catalogs/{catalog}/crds", {
  params: { path: { catalog: "default" } },
  body: crd,
});
const object = { apiVersion: "openapi.example.com/v1", kind: "Bell", metadata: { name: "a" }, size: 4 };
const { data, error } = await client.POST("/v1/catalogs/{catalog}:validate", {
  params: { path: { catalog: "default" } },
  body: { items: [{ create: { object } }] },
});
const violations: components["schemas"]["v1Violation"][] = data?.results[0]?.verdict?.violations ?? [];
if (!registered.data?.accepted || violations[0]?.field !== "size") {
  throw new Error(JSON.stringify([registered.error, data, error]));
}
const missing = await client.GET("/v1/catalogs/{catalog}/crds/{crd}", {
  params: { path: { catalog: "default", crd: "missing.example.com" } },
});
if (missing.error?.code !== 5) {
  throw new Error(JSON.stringify(missing));
}
console.log("openapi-typescript:", violations[0].message);
