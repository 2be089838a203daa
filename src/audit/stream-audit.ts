/**
 * Audits the stored streams in two passes and trusts nothing but the stored text. The first pass
 * reads all streams in global order and checks hashes, revisions and signed heads; it keeps only
 * the end of each chain. The second pass reads each stream by itself, as commands do, and replays
 * it; it keeps one state at a time.
 */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { isDeletionMark, formatRevision, NO_STREAM } from "../../adapters/eventstore/port.ts"
import { LEDGER_AGGREGATE } from "../../domain/charging/aggregates.ts"
import { categoryOf, companyOfStream } from "../../domain/kernel/aggregate.ts"
import { expectedHash, hashOfMetadata, NO_HASH } from "../frame/kernel/envelope.ts"
import type { ForeignStreams } from "../frame/writer/streams.ts"
import { ForeignStreamCounter } from "../frame/writer/streams.ts"
import type { AuditPorts, AuditScope, OpenedStream } from "./single-stream.ts"
import { openStreams, readSingleStream } from "./single-stream.ts"
import type { PendingChargeRef } from "./cross-checks.ts"
import { StreamReplay } from "./stream-replay.ts"
import type { AuditCheck, Discrepancy, AuditRule } from "./findings.ts"
import { AuditFindings, withProgress } from "./findings.ts"
import { SignedHeadCheck } from "./signed-head-check.ts"
import type { SkippedCheck, StreamAuditCounts } from "./expected-streams.ts"
import { ExpectedStreams, hasRevision, coverageTexts, skippedChecks } from "./expected-streams.ts"

interface StreamAuditResult {
  readonly checks: readonly AuditCheck[]
  /** The first discrepancy, in reading order. */
  readonly firstBroken: (Discrepancy & { readonly check: string }) | null
  readonly streams: number
  readonly events: number
  /** Streams of other programs in the same store; they are not checked. */
  readonly foreignStreams: ForeignStreams
  readonly skipped: readonly SkippedCheck[]
  /** The last hash of each company's ledger. */
  readonly heads: Readonly<Record<string, string>>
  readonly pendingCharges: readonly PendingChargeRef[]
}

const CHECKPOINT_RULE = "checkpoints match the folded state"

/**
 * Checks all streams, or those of one company. Streams of other programs are only counted.
 *
 * @throws an error of a store that cannot be reached, and the signal's reason
 */
export async function auditStreams(
  ports: AuditPorts,
  scope: AuditScope,
): Promise<StreamAuditResult> {
  const { companyId, head } = scope
  const audit = new StreamAudit(ports, scope, await SignedHeadCheck.load(ports, companyId, head))
  await audit.readInGlobalOrder()
  await audit.readStreamByStream()
  return audit.finish()
}

class StreamAudit {
  readonly #foreignStreams = new ForeignStreamCounter()
  readonly #ports: AuditPorts
  readonly #scope: AuditScope
  readonly #chains = new StreamChains()
  readonly #findings = new AuditFindings()
  readonly #heads: SignedHeadCheck
  readonly #expectedStreams: ExpectedStreams
  readonly #pendingCharges: PendingChargeRef[] = []
  readonly #counts: StreamAuditCounts = {
    broken: 0,
    olderFormats: 0,
    withHead: 0,
    withoutHead: 0,
    withCheckpoint: 0,
    withoutCheckpoint: 0,
  }
  #events = 0

  constructor(ports: AuditPorts, scope: AuditScope, heads: SignedHeadCheck) {
    this.#ports = ports
    this.#scope = scope
    this.#heads = heads
    this.#expectedStreams = new ExpectedStreams(ports.streamOfIntent, scope.companyId, (stream) => {
      const number = this.#chains.numberOf(stream)
      return number === undefined ? null : this.#chains.revisionOf(number)
    })
  }

  /** The first pass: all streams in global order. */
  async readInGlobalOrder(): Promise<void> {
    const { streams, store, readAllStreams } = this.#ports
    const { companyId, meters, signal } = this.#scope
    const pages =
      companyId === null
        ? readAllStreams()
        : store.readAll({ prefixes: streams.prefixesOf(companyId), isSelective: true })
    for await (const page of withProgress(pages, meters.all, signal)) {
      for (const stored of page) {
        if (!streams.isOwn(stored.stream)) this.#foreignStreams.count(stored)
        else if (companyId === null || companyOfStream(stored.stream) === companyId)
          this.#take(stored)
      }
    }
  }

  /** The second pass: each stream by itself. */
  async readStreamByStream(): Promise<void> {
    const { meters, signal } = this.#scope
    let read = 0
    const meter = meters.each(() => read / this.#events)
    for await (const opened of openStreams(this.#ports, this.#chains.names(), signal)) {
      const events = await this.#readOne(opened)
      read += events
      meter.advance(null, events)
    }
  }

  async finish(): Promise<StreamAuditResult> {
    await this.#expectedStreams.reportMissing(this.#ports, (discrepancy) => {
      this.#findings.add("no stream is missing", discrepancy)
    })
    this.#heads.reportDiscrepancies((discrepancy) =>
      this.#findings.add("signed heads belong to this history", discrepancy),
    )
    const chains = this.#chains
    const ledgers = [...chains.names()].filter(
      (stream) => categoryOf(stream) === LEDGER_AGGREGATE.category,
    )
    return {
      checks: this.#findings.checks(`${this.#events} events`, coverageTexts(this.#counts)),
      firstBroken: this.#findings.first(),
      streams: chains.size,
      foreignStreams: this.#foreignStreams.totals,
      skipped: skippedChecks(this.#counts, this.#scope.companyId),
      events: this.#events,
      heads: Object.fromEntries(
        ledgers.map((stream) => [stream, chains.hashOf(chains.numberOf(stream) as number)]),
      ),
      pendingCharges: this.#pendingCharges,
    }
  }

  #take(stored: StoredEvent): void {
    this.#events += 1
    const chains = this.#chains
    const { stream, revision } = stored
    const number = chains.numberOf(stream) ?? this.#firstSeen(stream)
    const next = chains.revisionOf(number) + 1
    if (isDeletionMark(stored)) {
      const found = formatRevision(revision)
      this.#breaks(number, "revisions have no gap", {
        stream,
        revision: next,
        expected: `${next}`,
        found,
      })
      return
    }
    if (revision !== next) {
      const discrepancy = { stream, revision, expected: `${next}`, found: `${revision}` }
      this.#breaks(number, "revisions have no gap", discrepancy)
    }
    const expected = expectedHash(stored, chains.hashOf(number))
    const found = hashOfMetadata(stored.metadata)
    if (found !== expected) {
      const discrepancy = { stream, revision, expected, found: found ?? "none" }
      this.#breaks(number, "hashes chain", discrepancy)
    }
    chains.setRevision(number, revision)
    // Without a readable hash, the next event is checked against the hash this one should have.
    chains.setHash(number, found ?? expected)
    this.#heads.add(stream, revision, found ?? expected)
  }

  #firstSeen(stream: string): number {
    if (this.#heads.hasHeadFor(stream)) this.#counts.withHead += 1
    else this.#counts.withoutHead += 1
    return this.#chains.add(stream)
  }

  #breaks(number: number, rule: AuditRule, discrepancy: Discrepancy): void {
    if (!this.#chains.isBroken(number)) this.#counts.broken += 1
    this.#chains.markBroken(number)
    this.#findings.add(rule, discrepancy)
  }

  /**
   * Replays a stream as it is read by itself, and returns its number of events. If it differs from
   * the global order, it is replayed in that order too: a store may hide events from one of the
   * reads.
   */
  async #readOne(opened: OpenedStream): Promise<number> {
    const { stream, checkpoint } = opened
    if (this.#ports.streams.checkpointedDecider(categoryOf(stream)) !== null) {
      if (checkpoint === null) this.#counts.withoutCheckpoint += 1
      else this.#counts.withCheckpoint += 1
    }
    const chains = this.#chains
    const number = chains.numberOf(stream) as number
    const revision = chains.revisionOf(number)
    const isBroken = chains.isBroken(number)
    const end = { revision, hash: chains.hashOf(number) }
    const replay = this.#replayOf(stream, checkpoint)
    const { discrepancy, last } = await readSingleStream(opened, end, isBroken, (stored) =>
      replay.apply(stored),
    )
    if (discrepancy === null) replay.finish(revision)
    else {
      this.#findings.add("each stream reads the same alone", discrepancy)
      await this.#replayAmongAll(stream, checkpoint, revision)
    }
    await this.#checkLater(opened, Math.max(revision, last))
    return revision + 1
  }

  /** A checkpoint after the last event proves that events were cut off. */
  async #checkLater({ stream, checkpoint }: OpenedStream, revision: number): Promise<void> {
    if (checkpoint === null || checkpoint.revision <= revision) return
    // Events stored since the read may be in a checkpoint already.
    if (await hasRevision(this.#ports, stream, checkpoint.revision)) return
    const detail = `its checkpoint is at revision ${checkpoint.revision}: later events are missing`
    const difference = { expected: `revision ${checkpoint.revision}`, found: "nothing" }
    this.#findings.add(CHECKPOINT_RULE, { stream, revision, ...difference }, detail)
  }

  async #replayAmongAll(
    stream: string,
    checkpoint: OpenedStream["checkpoint"],
    revision: number,
  ): Promise<void> {
    const replay = this.#replayOf(stream, checkpoint)
    const range = { prefixes: [stream], isSelective: true } as const
    for await (const page of this.#ports.store.readAll(range)) {
      this.#scope.signal.throwIfAborted()
      for (const stored of page) {
        if (stored.stream === stream && !isDeletionMark(stored)) replay.apply(stored)
      }
    }
    replay.finish(revision)
  }

  #replayOf(stream: string, checkpoint: OpenedStream["checkpoint"]): StreamReplay {
    return new StreamReplay(
      {
        streams: this.#ports.streams,
        findings: this.#findings,
        expectedStreams: this.#expectedStreams,
        pendingCharges: this.#pendingCharges,
        counts: this.#counts,
      },
      stream,
      checkpoint,
    )
  }
}

// The end of each stream's chain, in about 200 bytes per stream. An audit of a million streams
// keeps the names, revisions and hashes of all of them, and no state.

const INITIAL_STREAMS = 256
const HASH_BYTES = 32

/** The ends of chains. Each stream has a number. */
export class StreamChains {
  readonly #numbers = new Map<string, number>()
  #revisions = new Int32Array(INITIAL_STREAMS)
  #hashes = Buffer.alloc(INITIAL_STREAMS * HASH_BYTES)
  #broken = new Uint8Array(INITIAL_STREAMS)

  get size(): number {
    return this.#numbers.size
  }

  /** The streams in the order they were added; the index of each is its number. */
  names(): IterableIterator<string> {
    return this.#numbers.keys()
  }

  /** The number of a stream; undefined if none of its events was read. */
  numberOf(stream: string): number | undefined {
    return this.#numbers.get(stream)
  }

  /** Adds a stream at the beginning of its chain, and returns its number. */
  add(stream: string): number {
    const number = this.#numbers.size
    if (number === this.#revisions.length) this.#grow()
    this.#numbers.set(stream, number)
    this.#revisions[number] = NO_STREAM
    this.setHash(number, NO_HASH)
    return number
  }

  revisionOf(number: number): number {
    return this.#revisions[number] as number
  }

  setRevision(number: number, revision: number): void {
    this.#revisions[number] = revision
  }

  /** Hash of the last event, in hexadecimal. */
  hashOf(number: number): string {
    const start = number * HASH_BYTES
    return this.#hashes.toString("hex", start, start + HASH_BYTES)
  }

  setHash(number: number, hash: string): void {
    this.#hashes.write(hash, number * HASH_BYTES, HASH_BYTES, "hex")
  }

  /** Whether the chain of a stream is broken. */
  isBroken(number: number): boolean {
    return this.#broken[number] === 1
  }

  markBroken(number: number): void {
    this.#broken[number] = 1
  }

  #grow(): void {
    const [revisions, hashes, broken] = [this.#revisions, this.#hashes, this.#broken]
    this.#revisions = new Int32Array(revisions.length * 2)
    this.#revisions.set(revisions)
    this.#hashes = Buffer.alloc(hashes.length * 2)
    hashes.copy(this.#hashes)
    this.#broken = new Uint8Array(broken.length * 2)
    this.#broken.set(broken)
  }
}
