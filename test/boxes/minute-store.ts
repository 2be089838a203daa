/** A store in memory, the rows of work that follow from what is in it, and the bill. */
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import type { WorkResult } from "../../adapters/work/port.ts"
import type { ChargeRow } from "../../projections/charging/charge-lines.ts"
import { lineOf } from "../../projections/charging/charge-lines.ts"
import type { WorkItem } from "../../projections/kernel/follow-ups.ts"
import type { Recorded } from "../../projections/kernel/projection.ts"
import { clearBox, clearSlot } from "../../src/boxes/reactions/end-box.ts"
import { makeBox } from "../../src/boxes/reactions/make-box.ts"
import { stopBoxes } from "../../src/boxes/reactions/stop-boxes.ts"
import { tickBox } from "../../src/boxes/reactions/tick-box.ts"
import { reconciledBox } from "../../src/boxes/reconciled-box.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { endedBy, itemsOf } from "../../src/frame/effects/reaction.ts"
import { reconciler } from "../../src/frame/effects/reconcile.ts"
import { PROGRAM } from "../../src/slices.ts"

const REACTIONS: readonly Reaction[] = [
  ...makeBox,
  tickBox,
  clearBox,
  clearSlot,
  stopBoxes,
  reconciler([reconciledBox]),
]

/** A row of work. */
export interface Row {
  readonly key: string
  readonly item: WorkItem
  readonly reaction: Reaction
  dueAt: number
  tries: number
  isHandedOver: boolean
}

/** Everything that is stored, as its facts, and what follows from them at once. */
export class MinuteStore {
  readonly store: EventStore
  readonly facts: Recorded[] = []
  readonly rows = new Map<string, Row>()
  readonly charges = new Map<string, ChargeRow>()
  readonly #reactions: readonly Reaction[]

  /** @param reactions what follows from facts; default what does of boxes */
  constructor(reactions: readonly Reaction[] = REACTIONS) {
    this.#reactions = reactions
    const memory = openMemoryEventStore()
    const seen = new Set<string>()
    this.store = {
      ...memory,
      append: async (stream, events, expected) => {
        const appended = await memory.append(stream, events, expected)
        for (const [i, event] of events.entries()) {
          const revision = appended.revision - events.length + 1 + i
          // The same append once more is the same one.
          const key = `${stream}/${revision}`
          if (!seen.has(key))
            this.#take({ ...event, stream, revision, position: appended.position })
          seen.add(key)
        }
        return appended
      },
    }
  }

  /** What became of a row. */
  settle(row: Row, result: WorkResult, now: number): void {
    // Another process may have settled it meanwhile, or a fact ended it.
    if (this.rows.get(row.key) !== row) return
    switch (result.result) {
      case "done":
        this.rows.delete(row.key)
        return
      case "later":
        row.dueAt = result.dueAt
        row.tries = 0
        return
      case "retry":
        row.dueAt = now + result.afterMs
        if (result.isUndone === true) row.isHandedOver = false
        return
      case "let go":
        return
      case "park":
        throw new Error(`${row.key} waits for an operator: ${result.reason}`)
    }
  }

  #take(event: StoredEvent): void {
    const recorded = PROGRAM.streams.recorded(event)
    this.facts.push(recorded)
    for (const item of itemsOf(this.#reactions, recorded)) {
      const key = `${item.kind} ${item.name}`
      const reaction = this.#reactions.find(({ kind }) => kind === item.kind) as Reaction
      const row = { key, item, reaction, dueAt: item.dueAt, tries: 0, isHandedOver: false }
      if (!this.rows.has(key)) this.rows.set(key, row)
    }
    for (const { kind, name } of endedBy(this.#reactions, recorded))
      this.rows.delete(`${kind} ${name}`)
    this.#bill(recorded)
  }

  #bill({ fact, companyId, revision }: Recorded): void {
    if (companyId === null) return
    if (fact.type === "Charged") {
      const line = lineOf({ fact, companyId, revision })
      if (line !== null) this.charges.set(fact.chargeId, line)
    }
    if (fact.type === "ChargesClosed") for (const id of fact.chargeIds) this.#end(id, 0)
    if (fact.type === "ChargeGivenBack") this.#end(fact.chargeId, fact.amountMicros)
  }

  #end(chargeId: string, backMicros: number): void {
    const row = this.charges.get(chargeId)
    if (row === undefined) return
    const given_back_micros = row.given_back_micros + backMicros
    const isAll = backMicros > 0 && given_back_micros === -row.amount_micros
    this.charges.set(chargeId, {
      ...row,
      given_back_micros,
      state: isAll ? "given_back" : "final",
    })
  }
}
