/** Reading streams by themselves, as they are read when something is decided on them. */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { AccessDenied, CorruptStream } from "../../adapters/eventstore/port.ts"
import type { AuditedCheckpoint, AdminPorts } from "../frame/operator/operation.ts"
import type { ChainEnd } from "../frame/writer/runner/load.ts"
import { CHAIN_START, nextHash } from "../frame/writer/runner/load.ts"
import type { Discrepancy, ProgressMeter } from "./findings.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { CheckpointFormat } from "../../domain/kernel/decider.ts"

/** So many streams are opened together: a store can answer for all of them at once. */
const CONCURRENT_STREAMS = 64

type Page = IteratorResult<readonly StoredEvent[], unknown>

/** A stream whose first page is here. */
export interface OpenedStream {
  readonly stream: string
  readonly checkpoint: AuditedCheckpoint | null
  /** Gives the first page. @throws CorruptStream, AccessDenied where the store does not show the stream */
  readonly first: () => Page
  readonly rest: AsyncIterator<readonly StoredEvent[]>
}

/**
 * Opens streams in this order, with what is kept of each. While some are worked on, the next ones come.
 * The read of each stream ends before the next one is given, and all of them when the caller stops.
 *
 * @throws Unavailable, AccessDenied where no stream can be read, and the signal's reason
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
    // It is awaited once the streams before it are done with, or never where one of those fails.
    all.catch(() => undefined)
    return all
  }
  try {
    let next = openNext()
    for (;;) {
      const opened = await next
      if (opened.length === 0) return
      next = openNext()
      // Work without a pause would keep the next question from being sent.
      await new Promise(setImmediate)
      for (const one of opened) {
        signal.throwIfAborted()
        yield one
        await end(one.rest)
      }
    }
  } finally {
    // A read that is left open keeps its call to the server open.
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

/** Reads the first page. What the store says of a stream that it does not show is kept for its reader. */
async function readFirstPage(
  store: AuditPorts["store"],
  pages: AsyncIterator<readonly StoredEvent[]>,
): Promise<OpenedStream["first"]> {
  try {
    const page = await pages.next()
    return () => page
  } catch (error) {
    // Where the store denies everything, its head is denied as well.
    if (error instanceof AccessDenied) await store.head()
    else if (!(error instanceof CorruptStream)) throw error
    return () => {
      throw error
    }
  }
}

/**
 * Hands over a stream's events up to where it was found to go among all, and answers the first place at
 * which it is not whole, or not the same; null where it is. More may have come since: `last` is the last
 * revision that is there.
 *
 * @param end how far it was found to go
 * @param isBroken whether its chain is known to be broken: then it is only handed over
 * @throws Unavailable where it cannot be read
 */
export async function readSingleStream(
  { stream, first, rest }: OpenedStream,
  end: ChainEnd,
  isBroken: boolean,
  take: (stored: StoredEvent) => void,
): Promise<{ readonly place: Discrepancy | null; readonly last: number }> {
  let reached = CHAIN_START
  try {
    for (let page = first(); page.done !== true; page = await rest.next()) {
      for (const stored of page.value) {
        const { revision } = stored
        reached = { revision, hash: isBroken ? end.hash : nextHash(stored, reached) }
        if (revision <= end.revision) take(stored)
        if (revision !== end.revision || reached.hash === end.hash) continue
        const found = `the hash ${reached.hash}`
        const place = { stream, revision, expected: `the hash ${end.hash}`, found }
        return { place, last: revision }
      }
    }
  } catch (error) {
    if (error instanceof CorruptStream) return { place: error.corruption, last: reached.revision }
    if (!(error instanceof AccessDenied)) throw error
    const found = "that the event store denies reading it"
    const place = { stream, revision: reached.revision + 1, expected: "its facts", found }
    return { place, last: reached.revision }
  }
  if (isBroken || reached.revision >= end.revision) return { place: null, last: reached.revision }
  const expected = `the fact that it has among all streams, which go on to ${end.revision}`
  const place = { stream, revision: reached.revision + 1, expected, found: "nothing" }
  return { place, last: reached.revision }
}

/** What is audited, and how its operator hears of it. */
export interface AuditScope {
  /** Null for everything. */
  readonly companyId: CompanyId | null
  /** A hash that an auditor noted: of an event, or the root of a signed head; null for none. */
  readonly head: string | null
  readonly meters: {
    /** Of reading all streams, by the place in the global order. */
    readonly all: ProgressMeter
    /** Of reading each stream by itself, by the share that is done, from 0 to 1. */
    readonly each: (share: () => number) => ProgressMeter
  }
  readonly signal: AbortSignal
}

/** What an audit reads beside the events. */
export interface AuditPorts extends Pick<
  AdminPorts,
  "store" | "streams" | "streamOfIntent" | "readAllStreams" | "checkpointOf" | "signing"
> {
  readonly treeHeads: Pick<AdminPorts["treeHeads"], "list">
  readonly jobs: Pick<AdminPorts["jobs"], "listNames">
}

/** What a checkpoint should say, and what it says. */
interface CheckpointFault {
  readonly expected: string
  readonly found: string
}

/**
 * The first thing that a checkpoint says wrongly; null where it says nothing wrong, or is of another
 * shape and never read.
 *
 * @param hash of the event that it is of
 */
export function checkpointFault<S>(
  { format: savedFormat, hash: kept, text }: AuditedCheckpoint,
  form: CheckpointFormat<S>,
  state: S,
  hash: string,
): CheckpointFault | null {
  if (savedFormat !== form.version) return null
  if (kept !== hash) return { expected: `the hash ${hash}`, found: `the hash ${kept}` }
  try {
    const saved = form.save(form.load(JSON.parse(text)))
    return firstDifference(canonicalize(asJson(form.save(state))), canonicalize(asJson(saved)), "")
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { expected: "what folding gives", found: `it cannot be loaded: ${why}` }
  }
}

/** As it is kept: what JSON leaves out is not there. */
const asJson = (saved: unknown): unknown => JSON.parse(JSON.stringify(saved) ?? "null")

/** The first place, by name, where two values differ, with both. */
function firstDifference(expected: unknown, found: unknown, path: string): CheckpointFault | null {
  const [a, b] = [JSON.stringify(expected), JSON.stringify(found)]
  if (a === b) return null
  if (!isObject(expected) || !isObject(found)) {
    const say = (text: string | undefined) => `${path || "the state"} ${text ?? "nowhere"}`
    return { expected: say(a), found: say(b) }
  }
  for (const name of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const place = path === "" ? name : `${path}.${name}`
    const difference = firstDifference(expected[name], found[name], place)
    if (difference !== null) return difference
  }
  return { expected: `${path} ${a}`, found: `${path} ${b}` }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null
}

/** A value that is equal for equal states, whatever order their maps and objects were filled in. */
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

/** Pairs by their keys, so that a place in them has a name; null where they are none. */
function byKey(rows: readonly unknown[]): Readonly<Record<string, unknown>> | null {
  const pairs = rows.filter(
    (row): row is [string, unknown] => Array.isArray(row) && row.length === 2,
  )
  const table = Object.fromEntries(pairs.map(([key, value]) => [`[${key}]`, value]))
  return Object.keys(table).length === rows.length ? table : null
}

/** A row of a table that is kept as a list: an object, or a pair that begins with its key. */
function isRow(item: unknown): boolean {
  if (Array.isArray(item)) return typeof item[0] === "string"
  return typeof item === "object" && item !== null
}
