import type { ObjectItem, WriteItem } from "./gen/crdeval/v1/evaluation_pb.js";
import type { DocumentInput, Write } from "./document.js";

/** Source has the items of a stream. */
export type Source = Iterable<DocumentInput | Write> | AsyncIterable<DocumentInput | Write>;

/** The limits of one message of a stream. */
const itemsAtOnce = 100;
const bytesAtOnce = 1 << 20;

/** Sender reads the items of a stream in batches: those that are ready together, up to the limits of a message. */
export class Sender<I extends WriteItem | ObjectItem> {
  /** The error of the source, which ends the stream. */
  error: { cause: unknown } | undefined;

  constructor(
    private readonly source: Source,
    private readonly toItem: (input: DocumentInput | Write) => I,
  ) {}

  async *batches(): AsyncGenerator<I[], void, undefined> {
    try {
      yield* this.read();
    } catch (cause) {
      this.error = { cause };
      throw cause;
    }
  }

  private async *read(): AsyncGenerator<I[], void, undefined> {
    const iterator = iteratorOf(this.source);
    let ended = false;
    try {
      let next = Promise.resolve(iterator.next());
      for (;;) {
        const batch: I[] = [];
        let bytes = 0;
        for (;;) {
          const item = batch.length === 0 ? await next : await Promise.race([next, nextTurn()]);
          if (item === undefined) {
            break; // the next item is not ready
          }
          if (item.done) {
            ended = true;
            if (batch.length > 0) {
              yield batch;
            }
            return;
          }
          const message = this.toItem(item.value);
          batch.push(message);
          bytes += itemBytes(message);
          next = Promise.resolve(iterator.next());
          if (batch.length === itemsAtOnce || bytes >= bytesAtOnce) {
            break;
          }
        }
        next.catch(() => undefined); // the next turn of the loop receives the error
        yield batch;
      }
    } catch (error) {
      ended = true;
      throw error;
    } finally {
      if (!ended) {
        await iterator.return?.();
      }
    }
  }
}

function iteratorOf(source: Source): Iterator<DocumentInput | Write> | AsyncIterator<DocumentInput | Write> {
  return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
}

function nextTurn(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, 0, undefined));
}

/** itemBytes returns about the size of an item. */
export function itemBytes(item: ObjectItem | WriteItem): number {
  const write = "write" in item ? item.write.value : item;
  const documents = [
    write && "object" in write ? write.object : undefined,
    write && "oldObject" in write ? write.oldObject : undefined,
    write && "patch" in write ? write.patch : undefined,
  ];
  return documents.reduce((bytes, d) => bytes + (d?.content.value?.length ?? 0), 100);
}
