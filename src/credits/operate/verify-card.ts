/** Looking whether a company's card is good, as an operator asks for it. */
import { z } from "zod"
import {
  cardCheckOf,
  companyProfileOf,
  processorCustomerOf,
} from "../../../domain/access/access.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import type { CardCheck } from "../../../domain/access/card.ts"
import type { CardCheckFailure } from "../../../domain/access/access-events.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import { awaitOutcome } from "../../frame/effects/paid-route.ts"
import { newId } from "../../frame/kernel/ids.ts"
import { requireAccepted, companyInput, findUnerasedCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, OperatorRefused, operation } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import { NO_CUSTOMER_ADVICE, isCustomerUnknown } from "../processor-customer.ts"
import { cardCheckEffect } from "../reactions/check-card.ts"

/** What is held for a moment. */
const HOLD_MICROS: Micros = 49_000_000

const FAULT_MESSAGES: Readonly<Record<CardCheckFailure, string>> = {
  declined: "The card was declined: nothing is held on it. Put another card on file.",
  payment_failed:
    "The hold failed: nothing is held on the card. Ask once more, or change the card.",
  needs_owner: "The card asks for its owner's consent, who has to give it: nothing is held on it.",
  no_card: "The payment processor has no card of this company: an owner can add one.",
  card_changed:
    "The card on file was changed meanwhile: ask once more, for the card that it is now.",
}

/**
 * Has the processor hold a sum on the company's card, and let go of it. Done @throws OperatorRefused where
 * there is no card, or it is not good.
 */
export const verifyCard: AdminOperation = operation({
  name: "card verify",
  summary: "see that a company's card is good: $49 are held on it, and let go at once",
  notes: [
    "Nothing is charged. Clones and publishing need a verified card.",
    "A card that is verified is not asked again; where the processor does not answer, its answer is " +
      "waited for behind the command (status unconfirmed), and the same command tells it later.",
  ],
  example: "card verify --company acme",
  changes: true,
  input: z.object({ company: companyInput }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause, signal }, { company: named }) => {
    const companyId = await findUnerasedCompany(ports, named)
    await refuseUnknownCustomer(ports, companyId)
    const command = {
      type: "StartCardCheck" as const,
      holdId: newId("hold"),
      amountMicros: HOLD_MICROS,
    }
    const stream = accessStreamOf(companyId)
    const begun = requireAccepted(await ports.runner.execute(stream, command, cause, cardCheckOf))
    const isNew = begun.facts.length > 0
    const check = isNew ? await awaitCardCheck(ports, companyId, begun.view, signal) : begun.view
    const standing = await ports.runner.readLatest(stream, companyProfileOf)
    const card = standing?.card ?? null
    const outcome = check?.outcome ?? null
    if (card?.verified === true) return { companyId, status: "verified", card }
    if (outcome === null || outcome === "verified") {
      return { companyId, status: "unconfirmed", card }
    }
    throw new OperatorRefused(outcome, FAULT_MESSAGES[outcome], { holdId: check?.holdId })
  },
})

/** A card of a customer that is not recorded cannot be verified, and is no worse for it. @throws OperatorRefused */
async function refuseUnknownCustomer(
  ports: Pick<Ports, "cardPages" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const stream = accessStreamOf(companyId)
  const standing = await ports.runner.readLatest(stream, companyProfileOf)
  if (standing?.card?.verified !== false) return
  const customerId = await ports.runner.readLatest(stream, processorCustomerOf)
  if (isCustomerUnknown(ports, customerId))
    throw new OperatorRefused("conflict", NO_CUSTOMER_ADVICE)
}

/** The look that was begun, once it has come to something, or nobody waits any longer. */
async function awaitCardCheck(
  ports: Pick<Ports, "clock" | "runJobNow" | "pacer" | "runner" | "jobs">,
  companyId: CompanyId,
  begun: CardCheck | null,
  signal: AbortSignal,
): Promise<CardCheck | null> {
  if (begun === null) return null
  const { holdId, amountMicros, startedAt } = begun
  const payload = { holdId, amountMicros, startedAt }
  const [{ kind }] = cardCheckEffect
  const job = { kind, payload, name: holdId, subject: holdId, companyId, dueAt: startedAt }
  const look = async () => {
    const found = await ports.runner.readLatest(accessStreamOf(companyId), cardCheckOf)
    return found?.holdId === holdId && found.outcome === null ? null : found
  }
  return awaitOutcome(ports, job, look, signal)
}
