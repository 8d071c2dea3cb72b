// Serves the protocol of .tools/peers/worker.go with ajv: worker.js SCHEMA
// The schema is compiled once. A validation is JSON.parse and the compiled function.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import Ajv from "ajv";
import addFormats from "ajv-formats";

// Patterns of CRDs are those of Go. Some are not valid with the flag u, which ajv sets by default.
const ajv = new Ajv({ strict: false, unicodeRegExp: false });
addFormats(ajv);
const check = ajv.compile(JSON.parse(readFileSync(process.argv[2], "utf8")));

function validate(object) {
  return check(JSON.parse(object.toString("utf8")));
}

function run(object, n) {
  global.gc();
  const start = process.cpuUsage();
  for (let i = 0; i < n; i++) {
    if (!validate(object)) throw new Error(`run needs a valid object: ${JSON.stringify(check.errors)}`);
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

let object;
for await (const line of createInterface({ input: process.stdin })) {
  const space = line.indexOf(" ");
  const [verb, argument] = [line.slice(0, space), line.slice(space + 1)];
  if (verb === "object") {
    object = readFileSync(argument);
    let problem;
    try {
      problem = validate(object) ? undefined : JSON.stringify(check.errors);
    } catch (error) {
      problem = String(error);
    }
    console.log(problem === undefined ? "valid" : `invalid ${problem.replaceAll("\n", " ")}`);
  } else if (verb === "run") {
    console.log(run(object, Number(argument)));
  } else {
    throw new Error(`unknown command ${verb}`);
  }
}
