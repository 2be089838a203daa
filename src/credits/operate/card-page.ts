/** The payment processor's own page for cards, and what was done there. */
import { z } from "zod"
import { isProviderError } from "../../../adapters/providers/provider-errors.ts"
import type { CardSetupPages } from "../../../adapters/providers/cards/port.ts"
import {
  cardCheckOf,
  companyProfileOf,
  processorCustomerOf,
} from "../../../domain/access/access.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import type { RemoveCard, SetCard } from "../../../domain/access/card.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { requireAccepted, companyInput, findUnerasedCompany } from "../../frame/operator/inputs.ts"
import type { Ports } from "../../frame/ports.ts"
import { NO_CUSTOMER_ADVICE, isCustomerUnknown } from "../processor-customer.ts"

const NO_PAGE =
  "The built-in payment processor has no page of its own: card set puts a card on a company's account."

const consoleRule = {
  roles: OWNER_OR_ADMIN,
  isAvailable: ({ cardPages }: Pick<Ports, "cardPages">) => cardPages !== null,
} as const

const page = operation({
  name: "card page",
  summary: "open the payment processor's page on which a company puts a card on file",
  notes: [
    "Its address is good for some minutes. Afterwards `card look` has the account say what is on file.",
    "At Stripe it is the customer portal, whose settings have to be saved there once.",
  ],
  example: "card page --company acme",
  changes: true,
  input: z.object({ company: companyInput }),
  consoleAccess: consoleRule,
  run: async ({ ports, cause }, { company: named }) => {
    const companyId = await findUnerasedCompany(ports, named)
    const customerId = await customerOf(ports, companyId, cause)
    const returnTo = `${ports.baseUrl()}/console/${companyId}/billing`
    return {
      companyId,
      url: await askCardPages(ports, (pages) => pages.openPage(customerId, returnTo)),
    }
  },
})

const refreshCard = operation({
  name: "card look",
  summary: "have a company's account say which card the payment processor has on file",
  notes: ["A card that was put there since the last one was verified has to be verified again."],
  example: "card look --company acme",
  changes: true,
  input: z.object({ company: companyInput }),
  consoleAccess: consoleRule,
  run: async ({ ports, cause }, { company: named }) => {
    const companyId = await findUnerasedCompany(ports, named)
    const stream = accessStreamOf(companyId)
    const customerId = await ports.runner.readLatest(stream, processorCustomerOf)
    const since = await askCardPages(ports, async (pages) =>
      customerId === null ? null : pages.cardAddedAt(customerId),
    )
    const file = await ports.runner.readLatest(stream, companyProfileOf)
    const isOnFile = (file?.card ?? null) !== null
    if (isOnFile && isCustomerUnknown(ports, customerId)) {
      throw new OperatorRefused("conflict", NO_CUSTOMER_ADVICE)
    }
    const command = await cardCommandFor(ports, companyId, since)
    if (command !== null) {
      const outcome = requireAccepted(
        await ports.runner.execute(stream, command, cause, companyProfileOf),
      )
      return { companyId, card: outcome.view?.card ?? null }
    }
    const standing = await ports.runner.readLatest(stream, companyProfileOf)
    return { companyId, card: standing?.card ?? null }
  },
})

/** The processor's customer that the company is, recorded before any card can be put on file for it. */
async function customerOf(
  ports: Pick<Ports, "cardPages" | "runner">,
  companyId: CompanyId,
  cause: Cause,
): Promise<string> {
  const stream = accessStreamOf(companyId)
  const former = await ports.runner.readLatest(stream, processorCustomerOf)
  const customerId = await askCardPages(ports, (pages) => pages.ensureCustomer(companyId, former))
  const command = { type: "SetProcessorCustomer" as const, customerId }
  requireAccepted(await ports.runner.execute(stream, command, cause))
  return customerId
}

/** What follows from the card at the processor; null where the account says it already. */
async function cardCommandFor(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  since: number | null,
): Promise<SetCard | RemoveCard | null> {
  if (since === null) return { type: "RemoveCard" }
  const stream = accessStreamOf(companyId)
  const card = (await runner.readLatest(stream, companyProfileOf))?.card ?? null
  const check = await runner.readLatest(stream, cardCheckOf)
  const isOther = check !== null && since > check.startedAt
  return card === null || (isOther && card.verified)
    ? { type: "SetCard", verified: false, failing: false }
    : null
}

/** What the processor answers. @throws OperatorRefused where it has no pages, or does not answer */
async function askCardPages<T>(
  { cardPages }: Pick<Ports, "cardPages">,
  ask: (pages: CardSetupPages) => Promise<T>,
): Promise<T> {
  if (cardPages === null) throw new OperatorRefused("conflict", NO_PAGE)
  try {
    return await ask(cardPages)
  } catch (error) {
    if (!isProviderError(error)) throw error
    throw new OperatorRefused("unavailable", `${error.message}. Try it again.`)
  }
}

/** Operations on the processor's pages. */
export const cardPageOperations: readonly AdminOperation[] = [page, refreshCard]
