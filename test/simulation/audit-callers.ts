/** What callers asked for is there once; what a text paid for went out, or came back. */
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import { companyOf } from "../../domain/kernel/streams.ts"
import type { ChargeGivenBack, Charged } from "../../domain/charging/ledger-events.ts"
import type { TextQueued } from "../../domain/phone/recipient-events.ts"
import type { Facts } from "../charging/plain-facts.ts"
import { openIn } from "../charging/plain-facts.ts"
import type { AuditedRun } from "./audited-run.ts"
import type { StoredStream } from "./stored.ts"
import { ledgerFacts, ledgersIn } from "./stored.ts"

type Streams = ReadonlyMap<string, StoredStream>

/** What of the callers' charges and texts is not as they were told. */
export function auditCallers(run: AuditedRun, streams: Streams): readonly string[] {
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
      if (fact.type !== "Charged" || !fact.open || paidBy.has(fact.chargeId)) continue
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
  const back = facts.filter((fact): fact is ChargeGivenBack => {
    return fact.type === "ChargeGivenBack" && fact.chargeId === chargeId
  })
  return back.reduce((sum, { amountMicros }) => sum + amountMicros, 0)
}

function openFaults(streams: Streams): readonly string[] {
  return ledgersIn(streams).flatMap((ledger) => {
    return openIn(ledgerFacts(ledger)).map((id) => `${id} is open, and nobody ended it`)
  })
}
