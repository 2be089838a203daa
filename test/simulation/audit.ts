/**
 * The audit after a run: every acknowledged charge is stored exactly once, with its command, and fits; read models
 * equal a rebuild; a job ends every pending charge; hash chains are intact. It compares with the reference
 * ledger, never with the ledger itself.
 */
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { LEDGER_AGGREGATE, ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { ChargeReduced, Charged } from "../../domain/charging/ledger-events.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import { categoryOf, companyOfStream } from "../../domain/kernel/aggregate.ts"
import { RECIPIENT_AGGREGATE } from "../../domain/phone/aggregates.ts"
import type { TextQueued } from "../../domain/phone/recipient-events.ts"
import { loadStream } from "../../src/frame/writer/runner/load.ts"
import { canonicalText } from "../charging/law.ts"
import { pendingChargesIn } from "../charging/reference-views.ts"
import type { LedgerFacts } from "../charging/reference-views.ts"
import { decideByReference } from "../charging/reference-ledger.ts"
import type { StoredStream, FactGroup } from "./audit-responses.ts"
import { auditResponses, ledgersIn, ledgerFactsIn, readStreams } from "./audit-responses.ts"
import type { SimulatedCallers } from "./callers.ts"
import type { FoldedModel, ModelRows } from "./database.ts"
import { FOLDED_MODELS, foldModel, canonicalRows } from "./database.ts"
import type { RunRecords } from "./records.ts"
import type { SimulatedWorld } from "./world.ts"

interface AuditedRun {
  readonly world: SimulatedWorld
  readonly callers: SimulatedCallers
  /** All stored events, in global order. */
  readonly events: readonly StoredEvent[]
}

/** What a process served and stored for one caller of one company. */
interface CallCounter {
  readonly process: string
  buffered: number
  /** Calls for which the process received no response, so that they may be buffered. */
  unknown: number
  recorded: number
}

/** Lists the callers whose served calls were not counted correctly. */
function auditCalls(
  { world }: AuditedRun,
  streams: ReadonlyMap<string, StoredStream>,
): readonly string[] {
  const { records, timeline } = world
  const counters = new Map<string, CallCounter>()
  const counterOf = (process: string, ...parts: readonly (string | null)[]): CallCounter => {
    const key = [process, ...parts].join(" ")
    const counter = counters.get(key) ?? { process, buffered: 0, unknown: 0, recorded: 0 }
    counters.set(key, counter)
    return counter
  }
  for (const { process, stream, call, answer } of records.bufferedCalls) {
    const counter = counterOf(process, stream, call.keyId, call.personId)
    if (answer === "gathered") counter.buffered += 1
    if (answer === null) counter.unknown += 1
  }
  for (const { stream, events, facts } of ledgersIn(streams)) {
    for (const [i, fact] of facts.entries()) {
      if (fact.type !== "ApiCallsCounted") continue
      const process = timeline.writerOf(events[i]?.id ?? "") ?? "no process"
      for (const { keyId, personId, calls } of fact.counters) {
        counterOf(process, stream, keyId, personId).recorded += calls
      }
    }
  }
  return [...counters].flatMap(([key, { process, buffered, unknown, recorded }]) => {
    if (recorded > buffered + unknown) return [`${key}: ${recorded} calls counted of ${buffered}`]
    const isLost = records.stoppedProcesses.has(process) && recorded < buffered
    return isLost ? [`${key}: ${buffered - recorded} calls lost without a crash`] : []
  })
}

/** The runner itself names the commands that store buffered calls. */
const RUNNER_CAUSE = /^cmd_/

/** Lists stored facts that should not exist or should differ. */
function auditStored(
  streams: ReadonlyMap<string, StoredStream>,
  { commands: commanded }: RunRecords,
): readonly string[] {
  const commands = new Map(commanded.map((one) => [one.cause, one]))
  const breaks: string[] = []
  for (const { stream, groups } of streams.values()) {
    const seen = new Set<string>()
    for (const { cause, from } of groups) {
      if (seen.has(cause)) breaks.push(`${stream} ${from}: ${cause} is stored twice`)
      seen.add(cause)
      const isRequested = commands.get(cause)?.stream === stream || RUNNER_CAUSE.test(cause)
      if (!isRequested) breaks.push(`${stream} ${from}: no request caused ${cause}`)
    }
  }
  for (const ledger of ledgersIn(streams)) {
    for (const group of ledger.groups) {
      const command = commands.get(group.cause)?.command ?? recordingOf(group)
      const fault = decisionDifference(ledger, group, command as LedgerCommand | null)
      if (fault !== null) breaks.push(`${ledger.stream} ${group.from}: ${fault}`)
    }
  }
  return breaks
}

/** The command that stored calls, derived from its fact. */
function recordingOf({ facts }: FactGroup): LedgerCommand | null {
  const counted = facts.find(({ type }) => type === "ApiCallsCounted")
  return counted?.type === "ApiCallsCounted" ? { ...counted, type: "RecordApiCalls" } : null
}

function decisionDifference(
  ledger: StoredStream,
  { cause, from, facts }: FactGroup,
  command: LedgerCommand | null,
): string | null {
  if (command === null) return `${cause} stores facts without a request`
  const at = facts[0]?.at ?? 0
  const headHash = ledger.hashes[from - 1]
  const stamped = { ...command, at, ...(headHash === undefined ? {} : { headHash }) }
  const known = { facts: ledgerFactsIn(ledger).slice(0, from), buffered: [] }
  const answer = decideByReference(known, stamped)
  const expected = isRefusal(answer)
    ? `a rejection: ${canonicalText(answer)}`
    : canonicalText(answer)
  return expected === canonicalText(facts)
    ? null
    : `stored ${canonicalText(facts)}, but expected ${expected}`
}

type Streams = ReadonlyMap<string, StoredStream>

/** Lists read models whose rows differ from a rebuild. */
function auditModels(world: SimulatedWorld, events: readonly StoredEvent[]): readonly string[] {
  return (Object.keys(FOLDED_MODELS) as FoldedModel[]).flatMap((model) => {
    const rebuilt: ModelRows = new Map()
    foldModel(model, rebuilt, events)
    const [live, expected] = [canonicalRows(world.database.rows[model]), canonicalRows(rebuilt)]
    return live === expected ? [] : [`${model} is ${live}, but a rebuild is ${expected}`]
  })
}

/** Lists pending charges that no job will end. */
function orphanedCharges({ database }: SimulatedWorld, streams: Streams): readonly string[] {
  const rows = database.jobs.rows().filter(({ stuckReason }) => stuckReason === null)
  const ended = new Set(
    rows.map(({ kind, name, payload }) => {
      if (kind === "reconcile-charge") return name
      return kind.endsWith("-text")
        ? (JSON.parse(payload) as { readonly chargeId: string | null }).chargeId
        : null
    }),
  )
  return ledgersIn(streams).flatMap((ledger) => {
    const left = pendingChargesIn(ledgerFactsIn(ledger)).filter((id) => !ended.has(id))
    return left.map((id) => `${id} is pending, and no job will end it`)
  })
}

const WITH_CHECKPOINTS = { ledger: LEDGER_AGGREGATE, recipient: RECIPIENT_AGGREGATE }

/** Lists streams whose state from a checkpoint differs from the state folded from all events. */
async function auditCheckpoints(
  world: SimulatedWorld,
  streams: Streams,
): Promise<readonly string[]> {
  const { store, database } = world
  const breaks: string[] = []
  for (const { stream, hashes } of streams.values()) {
    const category = categoryOf(stream)
    if (category !== "ledger" && category !== "recipient") continue
    const saved = await database.checkpoints.load(stream)
    if (saved === null) continue
    if (hashes[saved.revision] !== saved.hash)
      breaks.push(`${stream}: a checkpoint has another hash`)
    const { checkpoint, ...rest } = WITH_CHECKPOINTS[category]
    const aggregate = { ...rest, checkpoint } as typeof LEDGER_AGGREGATE
    const { checkpoints } = database
    const [loaded, folded] = await Promise.all([
      loadStream({ store, checkpoints }, aggregate, stream),
      loadStream({ store, checkpoints: openMemoryCheckpoints() }, aggregate, stream),
    ])
    const texts = [loaded, folded].map(({ state, revision, hash, at }) =>
      withoutOrder([aggregate.checkpoint.save(state), revision, hash, at]),
    )
    if (texts[0] !== texts[1]) breaks.push(`${stream}: ${texts[0]} instead of ${texts[1]}`)
  }
  return breaks
}

/** Text that is equal for equal states, regardless of the insertion order of maps and objects. */
function withoutOrder(saved: unknown): string {
  if (Array.isArray(saved)) return `[${saved.map(withoutOrder).toSorted().join(",")}]`
  if (typeof saved !== "object" || saved === null) return JSON.stringify(saved)
  const fields = Object.entries(saved).map(([name, value]) => `${name}:${withoutOrder(value)}`)
  return `{${fields.toSorted().join(",")}}`
}

/** Lists charges and texts that contradict the responses to their callers. */
function auditCallers(run: AuditedRun, streams: Streams): readonly string[] {
  return [
    ...chargeFaults(run, streams),
    ...textFaults(run, streams),
    ...pendingChargeFaults(streams),
  ]
}

function factsOf(streams: Streams, companyId: CompanyId): LedgerFacts {
  const stored = streams.get(ledgerStreamOf(companyId).stream)
  return stored === undefined ? [] : ledgerFactsIn(stored)
}

function chargesOf(facts: LedgerFacts, id: ChargeId): readonly Charged[] {
  return facts.filter((fact) => fact.type === "Charged").filter(({ chargeId }) => chargeId === id)
}

function chargeFaults({ callers }: AuditedRun, streams: Streams): readonly string[] {
  return callers.charges.flatMap(({ request, answer }) => {
    const { chargeId, companyId, amountMicros } = request
    const charged = chargesOf(factsOf(streams, companyId), chargeId)
    if (charged.length > 1) return [`${chargeId} was charged ${charged.length} times`]
    if (answer === null) return [`the outcome of ${chargeId} was never answered`]
    if (answer !== "done") return []
    return charged[0]?.amountMicros === amountMicros ? [] : [`${chargeId} is not stored as charged`]
  })
}

function textFaults({ callers, world }: AuditedRun, streams: Streams): readonly string[] {
  const breaks: string[] = []
  const sent = new Map<string, number>()
  const queued = queuedIn(streams)
  const paidBy = new Set<ChargeId>()
  for (const { fact, companyId, requestId } of queued) {
    const { messageId } = fact
    const chargeId = fact.chargeId ?? ""
    paidBy.add(chargeId)
    const facts = factsOf(streams, companyId)
    const [charged, ...others] = chargesOf(facts, chargeId)
    if (charged === undefined || others.length > 0)
      breaks.push(`${chargeId} is not stored exactly once`)
    const wasSent = world.carrier.hasSent(messageId)
    const refunded = refundedMicrosOf(facts, chargeId)
    const isRefunded = refunded === charged?.amountMicros
    if (wasSent === isRefunded) breaks.push(`${messageId}: sent ${wasSent}, refunded ${refunded}`)
    const name = callers.requestOf.get(requestId) ?? "no request"
    if (wasSent) sent.set(name, (sent.get(name) ?? 0) + 1)
  }
  for (const [name, times] of sent) {
    if (times > 1) breaks.push(`${name} was sent ${times} times`)
  }
  for (const { messageIds } of callers.texts) {
    // A second id is correct only if the carrier rejected the text of the first.
    for (const [i, messageId] of messageIds.entries()) {
      const count = queued.filter(({ fact }) => fact.messageId === messageId).length
      if (count !== 1)
        breaks.push(`${messageId} was answered as queued, but is queued ${count} times`)
      const next = messageIds[i + 1] ?? messageId
      const isAnother = next !== messageId && world.carrier.hasSent(messageId)
      if (isAnother) breaks.push(`${messageId} was sent, but ${next} was answered for it`)
    }
  }
  for (const ledger of ledgersIn(streams)) {
    const facts = ledgerFactsIn(ledger)
    for (const fact of facts) {
      if (fact.type !== "Charged" || !fact.isPending || paidBy.has(fact.chargeId)) continue
      const wasRefunded = refundedMicrosOf(facts, fact.chargeId) === fact.amountMicros
      if (!wasRefunded) breaks.push(`${fact.chargeId} paid for no text, and was not refunded`)
    }
  }
  return breaks
}

function queuedIn(streams: Streams) {
  return [...streams.values()].flatMap(({ stream, groups }) => {
    const companyId = companyOfStream(stream)
    if (companyId === null) return []
    return groups.flatMap(({ cause, facts }) => {
      const queued = facts.filter((fact): fact is TextQueued => fact.type === "TextQueued")
      return queued.map((fact) => ({ fact, companyId, requestId: cause.split("#")[0] ?? "" }))
    })
  })
}

function refundedMicrosOf(facts: LedgerFacts, chargeId: ChargeId): number {
  const refunded = facts.filter((fact): fact is ChargeReduced => {
    return fact.type === "ChargeReduced" && fact.chargeId === chargeId
  })
  return refunded.reduce((sum, { amountMicros }) => sum + amountMicros, 0)
}

function pendingChargeFaults(streams: Streams): readonly string[] {
  return ledgersIn(streams).flatMap((ledger) => {
    return pendingChargesIn(ledgerFactsIn(ledger)).map((id) => `${id} is still pending`)
  })
}

/** Errors that faults may cause in a process's warnings. */
const TRANSIENT_ERRORS = new Set([
  "ClockUnsure",
  "DeadlinePassed",
  "OutcomeUnknown",
  "Unavailable",
  "UnknownOutcome",
])
/** Matches warnings about discarded calls, which only a crash may lose. */
const DISCARDED_CALLS =
  /^the buffered items of \S+ could not be stored|^\S+ refused its buffered items/
/** A carrier may be silent for so long that its job waits for an operator. */
const STUCK_JOB = /^job \d+ \(ask-text\) is stuck: the carrier has given no outcome/

/** Audits a run and lists every violation. */
export async function auditRun(run: AuditedRun): Promise<readonly string[]> {
  const { world, callers, events } = run
  const breaks: string[] = []
  const streams = readStreams(events, breaks)
  return [
    ...breaks,
    ...callers.faults.map((fault) => `a caller got ${errorText(fault)}`),
    ...auditStored(streams, world.records),
    ...auditResponses(streams, world.records),
    ...auditCallers(run, streams),
    ...auditCalls(run, streams),
    ...auditModels(world, events),
    ...(await auditCheckpoints(world, streams)),
    ...warningsOf(world.records),
  ]
}

/** Lists pending charges that no job will end, while jobs may still end others. */
export function auditPendingCharges(
  world: SimulatedWorld,
  events: readonly StoredEvent[],
): readonly string[] {
  return orphanedCharges(world, readStreams(events, []))
}

function warningsOf({ warnings }: RunRecords): readonly string[] {
  return warnings
    .filter(({ message, error }) => DISCARDED_CALLS.test(message) || !isTransient(error))
    .filter(({ message }) => !STUCK_JOB.test(message))
    .map(({ process, message, error }) => `${process} warned: ${message}: ${errorText(error)}`)
}

function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return TRANSIENT_ERRORS.has(error.name) || ("code" in error && error.code === "ECONNRESET")
}

function errorText(error: unknown): string {
  return error instanceof Error ? `${error.stack} ${String(error.cause ?? "")}` : String(error)
}
