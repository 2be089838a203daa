/** Operations on the payment processor's own pages for cards. */
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
  "The simulated payment processor has no page. Run `card set` to put a card on a company's account."

const consoleRule = {
  roles: OWNER_OR_ADMIN,
  isAvailable: ({ cardPages }: Pick<Ports, "cardPages">) => cardPages !== null,
} as const

const page = operation({
  name: "card page",
  summary: "open the payment processor's page where a company adds a card",
  notes: [
    "The address expires after some minutes. Run `card refresh` afterwards to update the card on file.",
    "For Stripe it is the customer portal; save its settings in Stripe once.",
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
      url: await callCardPages(ports, (pages) => pages.openPage(customerId, returnTo)),
    }
  },
})

const refreshCard = operation({
  name: "card refresh",
  summary: "update a company's account with the card that the payment processor has on file",
  notes: ["A card that was added after the last verification must be verified again."],
  example: "card refresh --company acme",
  changes: true,
  input: z.object({ company: companyInput }),
  consoleAccess: consoleRule,
  run: async ({ ports, cause }, { company: named }) => {
    const companyId = await findUnerasedCompany(ports, named)
    const stream = accessStreamOf(companyId)
    const customerId = await ports.runner.readLatest(stream, processorCustomerOf)
    const since = await callCardPages(ports, async (pages) =>
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
    const profile = await ports.runner.readLatest(stream, companyProfileOf)
    return { companyId, card: profile?.card ?? null }
  },
})

/** The company's customer at the processor, recorded before a card can be added for it. */
async function customerOf(
  ports: Pick<Ports, "cardPages" | "runner">,
  companyId: CompanyId,
  cause: Cause,
): Promise<string> {
  const stream = accessStreamOf(companyId)
  const former = await ports.runner.readLatest(stream, processorCustomerOf)
  const customerId = await callCardPages(ports, (pages) => pages.ensureCustomer(companyId, former))
  const command = { type: "SetProcessorCustomer" as const, customerId }
  requireAccepted(await ports.runner.execute(stream, command, cause))
  return customerId
}

/** The command that brings the account in line with the processor's card; null if nothing changed. */
async function cardCommandFor(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  since: number | null,
): Promise<SetCard | RemoveCard | null> {
  if (since === null) return { type: "RemoveCard" }
  const stream = accessStreamOf(companyId)
  const card = (await runner.readLatest(stream, companyProfileOf))?.card ?? null
  const check = await runner.readLatest(stream, cardCheckOf)
  const isNewer = check !== null && since > check.startedAt
  return card === null || (isNewer && card.verified)
    ? { type: "SetCard", verified: false, failing: false }
    : null
}

/** Calls the processor's pages. @throws OperatorRefused if it has none, or does not answer */
async function callCardPages<T>(
  { cardPages }: Pick<Ports, "cardPages">,
  call: (pages: CardSetupPages) => Promise<T>,
): Promise<T> {
  if (cardPages === null) throw new OperatorRefused("conflict", NO_PAGE)
  try {
    return await call(cardPages)
  } catch (error) {
    if (!isProviderError(error)) throw error
    throw new OperatorRefused("unavailable", `${error.message}. Try again.`)
  }
}

/** Operations on the processor's pages. */
export const cardPageOperations: readonly AdminOperation[] = [page, refreshCard]
