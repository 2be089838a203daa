/** The law of minutes, from what is stored and nothing else: charged are those that began, less a refused last one. */
import type { BoxFact } from "../../domain/boxes/box-events.ts"
import { MINUTE_MS } from "../../domain/boxes/box.ts"
import type { Recorded } from "../../projections/kernel/projection.ts"

interface Seen {
  readonly started: BoxFact<"BoxStarted"> | null
  runningAt: number | null
  end: BoxFact<"BoxStopped"> | BoxFact<"BoxFailed"> | null
  readonly begun: number[]
  readonly refused: number[]
}

interface Billed {
  readonly amountMicros: number
  readonly resource: string | null
  times: number
  backMicros: number
  isOpen: boolean
}

/** What a history came to. */
export interface Reckoning {
  /** What is wrong with it, a line each. */
  readonly wrong: readonly string[]
  /** How often what happened, so that a test sees that it did. */
  readonly happened: ReadonlyMap<string, number>
  /** What all minutes that count cost, by each company. */
  readonly owedMicros: ReadonlyMap<string, number>
}

/** Reckons a history up; `isOver` where everything that follows from it was done. */
export function reckon(facts: readonly Recorded[], isOver: boolean): Reckoning {
  const wrong: string[] = []
  const { boxes, bill, slots, happened } = gather(facts, wrong)
  const owedMicros = new Map<string, number>()
  for (const [boxId, box] of boxes) {
    const { started } = box
    if (started === null) continue
    const due = new Set(box.begun.filter((minute) => !box.refused.includes(minute)))
    const { unitPriceMicros, chargeId } = started
    for (const minute of box.begun) {
      const name = `${boxId}:${minute}`
      const charge = bill.get(name)
      const paid = charge === undefined ? 0 : charge.amountMicros - charge.backMicros
      if (due.has(minute) ? isOver && paid !== unitPriceMicros : isOver && paid !== 0) {
        wrong.push(`${name} cost ${paid}, ${due.has(minute) ? "due" : "refused"}`)
      }
    }
    const failed = box.end?.type === "BoxFailed"
    const first = bill.get(chargeId)
    const firstMicros = (first?.amountMicros ?? 0) - (first?.backMicros ?? 0)
    if (isOver && first?.isOpen !== false) wrong.push(`the first minute of ${boxId} is open`)
    if (isOver && firstMicros !== (failed ? 0 : unitPriceMicros)) {
      wrong.push(`the first minute of ${boxId} cost ${firstMicros}`)
    }
    if (isOver && slots.has(boxId) !== (box.end === null)) wrong.push(`${boxId} and its slot`)
    slots.delete(boxId)
    const owed = failed ? 0 : unitPriceMicros * (1 + due.size)
    owedMicros.set(boxId, owed)
  }
  if (isOver && slots.size > 0) wrong.push(`slots of nothing: ${[...slots].join()}`)
  for (const [name, { times, amountMicros, backMicros, isOpen, resource }] of bill) {
    if (times > 1) wrong.push(`${name} was charged ${times} times`)
    if (backMicros > amountMicros) wrong.push(`${name} gave back more than it cost`)
    const [boxId = "", minute] = name.split(":")
    const box = boxes.get(boxId)
    const isFirst = minute === "1"
    if (!isFirst && box?.begun.includes(Number(minute)) !== true) {
      wrong.push(`${name} was charged and never began`)
    }
    const isNothing = isFirst && (boxes.get(resource ?? "")?.started ?? null) === null
    if (isOver && (isOpen || (isNothing && backMicros !== amountMicros))) {
      wrong.push(`${name} for ${String(resource)} is kept`)
    }
  }
  return { wrong, happened, owedMicros }
}

function gather(facts: readonly Recorded[], wrong: string[]) {
  const boxes = new Map<string, Seen>()
  const bill = new Map<string, Billed>()
  const slots = new Set<string>()
  const happened = new Map<string, number>()
  const blank = { started: null, runningAt: null, end: null }
  for (const { fact } of facts) {
    const of =
      "reason" in fact && fact.type === "BoxStopped" ? `${fact.type} ${fact.reason}` : fact.type
    happened.set(of, (happened.get(of) ?? 0) + 1)
    if ("boxId" in fact && !boxes.has(fact.boxId)) {
      boxes.set(fact.boxId, { ...blank, begun: [], refused: [] })
    }
    const box = "boxId" in fact ? (boxes.get(fact.boxId) as Seen) : null
    switch (fact.type) {
      case "SlotTaken":
        slots.add(fact.holderId)
        if (!boxes.has(fact.holderId))
          boxes.set(fact.holderId, { ...blank, begun: [], refused: [] })
        break
      case "SlotFreed":
        slots.delete(fact.holderId)
        break
      case "BoxStarted":
        boxes.set(fact.boxId, { ...blank, started: fact, begun: [], refused: [] })
        break
      case "BoxRunning":
        if (box !== null) box.runningAt = fact.at
        break
      case "BoxMinuteStarted":
        if (box !== null) wrong.push(...beginning(fact, box))
        box?.begun.push(fact.minute)
        break
      case "BoxMinuteRefused":
        if (box?.begun.at(-1) !== fact.minute) wrong.push(`${fact.boxId}:${fact.minute} refused`)
        box?.refused.push(fact.minute)
        break
      case "BoxStopped":
      case "BoxFailed":
        if (box !== null && box.end !== null) wrong.push(`${fact.boxId} ended twice`)
        if (box !== null) box.end = fact
        break
      case "Charged": {
        if (!fact.item.startsWith("box_minute_")) break
        const before = bill.get(fact.chargeId)
        const { amountMicros, resource, isPending: isOpen } = fact
        const times = (before?.times ?? 0) + 1
        bill.set(fact.chargeId, { amountMicros, resource, times, backMicros: 0, isOpen })
        break
      }
      case "ChargesSettled":
        for (const id of fact.chargeIds) Object.assign(bill.get(id) ?? {}, { isOpen: false })
        break
      case "ChargeReduced": {
        const charge = bill.get(fact.chargeId)
        if (charge === undefined) break
        charge.backMicros += fact.amountMicros
        charge.isOpen = false
        break
      }
      default:
    }
  }
  return { boxes, bill, slots, happened }
}

/** What is wrong with the beginning of a minute. */
function beginning(
  { boxId, minute, at }: BoxFact<"BoxMinuteStarted">,
  box: Seen,
): readonly string[] {
  const name = `${boxId}:${minute}`
  const wrong: string[] = []
  if (box.end !== null) wrong.push(`${name} began behind the end`)
  if (minute !== box.begun.length + 2) wrong.push(`${name} began out of turn`)
  if (box.runningAt === null || at <= box.runningAt + (minute - 1) * MINUTE_MS) {
    wrong.push(`${name} began before its time`)
  }
  return wrong
}
