/**
 * The evidence of every no, kept apart from the ledger so that refused callers can neither grow it
 * nor contend for it.
 *
 * Stream `refusals-<companyId>`, sampled: the first refusal per (key, limit, window) is stored with
 * all its evidence, the further ones as a count per minute. Never folded in the request path.
 */
import type { Decider } from "../kernel/decider.ts"
import type { FactOf, EventFormats, ValueOf } from "../kernel/event-format.ts"
import { codecOf, integer, list, asciiText, record, instant } from "../kernel/event-format.ts"
import type { ChargeRefused } from "./ledger-events.ts"
import { chargeRefusedFormat } from "./ledger-events.ts"

const refusalCount = record({
  /** What `refusalKindOf` says of each of them. */
  kind: asciiText,
  /** The first millisecond of the UTC minute. */
  minute: instant,
  count: integer,
})

/** How many more refusals of one kind there were within a minute. */
type RefusalCount = ValueOf<typeof refusalCount>

/** Everything in a refusals stream. */
export const refusalFormats = {
  ChargeRefused: chargeRefusedFormat,
  /** How many refusals there were like those that are stored in full. */
  RefusalsCounted: { version: 1, fields: { at: instant, counters: list(refusalCount) } },
} satisfies EventFormats

/** Everything in a refusals stream. */
export type RefusalEvent = FactOf<typeof refusalFormats>

/** Writes and reads the facts of refusals. */
export const refusalCodec = codecOf(refusalFormats)

/** Keeps a batch of refusals, in the order they were decided. */
export interface RecordRefusals {
  readonly type: "RecordRefusals"
  readonly refusals: readonly ChargeRefused[]
}

interface RefusalsState {
  /** The kinds stored in full whose window has not ended, with the window's end. */
  readonly kinds: Map<string, number>
}

/** What of a company's refusals a decision must know. */
export type Refusals = RefusalsState

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** Refusals of one kind tell an auditor the same thing: same key, reason, limit and window. */
export function refusalKindOf(refusal: ChargeRefused): string {
  const limit = refusal.refusingLimit === null ? undefined : refusal.limits[refusal.refusingLimit]
  const who = `${refusal.keyId ?? "-"}:${refusal.personId ?? "-"}:${refusal.code}`
  if (limit === undefined) return `${who}:${Math.floor(refusal.at / DAY_MS) * DAY_MS}`
  return `${who}:${limit.holder}:${limit.class}:${limit.period}:${limit.windowStart}`
}

/** The rules of keeping evidence. */
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
      const place = `${kind}@${minute}`
      const count = (counts.get(place)?.count ?? 0) + 1
      counts.set(place, { kind, minute, count })
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
