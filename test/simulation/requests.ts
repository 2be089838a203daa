/** Requests as a process executes them: the program's code paths without HTTP. */
import type { AccessCommand } from "../../domain/access/access.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { PRICES_STREAM, ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import type { Limit, Spender, SpendingClass } from "../../domain/charging/limits.ts"
import { priceOfItem } from "../../domain/charging/price-book.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { MessageId } from "../../domain/phone/ids.ts"
import { refundableChargeOf } from "../../projections/charging/charges.ts"
import type { TakeoverResult } from "../../src/frame/routes/idempotency/idempotency.ts"
import {
  claimIdempotencyKey,
  storeAnswer,
  releaseIdempotencyClaim,
  continueTakenOver,
} from "../../src/frame/routes/idempotency/idempotency.ts"
import type { AnyReply, Caller, Seed } from "../../src/frame/routes/declare/route.ts"
import { lookUpCharge } from "../../src/frame/effects/charges.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { sendText } from "../../src/phone/send-text.ts"
import { KEY_SPENDERS, LIMIT_NAMES, SPENDERS } from "../charging/history.ts"
import type { SeededRandom } from "./schedule.ts"

/** A charge under an id that its caller chose. */
export interface SimulatedCharge {
  readonly does: "charge"
  readonly companyId: CompanyId
  readonly chargeId: string
  readonly spender: Spender
  readonly class: SpendingClass
  readonly amountMicros: number
}

/** A text with an idempotency key. */
export interface SimulatedText {
  readonly does: "text"
  readonly companyId: CompanyId
  readonly name: string
  readonly spender: (typeof KEY_SPENDERS)[number]
  readonly to: string
  readonly body: string
}

/** A caller's request. */
export type SimulatedRequest =
  | SimulatedCharge
  | SimulatedText
  | {
      readonly does: "calls"
      readonly companyId: CompanyId
      readonly caller: (typeof KEY_SPENDERS)[number]
      readonly count: number
    }
  | { readonly does: "read"; readonly companyId: CompanyId; readonly isLatest: boolean }
  /** A command that is retried until it is known to be done. */
  | { readonly does: "change"; readonly companyId: CompanyId; readonly command: LedgerCommand }
  /** A command that is sent once, whatever its outcome. */
  | {
      readonly does: "change once"
      readonly companyId: CompanyId
      readonly command: LedgerCommand
    }
  /** A command to a company's access, retried likewise. */
  | { readonly does: "key"; readonly companyId: CompanyId; readonly command: AccessCommand }
  /** Small amounts are added to the funds by many callers concurrently, and by each in sequence. */
  | {
      readonly does: "add concurrently"
      readonly companyId: CompanyId
      readonly callers: number
      readonly times: number
    }
  /** An operator refunds an earlier charge. */
  | { readonly does: "refund"; readonly companyId: CompanyId; readonly index: number }

const NUMBERS = ["+14155550123", "+14155550124", "+14155550125"]
const LONG = "a text that is longer than one segment ".repeat(6)

/** Draws a request; `name` is unique in a run. */
export function drawRequest(
  chance: SeededRandom,
  companies: readonly CompanyId[],
  name: string,
): SimulatedRequest {
  const companyId = chance.pick(companies)
  const roll = chance.below(100)
  if (roll < 30) {
    return {
      does: "charge",
      companyId,
      chargeId: `run-${name}`,
      spender: chance.pick(SPENDERS),
      class: chance.pick(["ai", "general"]),
      amountMicros: chance.pick([0, 1_000, 5_000, 9_000, chance.between(1, 30_000)]),
    }
  }
  if (roll < 52) {
    const body = chance.pick(["hello", LONG])
    const spender = chance.pick(KEY_SPENDERS)
    return { does: "text", companyId, name, spender, to: chance.pick(NUMBERS), body }
  }
  if (roll < 68) {
    return {
      does: "calls",
      companyId,
      caller: chance.pick(KEY_SPENDERS),
      count: chance.between(1, 5),
    }
  }
  if (roll < 70) {
    return {
      does: "add concurrently",
      companyId,
      callers: chance.between(3, 6),
      times: chance.between(2, 4),
    }
  }
  if (roll < 76) return { does: "read", companyId, isLatest: chance.happens(0.3) }
  if (roll < 82) return { does: "refund", companyId, index: chance.below(20) }
  if (roll < 85) return { does: "key", companyId, command: drawKey(chance) }
  if (roll < 91) return { does: "change once", companyId, command: drawUniqueCommand(chance) }
  return { does: "change", companyId, command: drawChange(chance, name) }
}

function drawKey(chance: SeededRandom): AccessCommand {
  const keyId = chance.pick(["key_a1", "key_b1"] as const)
  const type = chance.pick(["PauseKey", "ResumeKey"] as const)
  return chance.pick<AccessCommand>([
    { type: "CreateKey", keyId, personId: null, keyHash: keyId, operations: [], label: null },
    { type, keyId },
  ])
}

/** Draws a command that would take effect again if it were repeated. */
function drawUniqueCommand(chance: SeededRandom): LedgerCommand {
  const amountMicros = chance.between(1, 20_000)
  return chance.pick<LedgerCommand>([
    { type: "AddFunds", amountMicros, reference: null },
    { type: "CorrectFunds", amountMicros: -amountMicros, reason: "a correction" },
    { type: "AddFunds", amountMicros: 2 * amountMicros, reference: null },
    { type: "SetLowFundsAlert", belowMicros: 2 * amountMicros },
    { type: "LockAccount" },
    { type: "UnlockAccount" },
  ])
}

function drawChange(chance: SeededRandom, name: string): LedgerCommand {
  const roll = chance.below(10)
  if (roll < 2) {
    const amountMicros = chance.between(1_000, 60_000)
    return { type: "AddFunds", amountMicros, reference: `invoice ${name}` }
  }
  if (roll < 4) return { type: "UnlockAccount" }
  if (roll < 8) {
    const keyId = chance.pick(["key_a1", "key_app"] as const)
    const purchaseId = `pur_${chance.below(2)}` as const
    return chance.pick<LedgerCommand>([
      { type: "StartPurchase", purchaseId, keyId, personId: null, amountMicros: 5_000_000 },
      { type: "StartPurchase", purchaseId, keyId, personId: null, amountMicros: 5_000_000 },
      { type: "OrderPurchase", purchaseId, paymentId: `pay ${purchaseId}` },
      { type: "PayPurchase", purchaseId, paymentId: `pay ${purchaseId}` },
      { type: "PayPurchase", purchaseId, paymentId: `pay ${purchaseId}` },
      { type: "FailPurchase", purchaseId, code: "declined", paymentId: null },
    ])
  }
  return { type: "SetLimit", ...drawLimit(chance) }
}

/** Draws a limit that callers soon reach. */
export function drawLimit(chance: SeededRandom): Limit {
  const name = chance.pick(LIMIT_NAMES)
  const periods = name.holder === "key" ? ["day", "week", "month"] : ["week", "month"]
  const amountMicros = chance.pick([0, 4_000, 20_000, 60_000, 200_000])
  return {
    ...name,
    period: chance.pick(periods as Limit["period"][]),
    amountMicros,
    remindersMicros: chance.happens(0.4) ? [Math.ceil(amountMicros / 2) + 1] : [],
    leaveKeysOut: name.holder === "person" && chance.happens(0.3),
  }
}

/** The request conflicted with a concurrent change and must be retried. */
class ConcurrentChange extends Error {
  override readonly name = "ConcurrentChange"
}

/** A request's result for its caller. */
type RequestOutcome = "done" | "refused"

/** Charges under a caller's own id, unless it was charged before. @throws ConcurrentChange */
export async function requestCharge(
  ports: Ports,
  request: SimulatedCharge,
  deadlineMs: number,
): Promise<RequestOutcome> {
  const { companyId, chargeId, spender, amountMicros } = request
  const { row, searchedTo: searchedUpTo } = await lookUpCharge(ports, companyId, chargeId)
  if (row !== null) return "done"
  const outcome = await ports.runner.execute(
    ledgerStreamOf(companyId),
    {
      type: "Charge",
      chargeId,
      ...spender,
      class: request.class,
      item: "a run",
      quantity: 1,
      unitPriceMicros: amountMicros,
      priceVersion: 0,
      amountMicros,
      resource: null,
      requestedAt: ports.clock.now(),
      dueAt: null,
      servedFrom: null,
      isPending: false,
      exemption: null,
      searchedUpTo,
    },
    causedBy(`charge ${chargeId}`),
    undefined,
    deadlineMs,
  )
  if (outcome.accepted) {
    if (outcome.facts.length === 0) throw new ConcurrentChange("it was charged concurrently")
    return "done"
  }
  if (outcome.refusal.type === "LedgerRefused" && outcome.refusal.code === "search_again") {
    throw new ConcurrentChange("the search is outdated")
  }
  return "refused"
}

/** The parts of a request other than its body, all empty. */
export const EMPTY_REQUEST_PARTS = {
  query: {},
  params: {},
  callerGone: new AbortController().signal,
  stopping: new AbortController().signal,
  rawRequest: { headers: {}, target: "/", address: "127.0.0.1", requestId: "req_0" },
  callInternally: () => Promise.reject(new Error("no internal calls")),
}

/** The result of a text: its id if it was queued. */
type TextOutcome = { readonly messageId: MessageId } | "refused"

/** Sends a text, or resumes an earlier attempt. @throws ConcurrentChange, ClaimLost */
export async function requestText(
  ports: Ports,
  request: SimulatedText,
  requestId: string,
): Promise<TextOutcome> {
  const { companyId, spender, to: number, body } = request
  const { keyId, personId } = spender
  const key = { keyId, personId, keyHash: "", operations: new Set([]), status: "active" } as const
  const caller: Caller = { companyId, key, person: null, spender, requestId }
  const content = { to: number, body }
  const claimed = await claimIdempotencyKey(
    ports,
    { route: sendText, params: {} },
    caller,
    request.name,
    {
      bytes: null,
      value: content,
    },
  )
  if (claimed.state === "refused") throw new ConcurrentChange(claimed.refusal.message)
  if (claimed.state === "running") throw new ConcurrentChange("another process executes it")
  if (claimed.state === "answered") return textOutcomeOf(JSON.parse(claimed.answer.body))
  const { claim, seed, isTakenOver: takenOver } = claimed
  let reply: AnyReply
  try {
    // As the route's schema parses it.
    const read = { to: { number, country: "US" }, body }
    const input = { body: read, ...EMPTY_REQUEST_PARTS, seed }
    const { result, isOver } = await handleText(ports, caller, input, takenOver)
    reply = result
    if (!reply.ok)
      await (isOver ? ports.idempotency.release(claim) : ports.idempotency.abandon(claim))
  } catch (error) {
    await releaseIdempotencyClaim(ports, { claim, takenOver }, error)
    throw error
  }
  if (!reply.ok) return "refused"
  await storeAnswer(ports, claim, { status: 200, body: JSON.stringify(reply.body), position: null })
  return textOutcomeOf(reply.body)
}

function textOutcomeOf(body: unknown): TextOutcome {
  return { messageId: (body as { readonly id: MessageId }).id }
}

type Input = Parameters<typeof sendText.handle>[2]

async function handleText(
  ports: Ports,
  caller: Caller,
  input: Input,
  takenOver: boolean,
): Promise<TakeoverResult<AnyReply>> {
  const perform = (seed: Seed) => sendText.handle(ports, caller, { ...input, seed })
  if (!takenOver) return { result: await perform(input.seed), isOver: true }
  return continueTakenOver<AnyReply>(input.seed, {
    resume: async (seed) => {
      const resumed = await sendText.resume?.(ports, caller, { ...input, seed })
      if (resumed === undefined) return { seed }
      return "reply" in resumed ? { finished: resumed.reply } : resumed
    },
    perform,
    isFreeingRefusal: ({ ok }) => !ok,
  })
}

/** Buffers an API call, unless a limit rejects it. */
export async function requestApiCall(
  ports: Ports,
  companyId: CompanyId,
  caller: SimulatedText["spender"],
): Promise<RequestOutcome> {
  const price = await ports.runner.readCached(PRICES_STREAM, (s) => priceOfItem(s, "api_call"))
  const fault = await ports.runner.buffer(ledgerStreamOf(companyId), { ...caller, ...price })
  return fault === null ? "done" : "refused"
}

/** Reads a company's account. */
export async function readAccountOf(
  ports: Ports,
  companyId: CompanyId,
  isLatest: boolean,
): Promise<void> {
  const stream = ledgerStreamOf(companyId)
  await (isLatest
    ? ports.runner.readLatest(stream, accountOf)
    : ports.runner.read(stream, accountOf))
}

/** Sends a command to a company's ledger. */
export async function requestLedgerChange(
  ports: Ports,
  companyId: CompanyId,
  command: LedgerCommand,
): Promise<RequestOutcome> {
  const outcome = await ports.runner.execute(
    ledgerStreamOf(companyId),
    command,
    causedBy(`operator ${command.type}`),
  )
  return outcome.accepted ? "done" : "refused"
}

/** Sends a command to a company's access. */
export async function requestAccessChange(
  ports: Ports,
  companyId: CompanyId,
  command: AccessCommand,
): Promise<RequestOutcome> {
  const outcome = await ports.runner.execute(
    accessStreamOf(companyId),
    command,
    causedBy(`owner ${command.type}`),
  )
  return outcome.accepted ? "done" : "refused"
}

/** Refunds an earlier charge, as an operator does. @throws ConcurrentChange */
export async function requestRefund(
  ports: Ports,
  companyId: CompanyId,
  chargeId: string,
): Promise<RequestOutcome> {
  const { row, searchedTo } = await lookUpCharge(ports, companyId, chargeId)
  if (row === null || row.given_back_micros > 0 || row.amount_micros === 0) return "refused"
  const command = {
    type: "RefundSettledCharge" as const,
    ...refundableChargeOf(row),
    amountMicros: null,
    reason: "by hand",
    searchedUpTo: searchedTo,
  }
  const outcome = await ports.runner.execute(
    ledgerStreamOf(companyId),
    command,
    causedBy(`refund ${chargeId}`),
  )
  if (outcome.accepted && outcome.facts.length > 0) return "done"
  throw new ConcurrentChange("it ended concurrently, or must be searched again")
}
