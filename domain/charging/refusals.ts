/**
 * The evidence of refused charges, stored outside the ledger so that refused callers can neither grow it nor
 * contend for it.
 *
 * Stream `refusals-<companyId>`, sampled: the first refusal per (key, limit, window) is stored in full, further
 * ones as a count per minute. It is never loaded while a request is served.
 */
import type { Decider } from "../kernel/decider.ts"
import type { FactOf, EventFormats, ValueOf } from "../kernel/event-format.ts"
import { codecOf, integer, list, asciiText, record, instant } from "../kernel/event-format.ts"
import type { ChargeRefused } from "./ledger-events.ts"
import { chargeRefusedFormat } from "./ledger-events.ts"

const refusalCount = record({
  kind: asciiText,
  minute: instant,
  count: integer,
})

type RefusalCount = ValueOf<typeof refusalCount>

export const refusalFormats = {
  ChargeRefused: chargeRefusedFormat,
  /** How many refusals there were like those stored in full. */
  RefusalsCounted: { version: 1, fields: { at: instant, counters: list(refusalCount) } },
} satisfies EventFormats

/** Every event of a refusals stream. */
export type RefusalEvent = FactOf<typeof refusalFormats>

export const refusalCodec = codecOf(refusalFormats)

/** Records a batch of refusals, in the order they were decided. */
export interface RecordRefusals {
  readonly type: "RecordRefusals"
  readonly refusals: readonly ChargeRefused[]
}

interface RefusalsState {
  /** The kinds stored in full whose window has not ended, with the window's end. */
  readonly kinds: Map<string, number>
}

/** The state of a company's refusals. */
export type Refusals = RefusalsState

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/**
 * Returns the kind of a refusal. Refusals of one kind have the same key, person, reason, limit and window, so one
 * of them is evidence for all.
 */
export function refusalKindOf(refusal: ChargeRefused): string {
  const limit = refusal.refusingLimit === null ? undefined : refusal.limits[refusal.refusingLimit]
  const spender = `${refusal.keyId ?? "-"}:${refusal.personId ?? "-"}:${refusal.code}`
  if (limit === undefined) return `${spender}:${Math.floor(refusal.at / DAY_MS) * DAY_MS}`
  return `${spender}:${limit.holder}:${limit.class}:${limit.period}:${limit.windowStart}`
}

/** The rules of recording refusals. */
export const refusalsDecider: Decider<RecordRefusals, Refusals, RefusalEvent> = {
  initial: () => ({ kinds: new Map() }),
  decide: (command, state, { at }) => {
    const inFull: ChargeRefused[] = []
    const seen = new Set<string>()
    const counts = new Map<string, RefusalCount>()
    for (const refusal of command.refusals) {
      const kind = refusalKindOf(refusal)
      if (!state.kinds.has(kind) && !seen.has(kind)) {
        seen.add(kind)
        inFull.push(refusal)
        continue
      }
      const minute = Math.floor(refusal.at / MINUTE_MS) * MINUTE_MS
      const key = `${kind}@${minute}`
      const count = (counts.get(key)?.count ?? 0) + 1
      counts.set(key, { kind, minute, count })
    }
    if (counts.size === 0) return inFull
    return [...inFull, { type: "RefusalsCounted", at, counters: [...counts.values()] }]
  },
  evolve: (state, event) => {
    if (event.type === "RefusalsCounted") return state
    for (const [kind, ends] of state.kinds) if (ends <= event.at) state.kinds.delete(kind)
    const limit = event.refusingLimit === null ? undefined : event.limits[event.refusingLimit]
    const ends = limit?.resetsAt ?? Math.floor(event.at / DAY_MS + 1) * DAY_MS
    state.kinds.set(refusalKindOf(event), ends)
    return state
  },
}
