/**
 * The audit after a run: every acknowledged charge is there exactly once; no charge without its
 * command; none that did not fit; every read model equals a rebuild; every open charge has somebody
 * who ends it; every chain of hashes is whole. Nothing of it asks the ledger: a plain one judges.
 */
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { LEDGER, ledgerOf } from "../../domain/charging/aggregates.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { ChargeReduced, Charged } from "../../domain/charging/ledger-formats.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import { categoryOf, companyOf } from "../../domain/kernel/aggregate.ts"
import { RECIPIENT } from "../../domain/phone/aggregates.ts"
import type { TextQueued } from "../../domain/phone/recipient-events.ts"
import { loadStream } from "../../src/frame/writer/runner/load.ts"
import { show } from "../charging/law.ts"
import { openIn } from "../charging/plain-facts.ts"
import type { Facts } from "../charging/plain-facts.ts"
import { decideByReference } from "../charging/reference-ledger.ts"
import type { StoredStream, Group } from "./audit-told.ts"
import { auditTold, ledgersIn, ledgerFacts, readStreams } from "./audit-told.ts"
import type { Callers } from "./callers.ts"
import type { PlainModel, Rows } from "./database.ts"
import { PLAIN_MODELS, fold, showRows } from "./database.ts"
import type { Records } from "./records.ts"
import type { World } from "./world.ts"

/** A run that is over. */
interface AuditedRun {
  readonly world: World
  readonly callers: Callers
  /** Everything that is stored, in global order. */
  readonly events: readonly StoredEvent[]
}

/** What a process served and recorded for one caller of one company. */
interface Tally {
  readonly process: string
  gathered: number
  /** Of which its process was never told whether they were gathered. */
  unsure: number
  recorded: number
}

/** What of the served calls is counted otherwise than it was served. */
function auditCalls(
  { world }: AuditedRun,
  streams: ReadonlyMap<string, StoredStream>,
): readonly string[] {
  const { records, truth } = world
  const tallies = new Map<string, Tally>()
  const tallyOf = (process: string, ...parts: readonly (string | null)[]): Tally => {
    const key = [process, ...parts].join(" ")
    const tally = tallies.get(key) ?? { process, gathered: 0, unsure: 0, recorded: 0 }
    tallies.set(key, tally)
    return tally
  }
  for (const { process, stream, call, answer } of records.gathered) {
    const tally = tallyOf(process, stream, call.keyId, call.personId)
    if (answer === "gathered") tally.gathered += 1
    if (answer === null) tally.unsure += 1
  }
  for (const { stream, events, facts } of ledgersIn(streams)) {
    for (const [i, fact] of facts.entries()) {
      if (fact.type !== "ApiCallsCounted") continue
      const process = truth.writerOf(events[i]?.id ?? "") ?? "nobody"
      for (const { keyId, personId, calls } of fact.counters) {
        tallyOf(process, stream, keyId, personId).recorded += calls
      }
    }
  }
  return [...tallies].flatMap(([key, { process, gathered, unsure, recorded }]) => {
    if (recorded > gathered + unsure) return [`${key}: ${recorded} calls counted of ${gathered}`]
    const isLost = records.closed.has(process) && recorded < gathered
    return isLost ? [`${key}: ${gathered - recorded} calls lost without a crash`] : []
  })
}

/** Calls that were gathered are recorded by commands that the runner names by itself. */
const BY_THE_RUNNER = /^cmd_/

/** What of the stored facts should not be there, or should be otherwise. */
function auditStored(
  streams: ReadonlyMap<string, StoredStream>,
  { commanded }: Records,
): readonly string[] {
  const commands = new Map(commanded.map((one) => [one.cause, one]))
  const breaks: string[] = []
  for (const { stream, groups } of streams.values()) {
    const seen = new Set<string>()
    for (const { cause, from } of groups) {
      if (seen.has(cause)) breaks.push(`${stream} ${from}: ${cause} is stored twice`)
      seen.add(cause)
      const isAsked = commands.get(cause)?.stream === stream || BY_THE_RUNNER.test(cause)
      if (!isAsked) breaks.push(`${stream} ${from}: nobody asked for ${cause}`)
    }
  }
  for (const ledger of ledgersIn(streams)) {
    for (const group of ledger.groups) {
      const command = commands.get(group.cause)?.command ?? recordingOf(group)
      const fault = decidedOtherwise(ledger, group, command as LedgerCommand | null)
      if (fault !== null) breaks.push(`${ledger.stream} ${group.from}: ${fault}`)
    }
  }
  return breaks
}

/** The command that recorded calls, from what it recorded. */
function recordingOf({ facts }: Group): LedgerCommand | null {
  const counted = facts.find(({ type }) => type === "ApiCallsCounted")
  return counted?.type === "ApiCallsCounted" ? { ...counted, type: "RecordCalls" } : null
}

function decidedOtherwise(
  ledger: StoredStream,
  { cause, from, facts }: Group,
  command: LedgerCommand | null,
): string | null {
  if (command === null) return `${cause} records what is no call`
  const at = facts[0]?.at ?? 0
  const headHash = ledger.hashes[from - 1]
  const stamped = { ...command, at, ...(headHash === undefined ? {} : { headHash }) }
  const known = { facts: ledgerFacts(ledger).slice(0, from), gathered: [] }
  const answer = decideByReference(known, stamped)
  const expected = isRefusal(answer) ? `a no: ${show(answer)}` : show(answer)
  return expected === show(facts) ? null : `stored ${show(facts)} where there should be ${expected}`
}

type Streams = ReadonlyMap<string, StoredStream>

/** Read models whose rows are not what folding from zero gives. */
function auditModels(world: World, events: readonly StoredEvent[]): readonly string[] {
  return (Object.keys(PLAIN_MODELS) as PlainModel[]).flatMap((model) => {
    const rebuilt: Rows = new Map()
    fold(model, rebuilt, events)
    const [live, anew] = [showRows(world.database.rows[model]), showRows(rebuilt)]
    return live === anew ? [] : [`${model} is ${live} and would be ${anew}`]
  })
}

/** Open charges that no work will end. */
function orphans({ database }: World, streams: Streams): readonly string[] {
  const rows = database.work.rows().filter(({ parked }) => parked === null)
  const ended = new Set(
    rows.map(({ kind, name, payload }) => {
      if (kind === "reconcile-charge") return name
      return kind.endsWith("-text")
        ? (JSON.parse(payload) as { readonly chargeId: string | null }).chargeId
        : null
    }),
  )
  return ledgersIn(streams).flatMap((ledger) => {
    const left = openIn(ledgerFacts(ledger)).filter((id) => !ended.has(id))
    return left.map((id) => `${id} is open, and no work will end it`)
  })
}

const WITH_CHECKPOINTS = { ledger: LEDGER, recipient: RECIPIENT }

/** Streams whose state from a checkpoint is another than that from the start. */
async function auditCheckpoints(world: World, streams: Streams): Promise<readonly string[]> {
  const { store, database } = world
  const breaks: string[] = []
  for (const { stream, hashes } of streams.values()) {
    const category = categoryOf(stream)
    if (category !== "ledger" && category !== "recipient") continue
    const kept = await database.checkpoints.load(stream)
    if (kept === null) continue
    if (hashes[kept.revision] !== kept.hash) breaks.push(`${stream}: a checkpoint of no history`)
    const { checkpoint, ...rest } = WITH_CHECKPOINTS[category]
    const aggregate = { ...rest, checkpoint } as typeof LEDGER
    const { checkpoints } = database
    const [loaded, folded] = await Promise.all([
      loadStream({ store, checkpoints }, aggregate, stream),
      loadStream({ store, checkpoints: openMemoryCheckpoints() }, aggregate, stream),
    ])
    const texts = [loaded, folded].map(({ state, ...place }) => {
      return orderFree([aggregate.checkpoint.save(state), place.revision, place.hash, place.at])
    })
    if (texts[0] !== texts[1]) breaks.push(`${stream}: ${texts[0]} and not ${texts[1]}`)
  }
  return breaks
}

/** Text that is equal for equal states, whatever order their maps and objects were filled in. */
function orderFree(saved: unknown): string {
  if (Array.isArray(saved)) return `[${saved.map(orderFree).toSorted().join(",")}]`
  if (typeof saved !== "object" || saved === null) return JSON.stringify(saved)
  const fields = Object.entries(saved).map(([name, value]) => `${name}:${orderFree(value)}`)
  return `{${fields.toSorted().join(",")}}`
}

/** What of the callers' charges and texts is not as they were told. */
function auditCallers(run: AuditedRun, streams: Streams): readonly string[] {
  return [...chargeFaults(run, streams), ...textFaults(run, streams), ...openFaults(streams)]
}

function factsOf(streams: Streams, companyId: CompanyId): Facts {
  const stored = streams.get(ledgerOf(companyId).stream)
  return stored === undefined ? [] : ledgerFacts(stored)
}

function chargesOf(facts: Facts, id: ChargeId): readonly Charged[] {
  return facts.filter((fact) => fact.type === "Charged").filter(({ chargeId }) => chargeId === id)
}

function chargeFaults({ callers }: AuditedRun, streams: Streams): readonly string[] {
  return callers.charges.flatMap(({ errand, answer }) => {
    const { chargeId, companyId, amountMicros } = errand
    const charged = chargesOf(factsOf(streams, companyId), chargeId)
    if (charged.length > 1) return [`${chargeId} was charged ${charged.length} times`]
    if (answer === null) return [`nobody told what became of ${chargeId}`]
    if (answer !== "done") return []
    return charged[0]?.amountMicros === amountMicros ? [] : [`${chargeId} is not there as charged`]
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
    if (charged === undefined || others.length > 0) breaks.push(`${chargeId} is not there once`)
    const hasGone = world.carrier.hasSent(messageId)
    const back = givenBack(facts, chargeId)
    const isWhole = back === charged?.amountMicros
    if (hasGone === isWhole) breaks.push(`${messageId}: sent ${hasGone}, given back ${back}`)
    const name = callers.errandOf.get(requestId) ?? "nobody's errand"
    if (hasGone) sent.set(name, (sent.get(name) ?? 0) + 1)
  }
  for (const [name, times] of sent) {
    if (times > 1) breaks.push(`${name} went out ${times} times`)
  }
  for (const { messageIds } of callers.texts) {
    // Another id is told only where the carrier refused the text of the one before.
    for (const [i, messageId] of messageIds.entries()) {
      const count = queued.filter(({ fact }) => fact.messageId === messageId).length
      if (count !== 1) breaks.push(`${messageId} was told to be queued, and is ${count} times`)
      const next = messageIds[i + 1] ?? messageId
      const isAnother = next !== messageId && world.carrier.hasSent(messageId)
      if (isAnother) breaks.push(`${messageId} went out, and ${next} was told for it`)
    }
  }
  for (const ledger of ledgersIn(streams)) {
    const facts = ledgerFacts(ledger)
    for (const fact of facts) {
      if (fact.type !== "Charged" || !fact.isPending || paidBy.has(fact.chargeId)) continue
      const isBack = givenBack(facts, fact.chargeId) === fact.amountMicros
      if (!isBack) breaks.push(`${fact.chargeId} paid for no text, and was kept`)
    }
  }
  return breaks
}

function queuedIn(streams: Streams) {
  return [...streams.values()].flatMap(({ stream, groups }) => {
    const companyId = companyOf(stream)
    if (companyId === null) return []
    return groups.flatMap(({ cause, facts }) => {
      const queued = facts.filter((fact): fact is TextQueued => fact.type === "TextQueued")
      return queued.map((fact) => ({ fact, companyId, requestId: cause.split("#")[0] ?? "" }))
    })
  })
}

function givenBack(facts: Facts, chargeId: ChargeId): number {
  const back = facts.filter((fact): fact is ChargeReduced => {
    return fact.type === "ChargeReduced" && fact.chargeId === chargeId
  })
  return back.reduce((sum, { amountMicros }) => sum + amountMicros, 0)
}

function openFaults(streams: Streams): readonly string[] {
  return ledgersIn(streams).flatMap((ledger) => {
    return openIn(ledgerFacts(ledger)).map((id) => `${id} is open, and nobody ended it`)
  })
}

/** What faults may make a process warn of. */
const PASSING = new Set([
  "ClockUnsure",
  "DeadlinePassed",
  "OutcomeUnknown",
  "Unavailable",
  "UnknownOutcome",
])
/** Calls that were served are given up only with the memory of their process. */
const GIVEN_UP = /^what was gathered|^\S+ refused what was gathered/
/** A carrier may be silent for so long that only an operator can help. */
const PARKED = /^work \d+ \(ask-text\) waits for an operator: the carrier has been silent/

/** What does not hold after a run. */
export async function audit(run: AuditedRun): Promise<readonly string[]> {
  const { world, callers, events } = run
  const breaks: string[] = []
  const streams = readStreams(events, breaks)
  return [
    ...breaks,
    ...callers.faults.map((fault) => `a caller was told ${told(fault)}`),
    ...auditStored(streams, world.records),
    ...auditTold(streams, world.records),
    ...auditCallers(run, streams),
    ...auditCalls(run, streams),
    ...auditModels(world, events),
    ...(await auditCheckpoints(world, streams)),
    ...warningsOf(world.records),
  ]
}

/** Open charges that no work will end, while others are still to be ended. */
export function auditOpen(world: World, events: readonly StoredEvent[]): readonly string[] {
  return orphans(world, readStreams(events, []))
}

function warningsOf({ warned }: Records): readonly string[] {
  return warned
    .filter(({ message, error }) => GIVEN_UP.test(message) || !mayPass(error))
    .filter(({ message }) => !PARKED.test(message))
    .map(({ process, message, error }) => `${process} warned: ${message}: ${told(error)}`)
}

function mayPass(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return PASSING.has(error.name) || ("code" in error && error.code === "ECONNRESET")
}

function told(error: unknown): string {
  return error instanceof Error ? `${error.stack} ${String(error.cause ?? "")}` : String(error)
}
