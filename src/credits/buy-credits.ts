/**
 * `POST /api/v1/credits`: a key, or an owner in the console, buys funds from the company's card or the buyer's
 * own wallet. The ledger decides, then the processor is charged, then the ledger records the result;
 * `reactions/pay-purchase.ts` reconciles purchases whose result was lost.
 */
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { z } from "zod"
import { companyProfileOf } from "../../domain/access/access.ts"
import type { PurchaseRefused, StartPurchase } from "../../domain/charging/ledger-commands.ts"
import { purchaseAllowanceOf, purchaseRefusalCode } from "../../domain/charging/ledger-views.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { MIN_PURCHASE_MICROS, MAX_PURCHASE_MICROS } from "../../domain/charging/purchases.ts"
import { parsePurchaseId, parseStored } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { dollarsFromMicros } from "../../domain/kernel/money.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { invalidRefusal, parseFields } from "../frame/routes/checks/7-values.ts"
import type { Caller, CheckedRequest, ResumeResult, Seed } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { NOT_RECEIVED_AFTER_MS } from "../frame/effects/effect-times.ts"
import { lookUpPurchase } from "./reactions/settle-purchase.ts"
import { OutcomeUnknown } from "../frame/writer/runner.ts"
import { nonBlankText } from "../frame/kernel/schema.ts"
import type { PurchaseReply } from "./purchase-replies.ts"
import {
  PurchaseBody,
  badAmountReply,
  noCardReply,
  refusedPurchaseReply,
  ownerOnlyReply,
  pendingPurchaseReply,
} from "./purchase-replies.ts"
import {
  purchaseReplyFromRow,
  readFunds,
  unknownPurchaseOutcome,
  payStartedPurchase,
  purchaseIdOf,
  readPurchase,
} from "./purchase.ts"

const MICROS_PER_CENT = 10_000

// `bad_amount` precedes `validation`, so the handler checks both fields.
const BuyCredits = z
  .object({
    amount: z
      .unknown()
      .optional()
      .meta({
        type: "number",
        minimum: dollarsFromMicros(MIN_PURCHASE_MICROS),
        maximum: dollarsFromMicros(MAX_PURCHASE_MICROS),
        multipleOf: 0.01,
        description: "US dollars, with at most two decimals",
      }),
    sharedPaymentToken: z.unknown().optional().meta({
      type: "string",
      minLength: 1,
      maxLength: 255,
      description:
        "Token of the buyer's own wallet; without it the company's card on file is charged",
    }),
  })
  .meta({ required: ["amount"] })

const Token = nonBlankText(255)

type Input = CheckedRequest<z.infer<typeof BuyCredits>>

/** Buys funds. */
export const buyCredits = route({
  name: "buyCredits",
  method: "POST",
  url: "/api/v1/credits",
  group: "credits",
  summary: "Buy funds with the key",
  example: { body: { amount: 5 } },
  operation: null,
  isCounted: true,
  isAllowedWhenLocked: true,
  body: BuyCredits,
  statuses: [200, 202],
  reply: PurchaseBody,
  refusalCodes: [
    "bad_amount",
    "purchase_not_allowed",
    "purchase_needs_review",
    "over_purchase_limit",
    "over_monthly_limit",
    "no_card",
    "needs_owner",
    "declined",
    "payment_failed",
  ],
  specGap: "The specification does not show the method: POST, because the route makes a purchase.",
  handle,
  resume,
  permanentIdempotency: {
    inProgress: inProgressReply,
    finalCodes: [
      "no_card",
      "needs_owner",
      "declined",
      "payment_failed",
      "idempotency_conflict",
      "unavailable",
    ] as const,
    replay: replayReply,
  },
  refusalMessages: {
    conflict:
      "Another process executes a request with this Idempotency-Key. Send it again to see the result.",
  },
})

interface PurchaseOrder {
  readonly amountMicros: Micros
  readonly sharedPaymentToken: string | null
}

async function handle(ports: Ports, caller: Caller, { body, seed }: Input): Promise<PurchaseReply> {
  const order = parseOrder(body)
  return "amountMicros" in order ? buy(ports, caller, order, seed) : order
}

/** Validates the fields that the schema leaves open; the amount comes first. */
function parseOrder(
  body: z.infer<typeof BuyCredits>,
): PurchaseOrder | Exclude<PurchaseReply, { ok: true }> {
  const { amount, sharedPaymentToken = null } = body
  if (typeof amount !== "number" || Number(amount.toFixed(2)) !== amount) return badAmountReply()
  const amountMicros = Math.round(amount * 100) * MICROS_PER_CENT
  const isTooMuch = amountMicros > MAX_PURCHASE_MICROS
  if (amountMicros < MIN_PURCHASE_MICROS || isTooMuch) return badAmountReply()
  if (!("sharedPaymentToken" in body)) return { amountMicros, sharedPaymentToken: null }
  const token = parseFields(z.object({ sharedPaymentToken: Token }), { sharedPaymentToken })
  return Object.keys(token.fields).length === 0
    ? { amountMicros, sharedPaymentToken: sharedPaymentToken as string }
    : { ok: false, refusal: invalidRefusal(token.fields) }
}

/** Starts and pays a purchase; if it was freed, the next attempt starts a new one. */
async function buy(
  ports: Ports,
  caller: Caller,
  order: PurchaseOrder,
  first: Seed,
): Promise<PurchaseReply> {
  const { companyId, spender, key, person } = caller
  if (key === null && person?.role !== "owner") return ownerOnlyReply()
  const stream = ledgerStreamOf(companyId)
  for (let seed = first; ; seed = await seed.next()) {
    const purchaseId = purchaseIdOf(seed)
    const command: StartPurchase = {
      type: "StartPurchase",
      purchaseId,
      keyId: key?.keyId ?? null,
      personId: spender.personId,
      amountMicros: order.amountMicros,
    }
    const cardless = order.sharedPaymentToken === null && !(await hasCard(ports, caller))
    if (cardless) return refuseWithoutCard(ports, caller, command)
    const started = await ports.runner
      .execute(stream, command, causeOf(caller), (_state: LedgerState, at: number) => at)
      .catch((error: unknown) => {
        throw error instanceof OutcomeUnknown ? unknownPurchaseOutcome(purchaseId, error) : error
      })
    if (!started.accepted) {
      const refused = started.refusal as PurchaseRefused
      return refusedPurchaseReply(refused.code, refused)
    }
    if (started.facts.length > 0) {
      const purchase = { ...order, purchaseId, startedAt: started.view }
      return payStartedPurchase(ports, caller, purchase, started.position)
    }
    const resumed = await resumePurchase(ports, caller, order, seed).catch((error: unknown) => {
      throw unknownPurchaseOutcome(purchaseId, error)
    })
    if ("reply" in resumed) return resumed.reply
  }
}

async function hasCard(ports: Pick<Ports, "runner">, { companyId }: Caller): Promise<boolean> {
  const profile = await ports.runner.read(accessStreamOf(companyId), companyProfileOf)
  return (profile?.card ?? null) !== null
}

/** Rejects a purchase without a card; the ledger's own refusals come first. */
async function refuseWithoutCard(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  command: StartPurchase,
): Promise<PurchaseReply> {
  const { keyId } = command
  const stream = ledgerStreamOf(caller.companyId)
  const found = await ports.runner.read(stream, (state, at) => ({
    code: purchaseRefusalCode(state, command, at),
    allowance: keyId === null ? null : purchaseAllowanceOf(state, keyId, at),
  }))
  if (found.code === null) return noCardReply()
  const { allowance: terms } = found
  const takenMicros = (terms?.paidMicros ?? 0) + (terms?.pendingMicros ?? 0)
  return refusedPurchaseReply(found.code, { terms, takenMicros })
}

/** Finds the purchase of an earlier attempt, and continues it. */
async function resume(
  ports: Ports,
  caller: Caller,
  { body, seed }: Input,
): Promise<ResumeResult<z.infer<typeof PurchaseBody>, 200 | 202>> {
  const order = parseOrder(body)
  return "amountMicros" in order ? resumePurchase(ports, caller, order, seed) : { seed }
}

async function resumePurchase(
  ports: Ports,
  caller: Caller,
  order: PurchaseOrder,
  seed: Seed,
): Promise<ResumeResult<z.infer<typeof PurchaseBody>, 200 | 202>> {
  const { companyId } = caller
  const name = purchaseIdOf(seed)
  const row = await lookUpPurchase(ports, companyId, name)
  if (row === null) return { seed }
  if (row.amount_micros !== order.amountMicros) {
    const message = "This Idempotency-Key was used with another request. Use a new one."
    return {
      reply: { ok: false, refusal: refusal("idempotency_conflict", message), isFinal: true },
    }
  }
  const reply = await purchaseReplyFromRow(ports, row)
  const isFreed = !reply.ok && reply.isFinal !== true
  if (isFreed) return { seed: await seed.next() }
  const startedAt = row.started_at.getTime()
  // An older purchase is withdrawn: a repeated request gets its state and pays nothing.
  const mayPay = ports.clock.now() - startedAt < NOT_RECEIVED_AFTER_MS
  if (row.state !== "pending" || !mayPay) return { reply }
  const purchase = { ...order, purchaseId: name, startedAt }
  return { reply: await payStartedPurchase(ports, caller, purchase, null) }
}

async function inProgressReply(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  input: Input,
): Promise<PurchaseReply> {
  const order = parseOrder(input.body)
  if (!("amountMicros" in order)) return order
  const payment = { idempotencyKey: purchaseIdOf(input.seed), amountMicros: order.amountMicros }
  return pendingPurchaseReply(
    payment,
    "in_progress",
    null,
    await readFunds(ports, caller.companyId),
    null,
  )
}

/**
 * Answers a repeated request: a pending purchase with its current state. A paid purchase stays paid, so only
 * the balance is read again.
 */
async function replayReply(
  ports: Pick<Ports, "projector" | "readAll" | "runner" | "store">,
  { companyId }: Caller,
  stored: z.infer<typeof PurchaseBody>,
): Promise<PurchaseReply> {
  if (stored.status === "paid") {
    const balance = dollarsFromMicros(await readFunds(ports, companyId))
    return { ok: true, body: { ...stored, balance } }
  }
  const purchaseId = parseStored(parsePurchaseId, stored.purchaseId)
  const now = await readPurchase(ports, companyId, purchaseId)
  if (!now.ok || now.body.status !== "unconfirmed") return now
  return { ok: true, status: 202, body: { ...stored, balance: now.body.balance } }
}
