// Registers a CRD, validates objects, and prints their verdicts:
//
//   node validate.js ADDRESS CRD OBJECT…
//
// ADDRESS is HOST:PORT or unix:PATH for gRPC, or a URL for REST. CRDEVAL_TOKEN is the bearer token, if the server
// needs one. The exit code is 1 if an object is rejected, and 2 after an error.
import { readFile } from "node:fs/promises";
import { Client, CrdevalError } from "@crdeval/client";

async function main([address, manifest, ...files]: string[]): Promise<number> {
  if (address === undefined || manifest === undefined || files.length === 0) {
    console.error("usage: validate ADDRESS CRD OBJECT…");
    return 2;
  }
  const token = process.env["CRDEVAL_TOKEN"] ?? "";
  const client = new Client({
    ...(address.includes("://") && !address.startsWith("unix:") ? { url: address } : { address }),
    token,
  });
  try {
    const [crd] = await client.register([await readFile(manifest)]);
    if (!crd?.accepted) {
      console.error(crd?.error?.message ?? crd?.violations.map((v) => `${v.field}: ${v.message}`).join("\n"));
      return 2;
    }
    const objects = await Promise.all(files.map((file) => readFile(file)));
    const verdicts = await client.validate(objects, { timeoutMs: 30_000 });
    let code = 0;
    for (const [i, verdict] of verdicts.entries()) {
      if (verdict.error) {
        console.log(`${files[i]}: not evaluated: ${verdict.error.message}`);
        code = 2;
      } else if (verdict.allowed) {
        console.log(`${files[i]}: allowed`);
      } else {
        console.log(`${files[i]}: rejected: ${verdict.rejection?.message}`);
        for (const v of verdict.violations) {
          console.log(`  line ${v.position?.line}: ${v.field}: ${v.message}`);
        }
        code = Math.max(code, 1);
      }
    }
    return code;
  } catch (error) {
    console.error(error instanceof CrdevalError ? `${error.code}: ${error.message}` : error);
    return 2;
  } finally {
    client.close();
  }
}

process.exitCode = await main(process.argv.slice(2));
