// Evaluates an object on a web page that the origin of the service serves.
import { Client } from "@crdeval/client";

const client = new Client({ url: "" });

export async function check(crd: string, object: string): Promise<string[]> {
  const [verdict] = await client.admit([object], { crds: [crd], timeoutMs: 5_000 });
  if (verdict === undefined || verdict.error) {
    return [verdict?.error?.message ?? "no result"];
  }
  return verdict.violations.map((v) => `${v.position?.line}:${v.position?.column}: ${v.field}: ${v.message}`);
}
