/**
 * `POST /api/v1/credits`: a key buys funds, or in the console an owner, from the company's card or the
 * buyer's own wallet. The ledger decides and takes a key's allowance, then the processor is asked, then the ledger hears
 * what came of it; what nobody hears is found out by `reactions/pay-purchase.ts`.
 */
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import { z } from "zod"
import { companyStanding } from "../../domain/access/access.ts"
import type { PurchaseRefused, StartPurchase } from "../../domain/charging/ledger-commands.ts"
import { allowanceOf, purchaseRefusal } from "../../domain/charging/ledger-views.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { LEAST_PURCHASE_MICROS, MOST_PURCHASE_MICROS } from "../../domain/charging/purchases.ts"
import { parsePurchaseId, parsed } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { dollarsFromMicros } from "../../domain/kernel/money.ts"
import { causeOf } from "../frame/routes/call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { invalid, parse } from "../frame/routes/checks/7-values.ts"
import type { Caller, Checked, Resumed, Seed } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { UNKNOWN_IS_NO_AFTER_MS } from "../frame/effects/ask-again.ts"
import { lookUpPurchase } from "./reactions/settle-purchase.ts"
import { OutcomeUnknown } from "../frame/writer/run.ts"
import { filledText } from "../frame/kernel/schema.ts"
import type { PurchaseReply } from "./purchase-answers.ts"
import { Purchase, badAmount, noCard, notBegun, notByOwner, notYet } from "./purchase-answers.ts"
import { answerTo, fundsNow, inDoubt, payBegun, purchaseIdOf, standingOf } from "./purchase.ts"

const MICROS_PER_CENT = 10_000

// `bad_amount` wins over `validation`, so both fields are looked at in the handler.
const BuyCredits = z
  .object({
    amount: z
      .unknown()
      .optional()
      .meta({
        type: "number",
        minimum: dollarsFromMicros(LEAST_PURCHASE_MICROS),
        maximum: dollarsFromMicros(MOST_PURCHASE_MICROS),
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

const Token = filledText(255)

type Input = Checked<z.infer<typeof BuyCredits>>

/** The route. */
export const buyCredits = route({
  name: "buyCredits",
  method: "POST",
  url: "/api/v1/credits",
  group: "credits",
  summary: "Buy funds with the key",
  example: { body: { amount: 5 } },
  operation: null,
  counted: true,
  passesLock: true,
  body: BuyCredits,
  success: [200, 202],
  reply: Purchase,
  refuses: [
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
  once: {
    inProgress,
    ends: [
      "no_card",
      "needs_owner",
      "declined",
      "payment_failed",
      "idempotency_conflict",
      "unavailable",
    ] as const,
    replay,
  },
  says: { conflict: "Another process carries out the request with this Idempotency-Key by now." },
})

/** What is to be bought, and from what. */
interface Order {
  readonly amountMicros: Micros
  readonly sharedPaymentToken: string | null
}

async function handle(ports: Ports, caller: Caller, { body, seed }: Input): Promise<PurchaseReply> {
  const order = orderOf(body)
  return "amountMicros" in order ? buy(ports, caller, order, seed) : order
}

/** Reads what the schema left to this: an amount of whole cents comes before all else. */
function orderOf(body: z.infer<typeof BuyCredits>): Order | Exclude<PurchaseReply, { ok: true }> {
  const { amount, sharedPaymentToken = null } = body
  if (typeof amount !== "number" || Number(amount.toFixed(2)) !== amount) return badAmount()
  const amountMicros = Math.round(amount * 100) * MICROS_PER_CENT
  const isTooMuch = amountMicros > MOST_PURCHASE_MICROS
  if (amountMicros < LEAST_PURCHASE_MICROS || isTooMuch) return badAmount()
  if (!("sharedPaymentToken" in body)) return { amountMicros, sharedPaymentToken: null }
  const token = parse(z.object({ sharedPaymentToken: Token }), { sharedPaymentToken })
  return Object.keys(token.fields).length === 0
    ? { amountMicros, sharedPaymentToken: sharedPaymentToken as string }
    : { ok: false, refusal: invalid(token.fields) }
}

/** Begins and pays. A purchase that was freed is begun again as the next attempt. */
async function buy(
  ports: Ports,
  caller: Caller,
  order: Order,
  first: Seed,
): Promise<PurchaseReply> {
  const { companyId, spender, key, person } = caller
  if (key === null && person?.role !== "owner") return notByOwner()
  const stream = ledgerOf(companyId)
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
    if (cardless) return withoutCard(ports, caller, command)
    const begun = await ports.runner
      .execute(stream, command, causeOf(caller), (_state: Ledger, at: number) => at)
      .catch((error: unknown) => {
        throw error instanceof OutcomeUnknown ? inDoubt(purchaseId, error) : error
      })
    if (!begun.accepted) {
      const refused = begun.refusal as PurchaseRefused
      return notBegun(refused.code, refused)
    }
    if (begun.facts.length > 0) {
      const purchase = { ...order, purchaseId, startedAt: begun.view }
      return payBegun(ports, caller, purchase, begun.position)
    }
    const gone = await goOn(ports, caller, order, seed).catch((error: unknown) => {
      throw inDoubt(purchaseId, error)
    })
    if ("reply" in gone) return gone.reply
  }
}

async function hasCard(ports: Pick<Ports, "runner">, { companyId }: Caller): Promise<boolean> {
  const standing = await ports.runner.read(accessOf(companyId), companyStanding)
  return (standing?.card ?? null) !== null
}

/** What the ledger would say comes before the missing card. */
async function withoutCard(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  command: StartPurchase,
): Promise<PurchaseReply> {
  const { keyId } = command
  const stream = ledgerOf(caller.companyId)
  const found = await ports.runner.read(stream, (state, at) => ({
    code: purchaseRefusal(state, command, at),
    allowance: keyId === null ? null : allowanceOf(state, keyId, at),
  }))
  if (found.code === null) return noCard()
  const { allowance: terms } = found
  const takenMicros = (terms?.paidMicros ?? 0) + (terms?.pendingMicros ?? 0)
  return notBegun(found.code, { terms, takenMicros })
}

/** Finds what was done of this attempt before, and goes on from there. */
async function resume(
  ports: Ports,
  caller: Caller,
  { body, seed }: Input,
): Promise<Resumed<z.infer<typeof Purchase>, 200 | 202>> {
  const order = orderOf(body)
  return "amountMicros" in order ? goOn(ports, caller, order, seed) : { seed }
}

async function goOn(
  ports: Ports,
  caller: Caller,
  order: Order,
  seed: Seed,
): Promise<Resumed<z.infer<typeof Purchase>, 200 | 202>> {
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
  const reply = await answerTo(ports, row)
  const isFreed = !reply.ok && reply.isFinal !== true
  if (isFreed) return { seed: await seed.next() }
  const begunAt = row.started_at.getTime()
  // Later than that it is withdrawn: whoever sends it again is told how it stands, and pays nothing.
  const mayPay = ports.clock.now() - begunAt < UNKNOWN_IS_NO_AFTER_MS
  if (row.state !== "pending" || !mayPay) return { reply }
  const purchase = { ...order, purchaseId: name, startedAt: begunAt }
  return { reply: await payBegun(ports, caller, purchase, null) }
}

async function inProgress(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  input: Input,
): Promise<PurchaseReply> {
  const order = orderOf(input.body)
  if (!("amountMicros" in order)) return order
  const payment = { name: purchaseIdOf(input.seed), amountMicros: order.amountMicros }
  return notYet(payment, "in_progress", null, await fundsNow(ports, caller.companyId), null)
}

/**
 * A purchase that is under way says so again; else it is answered as it stands by now. What was paid
 * stays paid, so only the balance can have changed.
 */
async function replay(
  ports: Pick<Ports, "projector" | "readAll" | "runner" | "store">,
  { companyId }: Caller,
  answered: z.infer<typeof Purchase>,
): Promise<PurchaseReply> {
  if (answered.status === "paid") {
    const balance = dollarsFromMicros(await fundsNow(ports, companyId))
    return { ok: true, body: { ...answered, balance } }
  }
  const purchaseId = parsed(parsePurchaseId, answered.purchaseId)
  const now = await standingOf(ports, companyId, purchaseId)
  if (!now.ok || now.body.status !== "unconfirmed") return now
  return { ok: true, status: 202, body: { ...answered, balance: now.body.balance } }
}
