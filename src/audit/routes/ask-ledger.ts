/** `POST /api/v1/ledger/ask`: whether a charge by this key would fit. Nothing is charged or stored. */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { itemNamed } from "../../../domain/charging/items.ts"
import { NoSuchPlace, ask } from "../ask.ts"
import { refusal } from "../../frame/routes/answers/refusal.ts"
import { route } from "../../frame/routes/declare/route.ts"
import { isoTime, micros, shortText } from "../../frame/kernel/schema.ts"
import { LimitShown, refusalCode } from "../refusal-shown.ts"

const MOST_ITEM = 100

const Question = z.object({
  item: shortText(MOST_ITEM).meta({ description: "What is bought, by its name in the price book" }),
  quantity: z
    .int({ error: "Must be a whole number." })
    .min(1, "Must be 1 or more.")
    .max(1_000_000_000, "Must be at most 1000000000.")
    .describe("How many of it"),
  at: shortText(MOST_ITEM).optional().meta({
    description: "A former `Ledger-Position`, or `revision:N` of the ledger; default now",
  }),
})

const StoppingLimit = LimitShown.extend({
  askedMicros: micros.describe("What was asked of it, millionths of a dollar"),
  unrecordedMicros: micros.describe(
    "Of what is used the calls that are counted and not recorded yet, millionths of a dollar",
  ),
  windowStart: isoTime.describe("When its day, week or month began"),
}).meta({ id: "StoppingLimit", description: "A limit that a charge does not fit under" })

const Answer = z.object({
  fits: z.boolean().describe("Whether it would be accepted"),
  code: refusalCode.nullable().describe("Why not; null where it fits"),
  item: z.string().describe("What was asked about, by its name in the ledger"),
  quantity: z.int().describe("How many of it"),
  unitPriceMicros: micros.describe("What one costs, millionths of a dollar"),
  amountMicros: micros.describe("What all cost, millionths of a dollar"),
  limit: StoppingLimit.nullable().describe("The limit that stops it; null where none does"),
  fitsAt: isoTime.nullable().meta({
    description:
      "When it would fit if nothing else were spent; null where only funds, an owner or a larger limit help",
  }),
  shortMicros: micros.describe("How much the funds are short of, millionths of a dollar"),
  fundsMicros: micros.describe("The funds, millionths of a dollar"),
  creditLineMicros: micros.describe("What may be spent beyond the funds, millionths of a dollar"),
  ledgerRevision: z.int().describe("The last fact of the ledger that this was decided by"),
  at: isoTime.describe("When this was so"),
})

/** The route. */
export const askLedger = route({
  name: "askLedger",
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
