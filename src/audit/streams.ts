/**
 * The audit of what is stored: every hash recomputed over the stored text, revisions without gaps,
 * text that is the form of its type, each charge decided again at its revision, postings that sum to
 * zero, and checkpoints that are what folding gives. Trusts nothing but the stored text.
 */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { CheckpointForm, Decider, Fact, Stamped } from "../../domain/kernel/decider.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { Charged, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerCodec } from "../../domain/charging/ledger-formats.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { openCharges } from "../../domain/charging/ledger-views.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { categoryOf, companyOf } from "../../domain/kernel/streams.ts"
import { APP, LEDGER, RECIPIENT, codecOfStream } from "../aggregates.ts"
import type { AdminPorts, KeptCheckpoint } from "../admin/operation.ts"
import { NO_HASH, expectedHash, readMetadata } from "../envelope.ts"

const REPORT_EVERY = 20_000

/** What the audit of the streams found. */
export interface StreamsAudit {
  readonly checks: readonly {
    readonly name: string
    readonly ok: boolean
    readonly detail: string
  }[]
  readonly streams: number
  readonly events: number
  /** The last hash of each company's ledger. */
  readonly heads: Readonly<Record<string, string>>
  readonly openCharges: readonly { readonly chargeId: string; readonly stream: string }[]
}

/** The rules, in the order they are reported. */
const RULES = [
  "hashes chain",
  "revisions have no gap",
  "stored text is the form of its type",
  "every charge fits when decided again",
  "postings sum to zero",
  "checkpoints are what folding gives",
] as const
type Rule = (typeof RULES)[number]

interface Seen {
  revision: number
  hash: string
  /** Folded for streams whose decisions or checkpoints are checked. */
  state: unknown
  readonly checkpoint: KeptCheckpoint | null
}

interface Folded {
  readonly decider: Decider<never, never, never, never>
  readonly checkpoint: CheckpointForm<never>
}

/** Categories that are folded: those with checkpoints. */
const FOLDED: Readonly<Record<string, Folded>> = {
  app: APP as unknown as Folded,
  ledger: LEDGER as unknown as Folded,
  recipient: RECIPIENT as unknown as Folded,
}

/** Reads all streams (of one company, or everything) in global order and checks them. */
export async function auditStreams(
  ports: AdminPorts,
  scope: {
    readonly companyId: CompanyId | null
    readonly progress: (message: string) => void
    readonly signal: AbortSignal
  },
): Promise<StreamsAudit> {
  const faults = new Map<Rule, string>()
  const seen = new Map<string, Seen>()
  let events = 0
  for await (const page of ports.store.readAll({})) {
    scope.signal.throwIfAborted()
    for (const stored of page) {
      if (scope.companyId !== null && companyOf(stored.stream) !== scope.companyId) continue
      const known = seen.get(stored.stream) ?? (await firstSeen(ports, stored.stream))
      seen.set(stored.stream, known)
      checkEvent(known, stored, (rule, detail) => {
        if (!faults.has(rule))
          faults.set(rule, `${stored.stream} revision ${stored.revision}: ${detail}`)
      })
      events += 1
      if (events % REPORT_EVERY === 0) scope.progress(`${events} events`)
    }
  }
  for (const [stream, { checkpoint, revision }] of seen) {
    if (checkpoint === null || checkpoint.revision <= revision) continue
    // What came while this was reading may be in a checkpoint already.
    if (await holds(ports, stream, checkpoint.revision)) continue
    const rule = "checkpoints are what folding gives"
    const detail = `its checkpoint is of revision ${checkpoint.revision}: what came after is gone`
    if (!faults.has(rule)) faults.set(rule, `${stream} revision ${revision}: ${detail}`)
  }
  const checks = RULES.map((name) => {
    const detail = faults.get(name)
    return { name, ok: detail === undefined, detail: detail ?? `${events} events` }
  })
  return { checks, streams: seen.size, events, heads: headsOf(seen), openCharges: openOf(seen) }
}

async function holds(ports: AdminPorts, stream: string, revision: number): Promise<boolean> {
  for await (const page of ports.store.read(stream, { from: revision, limit: 1 })) {
    if (page.length > 0) return true
  }
  return false
}

async function firstSeen(ports: AdminPorts, stream: string): Promise<Seen> {
  const folded = FOLDED[categoryOf(stream)]
  return {
    revision: -1,
    hash: NO_HASH,
    state: folded?.decider.initial(),
    checkpoint: folded === undefined ? null : await ports.checkpointOf(stream),
  }
}

type Fault = (rule: Rule, detail: string) => void

function checkEvent(known: Seen, stored: StoredEvent, fault: Fault): void {
  if (stored.revision !== known.revision + 1) {
    fault("revisions have no gap", `expected ${known.revision + 1}, found ${stored.revision}`)
  }
  known.revision = stored.revision
  const fact = checkText(known, stored, fault)
  if (fact === null) return
  const folded = FOLDED[categoryOf(stored.stream)]
  if (folded === undefined) return
  if (categoryOf(stored.stream) === "ledger") checkLedgerFact(known, fact as LedgerEvent, fault)
  known.state = folded.decider.evolve(known.state as never, fact as never)
  if (known.checkpoint?.revision === stored.revision) checkCheckpoint(known, folded, fault)
}

/** Checks hash, metadata and data as they are stored; the fact, or null where it cannot be read. */
function checkText(known: Seen, stored: StoredEvent, fault: Fault): Fact | null {
  const expected = expectedHash(stored, known.hash)
  // Where no hash can be read, the next event is measured by what this one should carry.
  known.hash = expected
  try {
    const { hash, version } = readMetadata(stored.metadata)
    if (hash !== expected) fault("hashes chain", `expected ${expected}, found ${hash}`)
    known.hash = hash
    const codec = codecOfStream(stored.stream)
    const fact = codec.decode(stored.type, version, stored.data)
    const isCurrent = codec.version(fact.type) === version
    if (isCurrent && codec.encode(fact) !== stored.data) {
      fault("stored text is the form of its type", "written again it differs")
    }
    return fact
  } catch (error) {
    fault("stored text is the form of its type", messageOf(error))
    return null
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A charge is decided again on the state before it: the same yes, field for field, must come out. */
function checkLedgerFact(known: Seen, fact: LedgerEvent, fault: Fault): void {
  const sum = postingsOf(fact).reduce((total, posting) => total + posting.amountMicros, 0)
  if (sum !== 0) fault("postings sum to zero", `they sum to ${sum} micros`)
  if (fact.type !== "Charged") return
  const again = decideAgain(fact, known.state as Ledger)
  if (again === null) return
  fault("every charge fits when decided again", again)
}

function decideAgain(fact: Charged, state: Ledger): string | null {
  const answer = ledger.decide(commandOf(fact), state)
  if (isRefusal(answer)) return `refused: ${answer.code}`
  const same = answer.find((one) => one.type === "Charged" && one.chargeId === fact.chargeId)
  if (same === undefined) return "it was charged already, or never was to be"
  return ledgerCodec.encode(same) === ledgerCodec.encode(fact) ? null : "decided differently"
}

/** What a charge was asked by: the nightly charge of all calls, or a charge of its own. */
function commandOf(fact: Charged): LedgerCommand & Stamped {
  const { at } = fact
  if (fact.weighed) return { type: "ChargeCalls", at, most: Number.MAX_SAFE_INTEGER }
  const searchedTo = fact.once ? Number.MAX_SAFE_INTEGER : null
  return { ...fact, type: "Charge", searchedTo }
}

function checkCheckpoint(known: Seen, folded: Folded, fault: Fault): void {
  const { checkpoint } = known
  if (checkpoint === null || checkpoint.shape !== folded.checkpoint.shape) return
  const fold = orderFree(folded.checkpoint.save(known.state as never))
  try {
    const kept = orderFree(folded.checkpoint.save(folded.checkpoint.load(checkpoint.saved)))
    if (kept !== fold) fault("checkpoints are what folding gives", "the checkpoint differs")
  } catch (error) {
    fault("checkpoints are what folding gives", `it cannot be loaded: ${messageOf(error)}`)
  }
}

/** Text that is equal for equal states, whatever order their maps and objects were filled in. */
function orderFree(saved: unknown): string {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) {
      const items = value.map(sorted)
      const isTable = items.length > 0 && items.every(isRow)
      return isTable
        ? items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
        : items
    }
    if (typeof value !== "object" || value === null) return value
    const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]))
  }
  return JSON.stringify(sorted(saved))
}

/** A row of a table that is kept as a list: an object, or a pair that begins with its key. */
function isRow(item: unknown): boolean {
  if (Array.isArray(item)) return typeof item[0] === "string"
  return typeof item === "object" && item !== null
}

function headsOf(seen: ReadonlyMap<string, Seen>): Record<string, string> {
  const heads: Record<string, string> = {}
  for (const [stream, { hash }] of seen) if (categoryOf(stream) === "ledger") heads[stream] = hash
  return heads
}

function openOf(seen: ReadonlyMap<string, Seen>): StreamsAudit["openCharges"] {
  return [...seen]
    .filter(([stream]) => categoryOf(stream) === "ledger")
    .flatMap(([stream, { state }]) =>
      openCharges(state as Ledger).map((chargeId) => ({ chargeId, stream })),
    )
}
