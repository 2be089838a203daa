/** The operation that verifies a company's card. */
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

const HOLD_MICROS: Micros = 49_000_000

const FAULT_MESSAGES: Readonly<Record<CardCheckFailure, string>> = {
  declined: "The card was declined. Nothing is held on it. Add another card.",
  payment_failed: "The hold failed. Nothing is held on the card. Try again, or change the card.",
  needs_owner:
    "The card's bank asks for its owner's consent. Nothing is held on the card. Ask the owner to confirm.",
  no_card: "The payment processor has no card of this company. An owner can add one.",
  card_changed: "The card on file changed during the check. Try again with the new card.",
}

/**
 * Holds an amount on the company's card and releases it. @throws OperatorRefused if there is no card, or it fails
 * the check.
 */
export const verifyCard: AdminOperation = operation({
  name: "card verify",
  summary: "verify a company's card with a $49 hold, which is released immediately",
  notes: [
    "Nothing is charged. Clones and publishing need a verified card.",
    "A verified card is not checked again. If the processor does not answer, the check continues in the " +
      "background (status unconfirmed); run the command again to see its result.",
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
    const started = requireAccepted(await ports.runner.execute(stream, command, cause, cardCheckOf))
    const isNew = started.facts.length > 0
    const check = isNew
      ? await awaitCardCheck(ports, companyId, started.view, signal)
      : started.view
    const profile = await ports.runner.readLatest(stream, companyProfileOf)
    const card = profile?.card ?? null
    const outcome = check?.outcome ?? null
    if (card?.verified === true) return { companyId, status: "verified", card }
    if (outcome === null || outcome === "verified") {
      return { companyId, status: "unconfirmed", card }
    }
    throw new OperatorRefused(outcome, FAULT_MESSAGES[outcome], { holdId: check?.holdId })
  },
})

/** Rejects a card without a recorded customer: it cannot be verified, and must not fail for it. @throws OperatorRefused */
async function refuseUnknownCustomer(
  ports: Pick<Ports, "cardPages" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const stream = accessStreamOf(companyId)
  const profile = await ports.runner.readLatest(stream, companyProfileOf)
  if (profile?.card?.verified !== false) return
  const customerId = await ports.runner.readLatest(stream, processorCustomerOf)
  if (isCustomerUnknown(ports, customerId))
    throw new OperatorRefused("conflict", NO_CUSTOMER_ADVICE)
}

/** Waits for the result of a check, or until the request ends. */
async function awaitCardCheck(
  ports: Pick<Ports, "clock" | "runJobNow" | "pacer" | "runner" | "jobs">,
  companyId: CompanyId,
  started: CardCheck | null,
  signal: AbortSignal,
): Promise<CardCheck | null> {
  if (started === null) return null
  const { holdId, amountMicros, startedAt } = started
  const payload = { holdId, amountMicros, startedAt }
  const [{ kind }] = cardCheckEffect
  const job = { kind, payload, name: holdId, subject: holdId, companyId, dueAt: startedAt }
  const readResult = async () => {
    const found = await ports.runner.readLatest(accessStreamOf(companyId), cardCheckOf)
    return found?.holdId === holdId && found.outcome === null ? null : found
  }
  return awaitOutcome(ports, job, readResult, signal)
}
