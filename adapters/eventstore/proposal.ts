import { MAX_APPEND_BYTES, NO_STREAM, type ProposedEvent, TooLarge } from "./port.ts"

/** Longer stream names are refused: a store has to hold them in an index. */
const MAX_STREAM_NAME_BYTES = 1024

/** The highest revision a stream can reach: what four signed bytes hold. */
export const MAX_REVISION = 2_147_483_647

/** What is to be appended. */
export interface AppendProposal {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expectedRevision: number
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/**
 * Refuses an append that no store could keep unchanged, before anything is sent. Answers how
 * many bytes of `MAX_APPEND_BYTES` it takes.
 *
 * PostgreSQL cannot hold U+0000 in text, and a lone surrogate has no UTF-8: a store would replace it
 * in silence, and the stored text would no longer be the hashed one. In JSON both are escapes, so
 * nothing that was made by `JSON.stringify` is refused here. UUIDs in upper case would come back in
 * lower case for the same reason.
 *
 * @throws RangeError, TooLarge
 */
export function checkProposal(
  stream: string,
  events: readonly ProposedEvent[],
  expectedRevision: number,
): number {
  if (events.length === 0) throw new RangeError("an append needs at least one event")
  if (stream === "") throw new RangeError("an append needs the name of a stream")
  if (stream.startsWith("$")) throw new RangeError("a name with $ is the event store's own")
  checkText("the name of a stream", stream)
  if (Buffer.byteLength(stream) > MAX_STREAM_NAME_BYTES) {
    throw new RangeError(`the name of a stream is over ${MAX_STREAM_NAME_BYTES} bytes`)
  }
  if (!Number.isInteger(expectedRevision) || expectedRevision < NO_STREAM) {
    throw new RangeError(`${expectedRevision} is not the revision of a stream`)
  }
  if (expectedRevision + events.length > MAX_REVISION) {
    throw new RangeError(`a stream ends at revision ${MAX_REVISION}`)
  }
  let bytes = 0
  for (const event of events) {
    if (!UUID.test(event.id)) throw new RangeError(`not a UUID in lower case: ${event.id}`)
    if (event.type === "") throw new RangeError("an event needs a type")
    checkText("the type of an event", event.type)
    checkText("the data of an event", event.data)
    checkText("the metadata of an event", event.metadata)
    bytes += Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata)
    bytes += 2 * event.type.length
  }
  if (bytes > MAX_APPEND_BYTES) {
    throw new TooLarge(`stream ${stream}: ${bytes} bytes in one append, over ${MAX_APPEND_BYTES}`)
  }
  return bytes
}

function checkText(what: string, text: string): void {
  if (text.includes("\0")) throw new RangeError(`${what} holds U+0000`)
  if (!text.isWellFormed()) throw new RangeError(`${what} holds a lone surrogate`)
}

/** Refuses a limit or a revision to read from that means nothing. @throws RangeError */
export function checkRange(range: { readonly from?: number; readonly limit?: number }): void {
  const { from, limit } = range
  if (from !== undefined && !(Number.isInteger(from) && from >= 0)) {
    throw new RangeError(`a stream has no revision ${from}`)
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1)) {
    throw new RangeError(`a limit of ${limit} events reads nothing`)
  }
}
