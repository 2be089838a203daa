/**
 * Compares every response of a run with the store: accepted commands are stored as answered, rejections and empty
 * decisions were right at some moment between request and response, reads were at most a second old, and no response
 * came after its deadline.
 */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type {
  ChargeCommand,
  LedgerCommand,
  LedgerRefusal,
} from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent, ChargeRefused } from "../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import { categoryOf } from "../../domain/kernel/aggregate.ts"
import { NO_HASH, expectedHash, readMetadata } from "../../src/frame/kernel/envelope.ts"
import { PROGRAM } from "../../src/slices.ts"
import { canonicalText } from "../charging/law.ts"
import type { LedgerFacts } from "../charging/reference-views.ts"
import {
  limitReadingsFor,
  creditLineIn,
  fundsIn,
  isSwitchedOn,
  limitsOnSpending,
  limitReadingOf,
} from "../charging/reference-views.ts"
import { decideByReference } from "../charging/reference-ledger.ts"
import type { CommandRecord, BufferedCallRecord, ReadRecord, RunRecords } from "./records.ts"

/** The facts that one command stored. */
export interface FactGroup {
  readonly cause: string
  /** The revision of the first fact. */
  readonly from: number
  readonly facts: AnyFact[]
  /** The facts as stored text. */
  readonly texts: string[]
}

/** A stream, decoded. */
export interface StoredStream {
  readonly stream: string
  readonly events: readonly StoredEvent[]
  readonly facts: readonly AnyFact[]
  readonly hashes: readonly string[]
  readonly groups: readonly FactGroup[]
}

/** Decodes everything that is stored; broken chains and forms are added to `breaks`. */
export function readStreams(
  events: readonly StoredEvent[],
  breaks: string[],
): ReadonlyMap<string, StoredStream> {
  const byStream = Map.groupBy(events, ({ stream }) => stream)
  const streams = [...byStream].map(([stream, ownEvents]) => readStream(stream, ownEvents, breaks))
  return new Map(streams.map((one) => [one.stream, one]))
}

function readStream(
  stream: string,
  events: readonly StoredEvent[],
  breaks: string[],
): StoredStream {
  const codec = PROGRAM.streams.codecOf(stream)
  const facts: AnyFact[] = []
  const hashes: string[] = []
  const groups: FactGroup[] = []
  let before = NO_HASH
  for (const [revision, stored] of events.entries()) {
    const { hash, version, command } = readMetadata(stored.metadata)
    const isIntact = hash === expectedHash(stored, before) && stored.revision === revision
    if (!isIntact) breaks.push(`the chain of ${stream} is broken at ${revision}`)
    const fact = codec.decode(stored.type, version, stored.data)
    if (codec.encode(fact) !== stored.data)
      breaks.push(`${stream} ${revision} is not in its stored form`)
    if (fact.at < (facts.at(-1)?.at ?? 0))
      breaks.push(`${stream} ${revision} is earlier than its predecessor`)
    facts.push(fact)
    hashes.push(hash)
    before = hash
    const group = groups.at(-1)
    const current = group?.cause === command ? group : newGroup(command, revision)
    if (current !== group) groups.push(current)
    current.facts.push(fact)
    current.texts.push(stored.data)
  }
  return { stream, events, facts, hashes, groups }
}

function newGroup(cause: string, from: number): FactGroup {
  return { cause, from, facts: [], texts: [] }
}

/** The facts of a ledger. */
export function ledgerFactsIn({ facts }: StoredStream): readonly LedgerEvent[] {
  return facts as readonly LedgerEvent[]
}

/** The ledgers among the streams. */
export function ledgersIn(streams: ReadonlyMap<string, StoredStream>): readonly StoredStream[] {
  return [...streams.values()].filter(({ stream }) => categoryOf(stream) === "ledger")
}

type Streams = ReadonlyMap<string, StoredStream>

/** Errors of `Runner.execute` after which nothing is stored. */
const NOTHING_STORED_ERRORS = new Set([
  "Overloaded",
  "DeadlinePassed",
  "ClockUnsure",
  "Unavailable",
])
/** Commands whose decision depends on the time, not on the facts alone. */
const CLOCK_COMMANDS = new Set(["ChargeApiCalls", "CloseMonth"])

/** When many callers wait, their deadlines are checked this often. */
const MAX_LATE_MS = 20

/** Lists the responses that the store contradicts. */
export function auditResponses(streams: Streams, records: RunRecords): readonly string[] {
  const breaks = [
    ...records.commands.map((one) => ({ one, fault: commandFault(streams, one) })),
    ...records.reads.map((one) => ({ one, fault: readFault(streams, one) })),
    ...records.bufferedCalls.map((one) => ({ one, fault: callFault(streams, one) })),
    ...records.commands.map((one) => ({ one, fault: lateFault(one) })),
    ...records.bufferedCalls.map((one) => ({ one, fault: lateFault(one) })),
  ]
  return breaks.flatMap(({ one, fault }) => {
    return fault === null ? [] : [`${one.stream} by ${one.process}: ${fault}`]
  })
}

function lateFault({ lateMs }: CommandRecord | BufferedCallRecord): string | null {
  return lateMs === null || lateMs <= MAX_LATE_MS ? null : `a caller was answered ${lateMs} ms late`
}

function factsOf(streams: Streams, stream: string): LedgerFacts {
  const stored = streams.get(stream)
  return stored === undefined ? [] : ledgerFactsIn(stored)
}

function commandFault(streams: Streams, record: CommandRecord): string | null {
  const { stream, cause, outcome, error } = record
  const group = streams.get(stream)?.groups.find((one) => one.cause === cause)
  if (error !== null) {
    const isStored = NOTHING_STORED_ERRORS.has(error.name) && group !== undefined
    return isStored ? `${cause} was answered with ${error.name}, but is stored` : null
  }
  if (outcome === null) return null
  const facts: readonly Fact[] = outcome.accepted ? outcome.facts : []
  if (facts.length > 0) {
    const codec = PROGRAM.streams.codecOf(stream)
    const texts = facts.map((fact) => codec.encode(fact as AnyFact))
    const isStored = group !== undefined && canonicalText(group.texts) === canonicalText(texts)
    return isStored
      ? null
      : `${cause} was accepted, but is not stored that way: ${canonicalText(facts)}`
  }
  if (group !== undefined)
    return `${cause} was not accepted, but is stored: ${canonicalText(group.facts)}`
  if (categoryOf(stream) !== "ledger") return null
  if (outcome.accepted) return emptyAnswerFault(factsOf(streams, stream), record)
  const refusal = outcome.refusal as LedgerRefusal
  return refusal.type === "ChargeRefused"
    ? refusedChargeFault(factsOf(streams, stream), record, refusal)
    : refusalFault(factsOf(streams, stream), record, refusal)
}

/** Every state that the ledger had between request and response. */
function* possibleFactsOf(facts: LedgerFacts, record: CommandRecord): Generator<LedgerFacts> {
  for (let length = record.lengthAtRequest; length <= record.lengthAtResponse; length += 1) {
    yield facts.slice(0, length)
  }
}

function emptyAnswerFault(facts: LedgerFacts, record: CommandRecord): string | null {
  const command = record.command as LedgerCommand
  if (CLOCK_COMMANDS.has(command.type)) return null
  for (const known of possibleFactsOf(facts, record)) {
    const at = known.at(-1)?.at ?? 0
    const answer = decideByReference({ facts: known, buffered: [] }, { ...command, at })
    if (!isRefusal(answer) && answer.length === 0) return null
  }
  return `${record.cause} was answered with no facts without a reason: ${canonicalText(command)}`
}

function refusalFault(
  facts: LedgerFacts,
  record: CommandRecord,
  { at, code }: Exclude<LedgerRefusal, ChargeRefused>,
): string | null {
  const command = record.command as LedgerCommand
  for (const known of possibleFactsOf(facts, record)) {
    const answer = decideByReference({ facts: known, buffered: [] }, { ...command, at })
    if (isRefusal(answer) && answer.code === code) return null
  }
  return `${record.cause} was rejected with ${code} without a reason: ${canonicalText(command)}`
}

/**
 * Checks a refused charge at the revision that the refusal names. The process's buffered calls count in its evidence
 * but not in the store, so the check subtracts them.
 */
function refusedChargeFault(
  facts: LedgerFacts,
  { command, cause, lengthAtRequest, lengthAtResponse }: CommandRecord,
  refusal: ChargeRefused,
): string | null {
  const length = refusal.ledgerRevision + 1
  if (length < lengthAtRequest || length > lengthAtResponse) {
    return `${cause} was rejected at ${length}, requested at ${lengthAtRequest}, answered at ${lengthAtResponse}`
  }
  const charge = command as ChargeCommand
  const known = { facts: facts.slice(0, length), buffered: [] }
  const readings = limitReadingsFor(known, charge, refusal.at, charge.amountMicros)
  const limits = readings.map((reading, i): LimitReading => {
    const pendingMicros = refusal.limits[i]?.unrecordedMicros ?? 0
    const usedMicros = reading.usedMicros + pendingMicros
    const remainingMicros = Math.max(reading.amountMicros - usedMicros, 0)
    return { ...reading, unrecordedMicros: pendingMicros, usedMicros, remainingMicros }
  })
  if (canonicalText(limits) !== canonicalText(refusal.limits)) {
    return `${cause} was rejected by ${canonicalText(refusal.limits)}, but the limits are ${canonicalText(limits)}`
  }
  const code = codeOf(known.facts, charge, limits)
  return code === refusal.code
    ? null
    : `${cause} was rejected with ${refusal.code} instead of ${code}`
}

function codeOf(
  facts: LedgerFacts,
  charge: ChargeCommand,
  limits: readonly LimitReading[],
): string | null {
  const { amountMicros, exemption } = charge
  if (isSwitchedOn(facts, "LedgerClosed", "LedgerReopened")) return "ledger_closed"
  if (isSwitchedOn(facts, "AccountLocked", "AccountUnlocked")) return "account_locked"
  const isOver = limits.some((one) => one.usedMicros + amountMicros > one.amountMicros)
  if (isOver) return "spend_limit_reached"
  const isShort = amountMicros > 0 && amountMicros > fundsIn(facts) + creditLineIn(facts)
  return isShort && exemption === null ? "payment_required" : null
}

function readFault(streams: Streams, record: ReadRecord): string | null {
  const { revision, fundsMicros, isLatest, lengthAtRequest, lengthOneSecondBefore } = record
  const facts = factsOf(streams, record.stream)
  const least = isLatest ? lengthAtRequest : Math.min(lengthAtRequest, lengthOneSecondBefore)
  if (revision + 1 < least) return `read at ${revision + 1}, although it had ${least} events`
  const stored = fundsIn(facts.slice(0, revision + 1))
  const isSame = revision < facts.length && stored === fundsMicros
  return isSame ? null : `read with funds of ${fundsMicros} at ${revision + 1}, not ${stored}`
}

/** A rejected call was over a limit by what was stored up to a second before, plus the process's buffered calls. */
function callFault(streams: Streams, record: BufferedCallRecord): string | null {
  const { call, answer, lengthBefore, lengthAtResponse } = record
  if (answer === null || answer === "gathered" || answer instanceof Error) return null
  const facts = factsOf(streams, record.stream)
  for (let length = lengthBefore; length <= lengthAtResponse; length += 1) {
    const known = { facts: facts.slice(0, length), buffered: [] }
    const isRight = limitsOnSpending(known.facts, { ...call, class: "general" }).some((limit) => {
      const { usedMicros } = limitReadingOf(known, limit, answer.windowStart, 0)
      const isSame = limit.amountMicros === answer.amountMicros && limit.period === answer.period
      const isFull = answer.usedMicros + answer.askedMicros > answer.amountMicros
      return isSame && isFull && usedMicros + answer.unrecordedMicros === answer.usedMicros
    })
    if (isRight) return null
  }
  return `a call was rejected by ${canonicalText(answer)}`
}
