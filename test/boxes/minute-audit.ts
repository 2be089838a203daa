/** The rule of minutes, checked from stored facts: those that began are charged, except for a refused last one. */
import type { BoxFact } from "../../domain/boxes/box-events.ts"
import { BOX_MINUTE_MS } from "../../domain/boxes/box.ts"
import type { ProjectedFact } from "../../projections/kernel/projection.ts"

interface ObservedBox {
  readonly started: BoxFact<"BoxStarted"> | null
  runningAt: number | null
  end: BoxFact<"BoxStopped"> | BoxFact<"BoxFailed"> | null
  readonly startedMinutes: number[]
  readonly refusedMinutes: number[]
}

interface BilledMinute {
  readonly amountMicros: number
  readonly resource: string | null
  chargeCount: number
  refundedMicros: number
  isPending: boolean
}

export interface MinuteAudit {
  /** Violations of the rule, one line each. */
  readonly violations: readonly string[]
  /** Number of facts by type, so that a test can check its coverage. */
  readonly occurrences: ReadonlyMap<string, number>
  /** What the minutes of each box cost. */
  readonly owedMicros: ReadonlyMap<string, number>
}

/** Audits a history; `isOver` if all of its jobs are done. */
export function auditMinutes(facts: readonly ProjectedFact[], isOver: boolean): MinuteAudit {
  const violations: string[] = []
  const { boxes, bill, slots, happened: occurrences } = collectFacts(facts, violations)
  const owedMicros = new Map<string, number>()
  for (const [boxId, box] of boxes) {
    const { started } = box
    if (started === null) continue
    const due = new Set(box.startedMinutes.filter((minute) => !box.refusedMinutes.includes(minute)))
    const { unitPriceMicros, chargeId } = started
    for (const minute of box.startedMinutes) {
      const name = `${boxId}:${minute}`
      const charge = bill.get(name)
      const paid = charge === undefined ? 0 : charge.amountMicros - charge.refundedMicros
      if (due.has(minute) ? isOver && paid !== unitPriceMicros : isOver && paid !== 0) {
        violations.push(`${name} cost ${paid}, ${due.has(minute) ? "due" : "refused"}`)
      }
    }
    const failed = box.end?.type === "BoxFailed"
    const first = bill.get(chargeId)
    const firstMicros = (first?.amountMicros ?? 0) - (first?.refundedMicros ?? 0)
    if (isOver && first?.isPending !== false)
      violations.push(`the first minute of ${boxId} is pending`)
    if (isOver && firstMicros !== (failed ? 0 : unitPriceMicros)) {
      violations.push(`the first minute of ${boxId} cost ${firstMicros}`)
    }
    if (isOver && slots.has(boxId) !== (box.end === null)) violations.push(`${boxId} and its slot`)
    slots.delete(boxId)
    const owed = failed ? 0 : unitPriceMicros * (1 + due.size)
    owedMicros.set(boxId, owed)
  }
  if (isOver && slots.size > 0) violations.push(`slots without a box: ${[...slots].join()}`)
  for (const [name, { chargeCount, amountMicros, refundedMicros, isPending, resource }] of bill) {
    if (chargeCount > 1) violations.push(`${name} was charged ${chargeCount} times`)
    if (refundedMicros > amountMicros) violations.push(`${name} refunded more than it cost`)
    const [boxId = "", minute] = name.split(":")
    const box = boxes.get(boxId)
    const isFirst = minute === "1"
    if (!isFirst && box?.startedMinutes.includes(Number(minute)) !== true) {
      violations.push(`${name} was charged and never began`)
    }
    const isNothing = isFirst && (boxes.get(resource ?? "")?.started ?? null) === null
    if (isOver && (isPending || (isNothing && refundedMicros !== amountMicros))) {
      violations.push(`${name} for ${String(resource)} is pending or not refunded`)
    }
  }
  return { violations, occurrences, owedMicros }
}

function collectFacts(facts: readonly ProjectedFact[], wrong: string[]) {
  const boxes = new Map<string, ObservedBox>()
  const bill = new Map<string, BilledMinute>()
  const slots = new Set<string>()
  const happened = new Map<string, number>()
  const blank = { started: null, runningAt: null, end: null }
  for (const { fact } of facts) {
    const of =
      "reason" in fact && fact.type === "BoxStopped" ? `${fact.type} ${fact.reason}` : fact.type
    happened.set(of, (happened.get(of) ?? 0) + 1)
    if ("boxId" in fact && !boxes.has(fact.boxId)) {
      boxes.set(fact.boxId, { ...blank, startedMinutes: [], refusedMinutes: [] })
    }
    const box = "boxId" in fact ? (boxes.get(fact.boxId) as ObservedBox) : null
    switch (fact.type) {
      case "SlotTaken":
        slots.add(fact.holderId)
        if (!boxes.has(fact.holderId))
          boxes.set(fact.holderId, { ...blank, startedMinutes: [], refusedMinutes: [] })
        break
      case "SlotFreed":
        slots.delete(fact.holderId)
        break
      case "BoxStarted":
        boxes.set(fact.boxId, { ...blank, started: fact, startedMinutes: [], refusedMinutes: [] })
        break
      case "BoxRunning":
        if (box !== null) box.runningAt = fact.at
        break
      case "BoxMinuteStarted":
        if (box !== null) wrong.push(...minuteStartFaults(fact, box))
        box?.startedMinutes.push(fact.minute)
        break
      case "BoxMinuteRefused":
        if (box?.startedMinutes.at(-1) !== fact.minute)
          wrong.push(`${fact.boxId}:${fact.minute} refused`)
        box?.refusedMinutes.push(fact.minute)
        break
      case "BoxStopped":
      case "BoxFailed":
        if (box !== null && box.end !== null) wrong.push(`${fact.boxId} ended twice`)
        if (box !== null) box.end = fact
        break
      case "Charged": {
        if (!fact.item.startsWith("box_minute_")) break
        const before = bill.get(fact.chargeId)
        const { amountMicros, resource, isPending } = fact
        const chargeCount = (before?.chargeCount ?? 0) + 1
        bill.set(fact.chargeId, {
          amountMicros,
          resource,
          chargeCount,
          refundedMicros: 0,
          isPending,
        })
        break
      }
      case "ChargesSettled":
        for (const id of fact.chargeIds) Object.assign(bill.get(id) ?? {}, { isPending: false })
        break
      case "ChargeReduced": {
        const charge = bill.get(fact.chargeId)
        if (charge === undefined) break
        charge.refundedMicros += fact.amountMicros
        charge.isPending = false
        break
      }
      default:
    }
  }
  return { boxes, bill, slots, happened }
}

/** Violations of the start of a minute. */
function minuteStartFaults(
  { boxId, minute, at }: BoxFact<"BoxMinuteStarted">,
  box: ObservedBox,
): readonly string[] {
  const name = `${boxId}:${minute}`
  const wrong: string[] = []
  if (box.end !== null) wrong.push(`${name} began after the end`)
  if (minute !== box.startedMinutes.length + 2) wrong.push(`${name} began out of turn`)
  if (box.runningAt === null || at <= box.runningAt + (minute - 1) * BOX_MINUTE_MS) {
    wrong.push(`${name} began before its time`)
  }
  return wrong
}
