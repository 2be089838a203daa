/** `POST /api/v1/ledger/ask`: whether a charge by this key would fit. Nothing is charged or stored. */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { NoSuchPlace, ask, itemNamed } from "../ask.ts"
import { refusal } from "../../frame/calls/refusal.ts"
import { route } from "../../frame/calls/route.ts"
import { isoTime, micros, shortText } from "../../frame/kernel/schema.ts"
import { LimitShown, refusalCode } from "./schema.ts"

const MOST_ITEM = 100

const Question = z.object({
  item: shortText(MOST_ITEM).meta({ description: "What is bought, by its name in the price book" }),
  quantity: z
    .int({ error: "Must be a whole number." })
    .min(1, "Must be 1 or more.")
    .max(1_000_000_000, "Must be at most 1000000000."),
  at: shortText(MOST_ITEM).optional().meta({
    description: "A former `Ledger-Position`, or `revision:N` of the ledger; default now",
  }),
})

const Answer = z.object({
  fits: z.boolean(),
  code: refusalCode.nullable(),
  item: z.string(),
  quantity: z.int(),
  unitPriceMicros: micros,
  amountMicros: micros,
  limit: LimitShown.extend({
    askedMicros: micros,
    pendingMicros: micros,
    windowStart: isoTime,
  }).nullable(),
  fitsAt: isoTime.nullable().meta({
    description:
      "When it would fit if nothing else were spent; null where only funds, an owner or a larger limit help",
  }),
  shortMicros: micros,
  fundsMicros: micros,
  creditLineMicros: micros,
  ledgerRevision: z.int(),
  at: isoTime,
})

/** The route. */
export const askLedger = route({
  method: "POST",
  url: "/api/v1/ledger/ask",
  group: "ledger",
  summary: "Ask whether a charge by this key would fit",
  example: { body: { item: "text", quantity: 3 } },
  operation: "ledger.read",
  counted: false,
  body: Question,
  reply: Answer,
  looks: [ledgerOf],
  beyondSpec: "What would be decided can be asked before it is; nothing is charged or stored.",
  handle: async (ports, { companyId, spender }, { body }) => {
    const { item: named, quantity, at = null } = body
    const item = itemNamed(named)
    if (item === null) return invalid("item", "Nothing of this name has a price.")
    try {
      const question = { companyId, spender, item, quantity, at }
      return { ok: true, body: await ask(ports, question) }
    } catch (error) {
      if (!(error instanceof NoSuchPlace)) throw error
      return invalid("at", error.message)
    }
  },
})

function invalid(field: string, message: string) {
  const fields = { [field]: message }
  return { ok: false as const, refusal: refusal("validation", message, { fields }) }
}
