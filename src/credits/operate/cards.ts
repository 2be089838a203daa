/** Operations on companies' cards, and on the payments of the simulated processor. */
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
  summary: "put a card of the simulated payment processor on a company's account",
  notes: [
    "Each call sets the whole card: a flag that is left out is off. Without --outcome payments succeed, " +
      "and payments of a failing card fail.",
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
      .meta({ description: "the outcome of its payments" }),
  }),
  consoleAccess: {
    roles: OWNER_OR_ADMIN,
    isAvailable: ({ simulatedCards }) => simulatedCards !== null,
    denialReason: ({ ports }) =>
      ports.simulatedCards === null ? "Add cards on the payment processor's page." : null,
  },
  run: async (context, { company: named, verified, failing, outcome }) => {
    const { simulatedCards } = context.ports
    if (outcome !== undefined && simulatedCards === null) {
      const message =
        "A real payment processor decides the outcome of payments: --outcome is for the simulated one."
      throw new OperatorRefused("conflict", message)
    }
    const companyId = await findUnerasedCompany(context.ports, named)
    // The outcome first: the card must not be charged before it applies.
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

export const cardOperations: readonly AdminOperation[] = [
  setCard,
  removeCard,
  verifyCard,
  ...cardPageOperations,
]
