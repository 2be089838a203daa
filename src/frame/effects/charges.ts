/** Makes charges, looks them up, settles and refunds them. */
import type { Position } from "../../../adapters/eventstore/port.ts"
import { Unavailable } from "../../../adapters/eventstore/port.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import type {
  RefundSettledCharge,
  ChargeCommand,
} from "../../../domain/charging/ledger-commands.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { ChargeRow } from "../../../projections/charging/charges.ts"
import { refundableChargeOf, findCharge } from "../../../projections/charging/charges.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import type { Charged, ChargeRefused } from "../../../domain/charging/ledger-events.ts"
import { ledgerRevision } from "../../../domain/charging/ledger-views.ts"
import { causeOf } from "../routes/api-call.ts"
import { chargeRefusal, payerOf } from "../routes/answers/charge-refusals.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import type { Caller } from "../routes/declare/route.ts"
import { OutcomeUnknown } from "../writer/runner.ts"
import type { Price } from "./price.ts"
import { unknownChargeOutcome } from "./discard.ts"

type RefundPorts = Pick<Ports, "projector" | "readAll" | "runner" | "store">

/** A charge that the ledger accepted. */
export interface PlacedCharge {
  /** The charge; null if a charge with this id was made before. */
  readonly fact: Charged | null
  /** Revision of the ledger's last fact right after the charge. */
  readonly revision: number
  readonly position: Position | null
}

/** The codes with which any paid route can reject a charge. */
export const PAID_ROUTE_REFUSAL_CODES = ["spend_limit_reached", "payment_required"] as const

/**
 * Places a charge. Returns `"search again"` if the ledger no longer knows whether the id was used: look it up
 * and retry.
 *
 * @throws OutcomeUnknown with the charge's id; the runner's errors where nothing was stored
 */
export async function placeCharge(
  ports: Pick<Ports, "baseUrl" | "clock" | "storeRefusal" | "runner">,
  caller: Caller,
  { class: spending = "general", ...price }: Price,
  charge: Pick<ChargeCommand, "chargeId" | "resource" | "isPending" | "searchedUpTo">,
): Promise<PlacedCharge | "search again" | { readonly refusal: Refusal }> {
  const { companyId, spender } = caller
  const command: ChargeCommand = {
    type: "Charge",
    ...charge,
    ...spender,
    class: spending,
    ...price,
    requestedAt: ports.clock.now(),
    dueAt: null,
    servedFrom: null,
    exemption: null,
  }
  const made = await ports.runner
    .execute(ledgerStreamOf(companyId), command, causeOf(caller), ledgerRevision)
    .catch((error: unknown) => {
      throw error instanceof OutcomeUnknown ? unknownChargeOutcome(error, charge.chargeId) : error
    })
  if (made.accepted) {
    const fact = made.facts.find(({ type }) => type === "Charged") as Charged | undefined
    return { fact: fact ?? null, revision: made.view, position: made.position }
  }
  if (mustSearchAgain(made.refusal)) return "search again"
  const refused = made.refusal as ChargeRefused
  ports.storeRefusal(companyId, refused)
  const { chargeId } = charge
  return { refusal: { ...chargeRefusal(refused, await payerOf(ports, caller)), chargeId } }
}

/** Whether the ledger asks the caller to look the charge id up again. */
function mustSearchAgain({
  type,
  code,
}: {
  readonly type: string
  readonly code: string
}): boolean {
  return type === "LedgerRefused" && code === "search_again"
}

const CATCH_UP_MS = 2_000

/** The result of a charge look-up. */
export interface ChargeLookup {
  /** The newest state of the charge; null if it was never made. */
  readonly row: ChargeRow | null
  /** The look-up covers the company's ledger up to this revision. */
  readonly searchedTo: number
}

/**
 * Looks a charge up, considering everything stored until now.
 *
 * @throws Unavailable if the read model does not catch up in time
 */
export async function lookUpCharge(
  ports: Pick<Ports, "runner" | "store" | "projector" | "readAll">,
  companyId: CompanyId,
  chargeId: ChargeId,
): Promise<ChargeLookup> {
  const searchedTo = await ports.runner.read(ledgerStreamOf(companyId), ledgerRevision)
  const head = await ports.store.head()
  if (!(await ports.projector.waitUntilWritten(head, CATCH_UP_MS, ["charges"]))) {
    throw new Unavailable("the read model of charges is behind")
  }
  return { row: await findCharge(ports.readAll, companyId, chargeId), searchedTo }
}

/** A charge id, and the ledger revision up to which no charge has it; null if that is not known. */
export interface ChargeReference {
  readonly chargeId: ChargeId
  readonly searchedTo: number | null
}

/** Defaults: a settled charge to the company alone, within every limit. */
const CHARGE_DEFAULTS = {
  via: "company",
  keyId: null,
  personId: null,
  class: "general",
  isPending: false,
  exemption: null,
  dueAt: null,
  servedFrom: null,
} as const

/** Fields of a charge; omitted ones take their defaults. */
export type ChargeDetails = Pick<
  ChargeCommand,
  "item" | "quantity" | "unitPriceMicros" | "priceVersion" | "resource"
> &
  Partial<Pick<ChargeCommand, keyof typeof CHARGE_DEFAULTS>>

/**
 * Makes a charge unless it was made before. Returns null then and on success, else the ledger's refusal,
 * which the caller must store.
 *
 * @param charge the charge at a given time; called for each try, because time passes between them
 * @throws Error if the ledger rejects the charge as invalid; Unavailable
 */
export async function chargeOnce(
  ports: Pick<Ports, "clock" | "projector" | "readAll" | "runner" | "store">,
  companyId: CompanyId,
  { chargeId, searchedTo }: ChargeReference,
  charge: (now: number) => ChargeDetails,
  cause: Cause,
): Promise<ChargeRefused | null> {
  for (let searchedUpTo = searchedTo; ;) {
    if (searchedUpTo === null) {
      const found = await lookUpCharge(ports, companyId, chargeId)
      if (found.row !== null) return null
      searchedUpTo = found.searchedTo
    }
    const requestedAt = ports.clock.now()
    const details = charge(requestedAt)
    const command: ChargeCommand = {
      ...CHARGE_DEFAULTS,
      ...details,
      type: "Charge",
      chargeId,
      amountMicros: details.quantity * details.unitPriceMicros,
      requestedAt,
      searchedUpTo,
    }
    const made = await ports.runner.execute(ledgerStreamOf(companyId), command, cause)
    if (made.accepted) return null
    if (mustSearchAgain(made.refusal)) {
      searchedUpTo = null
      continue
    }
    if (made.refusal.type === "ChargeRefused") return made.refusal
    throw new Error(`charge ${chargeId} was rejected: ${made.refusal.code}`)
  }
}

/** How much of a charge to refund, and why. */
export interface Refund {
  /** Null to refund all of it. */
  readonly amountMicros: Micros | null
  /** Shown on the bill. */
  readonly reason: string
}

/** Refunds a pending charge, in full or in part; leaves an ended one as it is. Returns the fact's position. */
export async function refundCharge(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  chargeId: ChargeId,
  { amountMicros, reason }: Refund,
  cause: Cause,
): Promise<Position | null> {
  const command = { type: "RefundPendingCharge" as const, chargeId, amountMicros, reason }
  const ended = await runner.execute(ledgerStreamOf(companyId), command, cause)
  if (!ended.accepted) throw new Error(`charge ${chargeId} could not be refunded`)
  return ended.position
}

/** Settles a pending charge, or refunds it if `refund` is not null. */
export async function settleOrRefund(
  ports: Pick<Ports, "runner" | "settleCharge">,
  companyId: CompanyId,
  chargeId: ChargeId,
  refund: Refund | null,
  cause: Cause,
): Promise<void> {
  if (refund === null) await ports.settleCharge(companyId, chargeId)
  else await refundCharge(ports, companyId, chargeId, refund, cause)
}

/** A settled charge, and the amount of it that was not yet refunded at a revision of the ledger. */
export type SettledChargeBalance = Pick<
  RefundSettledCharge,
  "charge" | "refundableMicros" | "searchedUpTo"
>

/** Looks up a settled charge; null if it was never made. @throws Unavailable */
async function findSettledCharge(
  ports: RefundPorts,
  companyId: CompanyId,
  chargeId: ChargeId,
): Promise<SettledChargeBalance | null> {
  const { row, searchedTo: searchedUpTo } = await lookUpCharge(ports, companyId, chargeId)
  return row === null ? null : { ...refundableChargeOf(row), searchedUpTo }
}

/**
 * Refunds the remainder of a settled charge; null if there is no charge or nothing remains. Returns the
 * fact's position.
 *
 * @throws Error if the ledger rejects the refund; Unavailable
 */
export async function refundSettledCharge(
  ports: RefundPorts,
  companyId: CompanyId,
  given: SettledChargeBalance | null,
  reason: string,
  cause: Cause,
): Promise<Position | null> {
  for (let found = given; found !== null && found.refundableMicros > 0;) {
    const command = {
      type: "RefundSettledCharge" as const,
      ...found,
      amountMicros: null,
      reason,
    }
    const refunded = await ports.runner.execute(ledgerStreamOf(companyId), command, cause)
    if (refunded.accepted) return refunded.position
    const { chargeId } = found.charge
    if (!mustSearchAgain(refunded.refusal)) {
      throw new Error(`charge ${chargeId} could not be refunded: ${refunded.refusal.code}`)
    }
    found = await findSettledCharge(ports, companyId, chargeId)
  }
  return null
}

/** Refunds the remainder of a settled charge, if one was made. @throws Error, Unavailable */
export async function refundSettledById(
  ports: RefundPorts,
  companyId: CompanyId,
  chargeId: ChargeId,
  reason: string,
  cause: Cause,
): Promise<void> {
  const found = await findSettledCharge(ports, companyId, chargeId)
  await refundSettledCharge(ports, companyId, found, reason, cause)
}
