// JSON without loss of integers: JSON.parse and JSON.stringify know only float64 numbers.

/** JsonValue is a parsed JSON value. Integers that a number cannot represent exactly are bigint. */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | { [key: string]: JsonValue };

/** JsonSyntaxError is the error of a text that is not one JSON value. */
export class JsonSyntaxError extends SyntaxError {
  override readonly name = "JsonSyntaxError";
  constructor(
    message: string,
    /** The line of the error, from 1. */
    readonly line: number,
    /** The column of the error, from 1, in Unicode code points. */
    readonly column: number,
  ) {
    super(`line ${line}, column ${column}: ${message}`);
  }
}

/**
 * parseJson parses a JSON text. Integers beyond 2^53 become bigint, other numbers become number. Therefore 1.0
 * becomes 1: if the difference matters, use the text. Of duplicate keys, the last one counts.
 */
export function parseJson(text: string): JsonValue {
  const reader = new JsonReader(text);
  const value = reader.value();
  reader.end();
  return value;
}

/**
 * stringifyJson returns a value as JSON. A bigint becomes an integer. Properties with the value undefined are left
 * out, and toJSON methods are called, as JSON.stringify does. Other values without a JSON form are a TypeError.
 */
export function stringifyJson(value: unknown): string {
  const text = write(value);
  if (text === undefined) {
    throw new TypeError(`a value of type ${typeof value} has no JSON form`);
  }
  return text;
}

function write(value: unknown): string | undefined {
  if (typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function") {
    value = value.toJSON();
  }
  switch (typeof value) {
    case "undefined":
      return undefined;
    case "bigint":
      return value.toString();
    case "number":
      if (!Number.isFinite(value)) {
        throw new TypeError(`the number ${value} has no JSON form`);
      }
      return JSON.stringify(value);
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "object":
      break;
    default:
      throw new TypeError(`a value of type ${typeof value} has no JSON form`);
  }
  if (value === null) {
    return "null";
  }
  if (Array.isArray(value)) {
    return `[${value.map((element) => write(element) ?? "null").join(",")}]`;
  }
  const members = [];
  for (const [key, member] of Object.entries(value)) {
    const text = write(member);
    if (text !== undefined) {
      members.push(`${JSON.stringify(key)}:${text}`);
    }
  }
  return `{${members.join(",")}}`;
}

interface Open {
  readonly value: JsonValue[] | { [key: string]: JsonValue };
  key: string;
}

const string = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const number = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const literal = /true|false|null/y;

/** JsonReader reads JSON values from a text, without recursion. */
export class JsonReader {
  pos = 0;
  constructor(readonly text: string) {}

  /** value reads one value. */
  value(): JsonValue {
    const open: Open[] = [];
    for (;;) {
      const first = this.peek();
      let value: JsonValue;
      if (first === "{" || first === "[") {
        this.pos++;
        const container: JsonValue[] | { [key: string]: JsonValue } = first === "{" ? {} : [];
        if (this.peek() !== (first === "{" ? "}" : "]")) {
          open.push({ value: container, key: first === "{" ? this.key() : "" });
          continue;
        }
        this.pos++;
        value = container;
      } else {
        value = this.scalar();
      }
      for (;;) {
        const parent = open.at(-1);
        if (parent === undefined) {
          return value;
        }
        add(parent, value);
        const list = Array.isArray(parent.value);
        if (this.take(",")) {
          if (!list) {
            parent.key = this.key();
          }
          break;
        }
        this.expect(list ? "]" : "}");
        open.pop();
        value = parent.value;
      }
    }
  }

  /** raw reads one value and returns its text. */
  raw(): string {
    this.peek();
    const start = this.pos;
    this.value();
    return this.text.slice(start, this.pos);
  }

  /** key reads the name of a member and the colon after it. */
  key(): string {
    this.peek();
    const name = JSON.parse(this.match(string, "the name of a member is expected")) as string;
    this.expect(":");
    return name;
  }

  /** peek skips white space and returns the next character, or "" at the end. */
  peek(): string {
    while (" \t\r\n".includes(this.text[this.pos] ?? "end")) {
      this.pos++;
    }
    return this.text[this.pos] ?? "";
  }

  /** take skips a character if it is next. */
  take(character: string): boolean {
    if (this.peek() !== character) {
      return false;
    }
    this.pos++;
    return true;
  }

  /** expect skips a character, which must be next. */
  expect(character: string): void {
    if (!this.take(character)) {
      this.fail(`${JSON.stringify(character)} is expected`);
    }
  }

  /** end fails unless the text is read to its end. */
  end(): void {
    if (this.peek() !== "") {
      this.fail("there is text after the value");
    }
  }

  private scalar(): JsonValue {
    const first = this.peek();
    if (first === '"') {
      return JSON.parse(this.match(string, "the string is invalid")) as string;
    }
    if (first === "-" || (first >= "0" && first <= "9")) {
      const text = this.match(number, "the number is invalid");
      const value = Number(text);
      return /^-?[0-9]+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
    }
    return JSON.parse(
      this.match(literal, first === "" ? "the text ends too early" : "a value is expected"),
    ) as JsonValue;
  }

  private match(pattern: RegExp, message: string): string {
    pattern.lastIndex = this.pos;
    const found = pattern.exec(this.text);
    if (found === null) {
      this.fail(message);
    }
    this.pos = pattern.lastIndex;
    return found[0];
  }

  private fail(message: string): never {
    const before = this.text.slice(0, this.pos).split("\n");
    throw new JsonSyntaxError(message, before.length, [...(before.at(-1) ?? "")].length + 1);
  }
}

function add(parent: Open, value: JsonValue): void {
  if (Array.isArray(parent.value)) {
    parent.value.push(value);
  } else if (parent.key === "__proto__") {
    Object.defineProperty(parent.value, parent.key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    parent.value[parent.key] = value;
  }
}

/** JsonText is a JSON value as text, with all digits of its numbers. */
export class JsonText {
  constructor(
    /** The text, exactly as the server sent it. */
    readonly text: string,
  ) {}

  /** parse returns the value. Integers beyond 2^53 are bigint; see parseJson. */
  parse(): JsonValue {
    return parseJson(this.text);
  }

  toString(): string {
    return this.text;
  }
}
