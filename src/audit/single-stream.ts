/** Reads streams one by one, the way commands read them. */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { AccessDenied, CorruptStream } from "../../adapters/eventstore/port.ts"
import type { AuditedCheckpoint, AdminPorts } from "../frame/operator/operation.ts"
import type { ChainEnd } from "../frame/writer/runner/load.ts"
import { CHAIN_START, nextHash } from "../frame/writer/runner/load.ts"
import type { Discrepancy, ProgressMeter } from "./findings.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { CheckpointFormat } from "../../domain/kernel/decider.ts"

/** How many streams are opened concurrently. */
const CONCURRENT_STREAMS = 64

type Page = IteratorResult<readonly StoredEvent[], unknown>

/** A stream whose first page was read. */
export interface OpenedStream {
  readonly stream: string
  readonly checkpoint: AuditedCheckpoint | null
  /** Returns the first page. @throws CorruptStream, AccessDenied if the store denies the stream */
  readonly first: () => Page
  readonly rest: AsyncIterator<readonly StoredEvent[]>
}

/**
 * Opens streams in this order, each with its checkpoint; the next ones are opened while the caller
 * works. A stream's read ends before the next one is yielded, and all end when the caller stops.
 *
 * @throws Unavailable, AccessDenied if no stream can be read, and the signal's reason
 */
export async function* openStreams(
  ports: Pick<AuditPorts, "store" | "checkpointOf">,
  names: Iterator<string, unknown>,
  signal: AbortSignal,
): AsyncGenerator<OpenedStream> {
  const reads = new Set<OpenedStream["rest"]>()
  const end = async (rest: OpenedStream["rest"]) => {
    reads.delete(rest)
    await rest.return?.()
  }
  const openNext = (): Promise<readonly OpenedStream[]> => {
    const opening: Promise<OpenedStream>[] = []
    while (opening.length < CONCURRENT_STREAMS) {
      const { done, value } = names.next()
      if (done === true) break
      const rest = ports.store.read(value)[Symbol.asyncIterator]()
      reads.add(rest)
      opening.push(openStream(ports, value, rest))
    }
    const all = Promise.all(opening)
    // It is awaited after the streams before it, or never if one of them fails.
    all.catch(() => undefined)
    return all
  }
  try {
    let next = openNext()
    for (;;) {
      const opened = await next
      if (opened.length === 0) return
      next = openNext()
      // Work without a pause would keep the next request from being sent.
      await new Promise(setImmediate)
      for (const one of opened) {
        signal.throwIfAborted()
        yield one
        await end(one.rest)
      }
    }
  } finally {
    // An unfinished read keeps its call to the server open.
    await Promise.all([...reads].map(end))
  }
}

async function openStream(
  { store, checkpointOf }: Pick<AuditPorts, "store" | "checkpointOf">,
  stream: string,
  rest: OpenedStream["rest"],
): Promise<OpenedStream> {
  const [checkpoint, first] = await Promise.all([checkpointOf(stream), readFirstPage(store, rest)])
  return { stream, checkpoint, first, rest }
}

/** Reads the first page. An error about this stream is kept for its reader. */
async function readFirstPage(
  store: AuditPorts["store"],
  pages: AsyncIterator<readonly StoredEvent[]>,
): Promise<OpenedStream["first"]> {
  try {
    const page = await pages.next()
    return () => page
  } catch (error) {
    // If the store denies everything, it denies its head too.
    if (error instanceof AccessDenied) await store.head()
    else if (!(error instanceof CorruptStream)) throw error
    return () => {
      throw error
    }
  }
}

/**
 * Passes on a stream's events up to the end found in global order, and returns the first
 * discrepancy; null if there is none. Newer events may exist: `last` is the last revision that was
 * read.
 *
 * @param end the end of the stream in global order
 * @param isBroken whether its chain is known to be broken: then it is passed on unchecked
 * @throws Unavailable if it cannot be read
 */
export async function readSingleStream(
  { stream, first, rest }: OpenedStream,
  end: ChainEnd,
  isBroken: boolean,
  take: (stored: StoredEvent) => void,
): Promise<{ readonly discrepancy: Discrepancy | null; readonly last: number }> {
  let reached = CHAIN_START
  try {
    for (let page = first(); page.done !== true; page = await rest.next()) {
      for (const stored of page.value) {
        const { revision } = stored
        reached = { revision, hash: isBroken ? end.hash : nextHash(stored, reached) }
        if (revision <= end.revision) take(stored)
        if (revision !== end.revision || reached.hash === end.hash) continue
        const found = `the hash ${reached.hash}`
        const discrepancy = { stream, revision, expected: `the hash ${end.hash}`, found }
        return { discrepancy, last: revision }
      }
    }
  } catch (error) {
    if (error instanceof CorruptStream)
      return { discrepancy: error.corruption, last: reached.revision }
    if (!(error instanceof AccessDenied)) throw error
    const found = "that the event store denies reading it"
    const discrepancy = { stream, revision: reached.revision + 1, expected: "its facts", found }
    return { discrepancy, last: reached.revision }
  }
  if (isBroken || reached.revision >= end.revision)
    return { discrepancy: null, last: reached.revision }
  const expected = `the fact that the global order has; it ends at revision ${end.revision}`
  const discrepancy = { stream, revision: reached.revision + 1, expected, found: "nothing" }
  return { discrepancy, last: reached.revision }
}

/** The scope of an audit, and its progress meters. */
export interface AuditScope {
  /** Null for everything. */
  readonly companyId: CompanyId | null
  /**
   * A hash that an auditor wrote down: of an event, or the root of a signed head; null for none.
   */
  readonly head: string | null
  readonly meters: {
    /** Progress of reading all streams, by position in the global order. */
    readonly all: ProgressMeter
    /** Progress of reading each stream, by the share that is done, from 0 to 1. */
    readonly each: (share: () => number) => ProgressMeter
  }
  readonly signal: AbortSignal
}

export interface AuditPorts extends Pick<
  AdminPorts,
  "store" | "streams" | "streamOfIntent" | "readAllStreams" | "checkpointOf" | "signing"
> {
  readonly treeHeads: Pick<AdminPorts["treeHeads"], "list">
  readonly jobs: Pick<AdminPorts["jobs"], "listNames">
}

interface CheckpointFault {
  readonly expected: string
  readonly found: string
}

/**
 * Finds the first wrong value of a checkpoint; null if there is none, or its format is not the
 * current one, because then it is never loaded.
 *
 * @param hash of the event at the checkpoint
 */
export function checkpointFault<S>(
  { format: savedFormat, hash: savedHash, text }: AuditedCheckpoint,
  format: CheckpointFormat<S>,
  state: S,
  hash: string,
): CheckpointFault | null {
  if (savedFormat !== format.version) return null
  if (savedHash !== hash) return { expected: `the hash ${hash}`, found: `the hash ${savedHash}` }
  try {
    const saved = format.save(format.load(JSON.parse(text)))
    return firstDifference(
      canonicalize(asJson(format.save(state))),
      canonicalize(asJson(saved)),
      "",
    )
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { expected: "the folded state", found: `it cannot be loaded: ${why}` }
  }
}

/** The value as JSON stores it. */
const asJson = (saved: unknown): unknown => JSON.parse(JSON.stringify(saved) ?? "null")

/** Finds the first differing value, by name. */
function firstDifference(expected: unknown, found: unknown, path: string): CheckpointFault | null {
  const [a, b] = [JSON.stringify(expected), JSON.stringify(found)]
  if (a === b) return null
  if (!isObject(expected) || !isObject(found)) {
    const describe = (text: string | undefined) => `${path || "the state"} ${text ?? "missing"}`
    return { expected: describe(a), found: describe(b) }
  }
  for (const name of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const childPath = path === "" ? name : `${path}.${name}`
    const difference = firstDifference(expected[name], found[name], childPath)
    if (difference !== null) return difference
  }
  return { expected: `${path} ${a}`, found: `${path} ${b}` }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null
}

/**
 * A value that is equal for equal states, whatever the insertion order of their maps and objects.
 */
function canonicalize(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = value.map(canonicalize)
    if (items.length === 0 || !items.every(isRow)) return items
    const sorted = items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    return byKey(sorted) ?? sorted
  }
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, item]) => [key, canonicalize(item)]))
}

/** Turns pairs into an object, so that each value has a name; null if they are not pairs. */
function byKey(rows: readonly unknown[]): Readonly<Record<string, unknown>> | null {
  const pairs = rows.filter(
    (row): row is [string, unknown] => Array.isArray(row) && row.length === 2,
  )
  const table = Object.fromEntries(pairs.map(([key, value]) => [`[${key}]`, value]))
  return Object.keys(table).length === rows.length ? table : null
}

/**
 * Whether an item is a row of a table stored as a list: an object, or a pair that begins with its
 * key.
 */
function isRow(item: unknown): boolean {
  if (Array.isArray(item)) return typeof item[0] === "string"
  return typeof item === "object" && item !== null
}
