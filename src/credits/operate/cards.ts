/** The cards on companies' accounts, and what the built-in payment processor does with them. */
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { z } from "zod"
import { SIMULATED_CARD_OUTCOMES } from "../../../adapters/providers/cards/port.ts"
import type { SimulatedCardOutcome } from "../../../adapters/providers/cards/port.ts"
import { companyProfileOf } from "../../../domain/access/access.ts"
import type { RemoveCard, SetCard } from "../../../domain/access/card.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { requireAccepted, companyInput, findUnerasedCompany } from "../../frame/operator/inputs.ts"
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
    company: companyInput,
    verified: z.boolean().default(false).meta({ description: "the card is verified" }),
    failing: z.boolean().default(false).meta({ description: "its payments fail" }),
    outcome: z
      .enum(SIMULATED_CARD_OUTCOMES)
      .optional()
      .meta({ description: "what payments from it come to" }),
  }),
  consoleAccess: {
    roles: OWNER_OR_ADMIN,
    isAvailable: ({ simulatedCards }) => simulatedCards !== null,
    denialReason: ({ ports }) =>
      ports.simulatedCards === null ? "Cards are put on file at the payment processor." : null,
  },
  run: async (context, { company: named, verified, failing, outcome }) => {
    const { simulatedCards } = context.ports
    if (outcome !== undefined && simulatedCards === null) {
      const message =
        "What comes of a payment is the payment processor's to say: --outcome is for the built-in one."
      throw new OperatorRefused("conflict", message)
    }
    const companyId = await findUnerasedCompany(context.ports, named)
    // First what payments will come to: the card is on file once it would be paid from like this.
    const next: SimulatedCardOutcome = outcome ?? (failing ? "payment_failed" : "paid")
    await simulatedCards?.setOutcome(companyId, next)
    const card = await recordCard(context, companyId, { type: "SetCard", verified, failing })
    return simulatedCards === null ? { companyId, card } : { companyId, card, outcome: next }
  },
})

const removeCard = operation({
  name: "card remove",
  summary: "take a company's card off its account",
  example: "card remove --company acme",
  changes: true,
  input: z.object({ company: companyInput }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async (context, input) => {
    const companyId = await findUnerasedCompany(context.ports, input.company)
    const card = await recordCard(context, companyId, { type: "RemoveCard" })
    await context.ports.simulatedCards?.setOutcome(companyId, null)
    return { companyId, card }
  },
})

async function recordCard(
  { ports, cause }: AdminContext,
  companyId: CompanyId,
  command: SetCard | RemoveCard,
) {
  const stream = accessStreamOf(companyId)
  const outcome = requireAccepted(
    await ports.runner.execute(stream, command, cause, companyProfileOf),
  )
  return outcome.view?.card ?? null
}

/** Operations on cards. */
export const cardOperations: readonly AdminOperation[] = [
  setCard,
  removeCard,
  verifyCard,
  ...cardPageOperations,
]
