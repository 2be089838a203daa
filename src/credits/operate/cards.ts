/** The cards on companies' accounts, and what the built-in payment processor does with them. */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { z } from "zod"
import { CARD_OUTCOMES } from "../../../adapters/providers/cards/port.ts"
import type { CardOutcome } from "../../../adapters/providers/cards/port.ts"
import { companyStanding } from "../../../domain/access/access.ts"
import type { RemoveCard, SetCard } from "../../../domain/access/card.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { accepted, company, findLivingCompany } from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { cardPageOperations } from "./card-page.ts"
import { verifyCard } from "./verify-card.ts"

const setCard = operation({
  name: "card set",
  summary: "put a card of the built-in test processor on a company's account",
  notes: [
    "Each call says all of the card: what is left out is not so. Without --outcome its payments are " +
      "paid, those of a failing card fail.",
  ],
  example: "card set --company acme --verified --outcome declined",
  changes: true,
  input: z.object({
    company,
    verified: z.boolean().default(false).meta({ description: "the card is verified" }),
    failing: z.boolean().default(false).meta({ description: "its payments fail" }),
    outcome: z
      .enum(CARD_OUTCOMES)
      .optional()
      .meta({ description: "what payments from it come to" }),
  }),
  console: {
    roles: OWNER_OR_ADMIN,
    isHere: ({ testCards }) => testCards !== null,
    bars: ({ ports }) =>
      ports.testCards === null ? "Cards are put on file at the payment processor." : null,
  },
  run: async (context, { company: named, verified, failing, outcome }) => {
    const { testCards } = context.ports
    if (outcome !== undefined && testCards === null) {
      const message =
        "What comes of a payment is the payment processor's to say: --outcome is for the built-in one."
      throw new OperatorRefused("conflict", message)
    }
    const companyId = await findLivingCompany(context.ports, named)
    // First what payments will come to: the card is on file once it would be paid from like this.
    const next: CardOutcome = outcome ?? (failing ? "payment_failed" : "paid")
    await testCards?.set(companyId, next)
    const card = await record(context, companyId, { type: "SetCard", verified, failing })
    return testCards === null ? { companyId, card } : { companyId, card, outcome: next }
  },
})

const removeCard = operation({
  name: "card remove",
  summary: "take a company's card off its account",
  example: "card remove --company acme",
  changes: true,
  input: z.object({ company }),
  console: { roles: OWNER_OR_ADMIN },
  run: async (context, input) => {
    const companyId = await findLivingCompany(context.ports, input.company)
    const card = await record(context, companyId, { type: "RemoveCard" })
    await context.ports.testCards?.set(companyId, null)
    return { companyId, card }
  },
})

async function record(
  { ports, cause }: AdminContext,
  companyId: CompanyId,
  command: SetCard | RemoveCard,
) {
  const stream = accessOf(companyId)
  const outcome = accepted(await ports.runner.execute(stream, command, cause, companyStanding))
  return outcome.view?.card ?? null
}

/** Operations on cards. */
export const cardOperations: readonly AdminOperation[] = [
  setCard,
  removeCard,
  verifyCard,
  ...cardPageOperations,
]
