/**
 * `POST /api/v1/credits`: a key buys funds, or in the console an owner, from the company's card or the
 * buyer's own wallet. The ledger decides and takes a key's allowance, then the processor is asked, then the ledger hears
 * what came of it; what nobody hears is found out by `reactions/pay-purchase.ts`.
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

// `bad_amount` wins over `validation`, so both fields are looked at in the handler.
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
        description: "Dollars, at most two decimals",
      }),
    sharedPaymentToken: z.unknown().optional().meta({
      type: "string",
      minLength: 1,
      maxLength: 255,
      description: "Pays from the buyer's own wallet; default the company's card on file",
    }),
  })
  .meta({ required: ["amount"] })

const Token = nonBlankText(255)

type Input = CheckedRequest<z.infer<typeof BuyCredits>>

/** The route. */
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
  specGap: "The specification does not show the verb: POST, because it makes a purchase.",
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
    conflict: "Another process carries out the request with this Idempotency-Key by now.",
  },
})

/** What is to be bought, and from what. */
interface PurchaseOrder {
  readonly amountMicros: Micros
  readonly sharedPaymentToken: string | null
}

async function handle(ports: Ports, caller: Caller, { body, seed }: Input): Promise<PurchaseReply> {
  const order = parseOrder(body)
  return "amountMicros" in order ? buy(ports, caller, order, seed) : order
}

/** Reads what the schema left to this: an amount of whole cents comes before all else. */
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

/** Begins and pays. A purchase that was freed is begun again as the next attempt. */
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
    const begun = await ports.runner
      .execute(stream, command, causeOf(caller), (_state: LedgerState, at: number) => at)
      .catch((error: unknown) => {
        throw error instanceof OutcomeUnknown ? unknownPurchaseOutcome(purchaseId, error) : error
      })
    if (!begun.accepted) {
      const refused = begun.refusal as PurchaseRefused
      return refusedPurchaseReply(refused.code, refused)
    }
    if (begun.facts.length > 0) {
      const purchase = { ...order, purchaseId, startedAt: begun.view }
      return payStartedPurchase(ports, caller, purchase, begun.position)
    }
    const gone = await resumePurchase(ports, caller, order, seed).catch((error: unknown) => {
      throw unknownPurchaseOutcome(purchaseId, error)
    })
    if ("reply" in gone) return gone.reply
  }
}

async function hasCard(ports: Pick<Ports, "runner">, { companyId }: Caller): Promise<boolean> {
  const standing = await ports.runner.read(accessStreamOf(companyId), companyProfileOf)
  return (standing?.card ?? null) !== null
}

/** What the ledger would say comes before the missing card. */
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

/** Finds what was done of this attempt before, and goes on from there. */
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
    const message = "This Idempotency-Key was used with another request; use a new one."
    return {
      reply: { ok: false, refusal: refusal("idempotency_conflict", message), isFinal: true },
    }
  }
  const reply = await purchaseReplyFromRow(ports, row)
  const isFreed = !reply.ok && reply.isFinal !== true
  if (isFreed) return { seed: await seed.next() }
  const startedAt = row.started_at.getTime()
  // Later than that it is withdrawn: whoever sends it again is told how it stands, and pays nothing.
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
 * A purchase that is under way says so again; else it is answered as it stands by now. What was paid
 * stays paid, so only the balance can have changed.
 */
async function replayReply(
  ports: Pick<Ports, "projector" | "readAll" | "runner" | "store">,
  { companyId }: Caller,
  answered: z.infer<typeof PurchaseBody>,
): Promise<PurchaseReply> {
  if (answered.status === "paid") {
    const balance = dollarsFromMicros(await readFunds(ports, companyId))
    return { ok: true, body: { ...answered, balance } }
  }
  const purchaseId = parseStored(parsePurchaseId, answered.purchaseId)
  const now = await readPurchase(ports, companyId, purchaseId)
  if (!now.ok || now.body.status !== "unconfirmed") return now
  return { ok: true, status: 202, body: { ...answered, balance: now.body.balance } }
}
