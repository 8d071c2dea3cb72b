import type { JsonValue as Tree } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { JsonReader } from "../json.js";

/** Format is the media type of a body without its prefix. */
export type Format = "json" | "yaml";

/** Origin is the place of a document in a body. */
export interface Origin {
  /** The first line of the document, from 1. It has nothing else. */
  readonly line: number;
  /** The bytes before that line. */
  readonly offset: number;
  /** The spaces before each line of the document. */
  readonly indent: number;
}

interface Embedded {
  readonly format: Format;
  readonly content: string | Uint8Array;
}

/** embedded returns the document that a message is in protobuf's JSON, or undefined if the message is another one. */
export function embedded(tree: Tree): Embedded | undefined {
  if (!isObject(tree)) {
    return undefined;
  }
  const [[format, value] = [], ...others] = Object.entries(tree);
  if (typeof value !== "string" || others.length > 0) {
    return undefined;
  }
  switch (format) {
    case "json":
      return { format, content: base64Decode(value) };
    case "yaml":
      return { format, content: value };
    case "rawYaml":
      return { format: "yaml", content: base64Decode(value) };
    default:
      return undefined;
  }
}

/** formatsOf returns the formats of all documents in a message. */
export function formatsOf(tree: Tree): Set<Format> {
  const document = embedded(tree);
  if (document !== undefined) {
    return new Set([document.format]);
  }
  const parts = Array.isArray(tree) ? tree : isObject(tree) ? Object.values(tree) : [];
  return new Set(parts.flatMap((part) => [...formatsOf(part)]));
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * textOf returns the text of a document for a body. It fails with a SyntaxError if the document cannot be part of a
 * body: JSON that is not one value, YAML with directives or several documents. In a body, such a text would change
 * other items.
 */
export function textOf(document: Embedded): string {
  let text: string;
  try {
    text = typeof document.content === "string" ? document.content : decoder.decode(document.content);
  } catch {
    throw new SyntaxError("the document is not UTF-8");
  }
  if (document.format === "json") {
    const reader = new JsonReader(text);
    reader.value();
    reader.end();
    return text;
  }
  text = text.replace(/^((?:[ \t]*(?:#.*)?\r?\n)*)---[ \t]*(?=\r?\n|$)/, "$1#");
  if (/^(?:---|\.\.\.)(?:\s|$)|^%/m.test(text)) {
    throw new SyntaxError("over REST, a YAML document must not have directives or markers of further documents");
  }
  return text;
}

/** BodyWriter writes a message as a body in one format. Documents become parts of the body, on lines of their own. */
export class BodyWriter {
  /** The places of documents, by path: `items.0.object`. */
  readonly origins = new Map<string, Origin>();
  private readonly parts: string[] = [];
  private line = 1;
  private offset = 0;

  constructor(private readonly format: Format) {}

  write(tree: Tree): string {
    if (this.format === "json") {
      this.json(tree, "");
    } else {
      this.yaml(tree, "", "");
    }
    return this.parts.join("");
  }

  private json(tree: Tree, path: string): void {
    const document = embedded(tree);
    if (document !== undefined) {
      this.add("\n");
      this.origins.set(path, { line: this.line, offset: this.offset, indent: 0 });
      this.add(textOf(document));
    } else if (Array.isArray(tree)) {
      tree.forEach((element, i) => {
        this.add(i === 0 ? "[" : ",");
        this.json(element, join(path, i));
      });
      this.add(tree.length === 0 ? "[]" : "]");
    } else if (isObject(tree)) {
      const members = Object.entries(tree);
      members.forEach(([key, member], i) => {
        this.add(`${i === 0 ? "{" : ","}${JSON.stringify(key)}:`);
        this.json(member, join(path, key));
      });
      this.add(members.length === 0 ? "{}" : "}");
    } else {
      this.add(JSON.stringify(tree));
    }
  }

  /** yaml writes a value after the text of its key. It ends with a line feed. */
  private yaml(tree: Tree, path: string, indent: string): void {
    const document = embedded(tree);
    if (document !== undefined) {
      this.add("\n");
      this.origins.set(path, { line: this.line, offset: this.offset, indent: indent.length });
      // A further line would be part of a literal text with the indicator + at the end of the document.
      this.add(textOf(document).replace(/(^|\n)(?!$)/g, `$1${indent}`).replace(/\n?$/, "\n"));
    } else if (Array.isArray(tree) && tree.length > 0) {
      this.add("\n");
      tree.forEach((element, i) => {
        this.add(`${indent}-`);
        this.yaml(element, join(path, i), `${indent}  `);
      });
    } else if (isObject(tree) && Object.keys(tree).length > 0) {
      this.add("\n");
      for (const [key, member] of Object.entries(tree)) {
        this.add(`${indent}${JSON.stringify(key)}:`);
        this.yaml(member, join(path, key), `${indent}  `);
      }
    } else {
      this.add(` ${JSON.stringify(tree)}\n`);
    }
  }

  private add(text: string): void {
    this.parts.push(text);
    this.offset += new TextEncoder().encode(text).length;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
      this.line++;
    }
  }
}

function join(path: string, key: string | number): string {
  return path === "" ? String(key) : `${path}.${key}`;
}

/** isObject reports whether a value of protobuf's JSON is an object. */
export function isObject(tree: Tree | undefined): tree is { [key: string]: Tree } {
  return typeof tree === "object" && tree !== null && !Array.isArray(tree);
}
