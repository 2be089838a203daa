/** `GET /api/v1/limits`: the limits that apply to this key, and the funds. */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { accountOf, limitsFor } from "../../../domain/charging/ledger-views.ts"
import type { Ledger } from "../../../domain/charging/ledger-state.ts"
import type { Spender } from "../../../domain/charging/limits.ts"
import { shownLimit } from "../refusal-shown.ts"
import { route } from "../../frame/routes/declare/route.ts"
import { micros } from "../../frame/kernel/schema.ts"
import { LimitShown } from "./schema.ts"

const Limits = z.object({
  limits: z.array(LimitShown).meta({
    description: "Those that a charge by this key must fit, in the order key, person, company",
  }),
  funds: z
    .object({
      fundsMicros: micros.describe("The funds, millionths of a dollar"),
      creditLineMicros: micros.describe("What may be spent beyond them, millionths of a dollar"),
      availableMicros: micros.meta({
        description: "What may still be spent as far as funds go, millionths of a dollar",
      }),
      prepaidOnly: z.boolean().describe("Whether the company pays from funds alone"),
      locked: z.boolean().describe("Whether a missed payment locks the account"),
    })
    .describe("What the company has to spend"),
})

/** The route. */
export const readLimitsOfKey = route({
  name: "readLimits",
  method: "GET",
  url: "/api/v1/limits",
  group: "ledger",
  summary: "Read the limits that apply to this key, and the funds",
  operation: "ledger.read",
  counted: false,
  reply: Limits,
  looks: [ledgerOf],
  beyondSpec: "A caller can see a no coming, and when it is over.",
  handle: async (ports, { companyId, spender }) => ({
    ok: true,
    body: await ports.runner.read(ledgerOf(companyId), (state, at) => standing(state, spender, at)),
  }),
})

function standing(state: Ledger, spender: Spender, at: number): z.infer<typeof Limits> {
  const applying = (["ai", "general"] as const).flatMap((one) =>
    limitsFor(state, spender, one, at, 0),
  )
  const order = ["key", "person", "company"]
  const limits = applying
    // A key's own limit counts every class: it is the same one both times.
    .filter((limit, i) => limit.class !== "all" || applying.findIndex(isOfKey) === i)
    .toSorted((a, b) => order.indexOf(a.holder) - order.indexOf(b.holder))
  const { fundsMicros, creditLineMicros, prepaidOnly, locked } = accountOf(state)
  const availableMicros = locked ? 0 : Math.max(0, fundsMicros + creditLineMicros)
  const funds = { fundsMicros, creditLineMicros, availableMicros, prepaidOnly, locked }
  return { limits: limits.map(shownLimit), funds }
}

const isOfKey = (limit: { readonly class: string }): boolean => limit.class === "all"
