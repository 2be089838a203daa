/** Requests as a process carries them out: the ways of the program, without HTTP around them. */
import { PRICES, ledgerOf } from "../../domain/charging/aggregates.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import type { AccessCommand } from "../../domain/access/access.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { priceOf } from "../../domain/charging/price-book.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { MessageId } from "../../domain/phone/ids.ts"
import { refundable } from "../../projections/charging/charges.ts"
import { lookUpCharge } from "../../src/frame/effects/charges.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { sendText } from "../../src/phone/send-text.ts"
import { claimRequest, keep, letGo } from "../../src/frame/calls/idempotency.ts"
import type { AnyReply, Caller, Seed } from "../../src/frame/calls/route.ts"
import type { CameTo } from "../../src/frame/calls/taken-over.ts"
import { goOnWith } from "../../src/frame/calls/taken-over.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { ChargeErrand, TextErrand } from "./errands.ts"

/** Something else happened in the same moment: it is to be asked again. */
class Again extends Error {
  override readonly name = "Again"
}

/** What a request came to for its caller. */
export type Answered = "done" | "refused"

/** Charges under a caller's own id, unless it was ever charged. @throws Again */
export async function charge(
  ports: Ports,
  errand: ChargeErrand,
  deadlineMs: number,
): Promise<Answered> {
  const { companyId, chargeId, spender, amountMicros } = errand
  const { row, searchedTo } = await lookUpCharge(ports, companyId, chargeId)
  if (row !== null) return "done"
  const outcome = await ports.runner.execute(
    ledgerOf(companyId),
    {
      type: "Charge",
      chargeId,
      ...spender,
      class: errand.class,
      item: "a run",
      quantity: 1,
      unitPriceMicros: amountMicros,
      priceVersion: 0,
      amountMicros,
      resource: null,
      requestedAt: ports.clock.now(),
      dueAt: null,
      servedFrom: null,
      open: false,
      exempt: null,
      searchedTo,
    },
    causedBy(`charge ${chargeId}`),
    undefined,
    deadlineMs,
  )
  if (outcome.accepted) {
    if (outcome.facts.length === 0) throw new Again("it was charged in the same moment")
    return "done"
  }
  if (outcome.refusal.type === "LedgerRefused" && outcome.refusal.code === "search_again") {
    throw new Again("too much happened since it was looked for")
  }
  return "refused"
}

/** What a request has beside its body. */
const NOTHING_ELSE = {
  query: {},
  params: {},
  gone: new AbortController().signal,
  stopping: new AbortController().signal,
  sent: { headers: {}, target: "/", address: "127.0.0.1", requestId: "req_0" },
  onward: () => Promise.reject(new Error("nothing is sent on")),
}

/** What a text came to: its id where it was queued. */
export type Sent = { readonly messageId: MessageId } | "refused"

/** Sends a text, or goes on with what was done of it. @throws Again, ClaimLost */
export async function text(ports: Ports, errand: TextErrand, requestId: string): Promise<Sent> {
  const { companyId, spender, to, body } = errand
  const { keyId, personId } = spender
  const key = { keyId, personId, keyHash: "", operations: new Set([]), status: "active" } as const
  const caller: Caller = { companyId, key, person: null, spender, requestId }
  const asked = { to, body }
  const claimed = await claimRequest(ports, { route: sendText, params: {} }, caller, errand.name, {
    bytes: null,
    value: asked,
  })
  if (claimed.state === "refused") throw new Again(claimed.refusal.message)
  if (claimed.state === "running") throw new Again("somebody is carrying it out")
  if (claimed.state === "replay") return messageOf(JSON.parse(claimed.answer.body))
  const { claim, seed, takenOver } = claimed
  let reply: AnyReply
  try {
    // As the border has read it.
    const read = { to: { number: to, country: "US" }, body }
    const input = { body: read, ...NOTHING_ELSE, seed }
    const { came, isOver } = await carryOut(ports, caller, input, takenOver)
    reply = came
    if (!reply.ok) await (isOver ? ports.claims.release(claim) : ports.claims.leave(claim))
  } catch (error) {
    await letGo(ports, { claim, takenOver }, error)
    throw error
  }
  if (!reply.ok) return "refused"
  await keep(ports, claim, { status: 200, body: JSON.stringify(reply.body), position: null })
  return messageOf(reply.body)
}

function messageOf(body: unknown): Sent {
  return { messageId: (body as { readonly id: MessageId }).id }
}

type Input = Parameters<typeof sendText.handle>[2]

async function carryOut(
  ports: Ports,
  caller: Caller,
  input: Input,
  takenOver: boolean,
): Promise<CameTo<AnyReply>> {
  const perform = (seed: Seed) => sendText.handle(ports, caller, { ...input, seed })
  if (!takenOver) return { came: await perform(input.seed), isOver: true }
  return goOnWith<AnyReply>(input.seed, {
    resume: async (seed) => {
      const resumed = await sendText.resume?.(ports, caller, { ...input, seed })
      if (resumed === undefined) return { seed }
      return "reply" in resumed ? { came: resumed.reply } : resumed
    },
    perform,
    isNo: ({ ok }) => !ok,
  })
}

/** Serves an API call, or refuses it by a limit. */
export async function serve(
  ports: Ports,
  companyId: CompanyId,
  caller: TextErrand["spender"],
): Promise<Answered> {
  const price = await ports.runner.glance(PRICES, (s) => priceOf(s, "api_call"))
  const fault = await ports.runner.gather(ledgerOf(companyId), { ...caller, ...price })
  return fault === null ? "done" : "refused"
}

/** Looks at a company's account. */
export async function look(ports: Ports, companyId: CompanyId, isLatest: boolean): Promise<void> {
  const stream = ledgerOf(companyId)
  await (isLatest
    ? ports.runner.readLatest(stream, accountOf)
    : ports.runner.read(stream, accountOf))
}

/** Gives a command to a company's ledger. */
export async function arrange(
  ports: Ports,
  companyId: CompanyId,
  command: LedgerCommand,
): Promise<Answered> {
  const outcome = await ports.runner.execute(
    ledgerOf(companyId),
    command,
    causedBy(`operator ${command.type}`),
  )
  return outcome.accepted ? "done" : "refused"
}

/** Gives a command to a company's access. */
export async function change(
  ports: Ports,
  companyId: CompanyId,
  command: AccessCommand,
): Promise<Answered> {
  const outcome = await ports.runner.execute(
    accessOf(companyId),
    command,
    causedBy(`owner ${command.type}`),
  )
  return outcome.accepted ? "done" : "refused"
}

/** Gives a charge back that was made, as an operator does. @throws Again */
export async function giveBack(
  ports: Ports,
  companyId: CompanyId,
  chargeId: string,
): Promise<Answered> {
  const { row, searchedTo } = await lookUpCharge(ports, companyId, chargeId)
  if (row === null || row.given_back_micros > 0 || row.amount_micros === 0) return "refused"
  const command = {
    type: "GiveBackEnded" as const,
    ...refundable(row),
    amountMicros: null,
    reason: "by hand",
    searchedTo,
  }
  const outcome = await ports.runner.execute(
    ledgerOf(companyId),
    command,
    causedBy(`give back ${chargeId}`),
  )
  if (outcome.accepted && outcome.facts.length > 0) return "done"
  throw new Again("it ended in the same moment, or must be looked for again")
}
