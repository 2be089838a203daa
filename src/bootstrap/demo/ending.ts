/** How the demo's week ends: a limit that is nearly used, and what it stops. */
import { NAME } from "./script.ts"
import type { Step } from "./step.ts"
import { call, command } from "./step.ts"

/** So much of the week's limit for models is used in the end, in hundredths. */
const USED_PERCENT = 91
const MICROS = 1_000_000

/** A limit as it stands. */
export interface Standing {
  readonly holder: string
  readonly class: string
  readonly period: string
  readonly amountMicros: number
  readonly usedMicros: number
}

/**
 * The last steps. A week by the calendar begins on Monday, the demo's on any day: what is missing to a
 * limit that is nearly used is spent at its end.
 *
 * @param at when, in hours since the demo began
 */
export function ending(at: number, limits: readonly Standing[]): readonly Step[] {
  const ai = limits.find(
    (one) => one.holder === "company" && one.class === "ai" && one.period === "week",
  )
  if (ai === undefined) throw new Error("the demo's company has no limit of a week for models")
  const nearly = Math.floor((ai.amountMicros * USED_PERCENT) / 100)
  const missing = Math.max(0, nearly - ai.usedMicros)
  const charge = (n: number, item: string, micros: number) => ({
    ...{ company: NAME, class: "ai", person: "{cleo}", item, id: `evaluation-${n}` },
    dollars: (Math.round(micros / 10_000) / 100).toFixed(2),
  })
  const parts = missing < 0.1 * MICROS ? [] : [0.45, 0.35, 0.2]
  return [
    ...parts.map((part, n) =>
      command(at + n / 100, "charge", charge(n, "evaluation run", missing * part)),
    ),
    command(at + 0.04, "charge", charge(8, "fine-tuning", 6.4 * MICROS), { mayBeRefused: true }),
    call(at + 0.05, "shop", "POST /api/v1/phone/messages", {
      ...{ to: "+14155550111", from: "{number}", body: "Your order has arrived." },
    }),
    command(at + 0.06, "charge", charge(9, "code review", 2.9 * MICROS), { mayBeRefused: true }),
  ]
}
