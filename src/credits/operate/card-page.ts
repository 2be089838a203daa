/** The payment processor's own page for cards, and what was done there. */
import { z } from "zod"
import { isOutside } from "../../../adapters/providers/outside.ts"
import type { CardPages } from "../../../adapters/providers/cards/port.ts"
import { cardCheckOf, companyStanding, processorCustomerOf } from "../../../domain/access/access.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import type { RemoveCard, SetCard } from "../../../domain/access/card.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { accepted, company, findLivingCompany } from "../../frame/operator/inputs.ts"
import type { Ports } from "../../frame/ports.ts"
import { NO_CUSTOMER, isCustomerUnknown } from "../processor-customer.ts"

const NO_PAGE =
  "The built-in payment processor has no page of its own: card set puts a card on a company's account."

const consoleWord = {
  roles: OWNER_OR_ADMIN,
  isHere: ({ cardPages }: Pick<Ports, "cardPages">) => cardPages !== null,
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
  input: z.object({ company }),
  console: consoleWord,
  run: async ({ ports, cause }, { company: named }) => {
    const companyId = await findLivingCompany(ports, named)
    const customerId = await customerOf(ports, companyId, cause)
    const returnTo = `${ports.baseUrl()}/console/${companyId}/billing`
    return { companyId, url: await asked(ports, (pages) => pages.open(customerId, returnTo)) }
  },
})

const look = operation({
  name: "card look",
  summary: "have a company's account say which card the payment processor has on file",
  notes: ["A card that was put there since the last one was verified has to be verified again."],
  example: "card look --company acme",
  changes: true,
  input: z.object({ company }),
  console: consoleWord,
  run: async ({ ports, cause }, { company: named }) => {
    const companyId = await findLivingCompany(ports, named)
    const stream = accessOf(companyId)
    const customerId = await ports.runner.readLatest(stream, processorCustomerOf)
    const since = await asked(ports, async (pages) =>
      customerId === null ? null : pages.cardSince(customerId),
    )
    const file = await ports.runner.readLatest(stream, companyStanding)
    const isOnFile = (file?.card ?? null) !== null
    if (isOnFile && isCustomerUnknown(ports, customerId)) {
      throw new OperatorRefused("conflict", NO_CUSTOMER)
    }
    const command = await whatToRecord(ports, companyId, since)
    if (command !== null) {
      const outcome = accepted(await ports.runner.execute(stream, command, cause, companyStanding))
      return { companyId, card: outcome.view?.card ?? null }
    }
    const standing = await ports.runner.readLatest(stream, companyStanding)
    return { companyId, card: standing?.card ?? null }
  },
})

/** The processor's customer that the company is, recorded before any card can be put on file for it. */
async function customerOf(
  ports: Pick<Ports, "cardPages" | "runner">,
  companyId: CompanyId,
  cause: Cause,
): Promise<string> {
  const stream = accessOf(companyId)
  const former = await ports.runner.readLatest(stream, processorCustomerOf)
  const customerId = await asked(ports, (pages) => pages.customerOf(companyId, former))
  const command = { type: "SetProcessorCustomer" as const, customerId }
  accepted(await ports.runner.execute(stream, command, cause))
  return customerId
}

/** What follows from the card at the processor; null where the account says it already. */
async function whatToRecord(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  since: number | null,
): Promise<SetCard | RemoveCard | null> {
  if (since === null) return { type: "RemoveCard" }
  const stream = accessOf(companyId)
  const card = (await runner.readLatest(stream, companyStanding))?.card ?? null
  const check = await runner.readLatest(stream, cardCheckOf)
  const isOther = check !== null && since > check.startedAt
  return card === null || (isOther && card.verified)
    ? { type: "SetCard", verified: false, failing: false }
    : null
}

/** What the processor answers. @throws OperatorRefused where it has no pages, or does not answer */
async function asked<T>(
  { cardPages }: Pick<Ports, "cardPages">,
  ask: (pages: CardPages) => Promise<T>,
): Promise<T> {
  if (cardPages === null) throw new OperatorRefused("conflict", NO_PAGE)
  try {
    return await ask(cardPages)
  } catch (error) {
    if (!isOutside(error)) throw error
    throw new OperatorRefused("unavailable", `${error.message}. Try it again.`)
  }
}

/** Operations on the processor's pages. */
export const cardPageOperations: readonly AdminOperation[] = [page, look]
