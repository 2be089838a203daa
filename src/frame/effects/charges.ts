/** Making charges, looking them up, and ending them by what they paid for. */
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

/** What the ledger did. */
export interface PlacedCharge {
  /** The charge; null where one of this id was made before. */
  readonly fact: Charged | null
  /** The revision of the ledger's last fact right after it. */
  readonly revision: number
  readonly position: Position | null
}

/** The codes by which a charge can be refused: those of every paid route. */
export const PAID_ROUTE_REFUSAL_CODES = ["spend_limit_reached", "payment_required"] as const

/**
 * Places a charge; `"search again"` where its id must be looked for once more.
 *
 * @throws OutcomeUnknown with the charge's id, and what the runner throws where nothing was stored
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

/** Whether a refusal says that the id must be looked for once more. */
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

/** What a look-up found. */
export interface ChargeLookup {
  /** The newest charge of this id; null where it was never made. */
  readonly row: ChargeRow | null
  /** Every fact of the company's ledger up to this revision was seen. */
  readonly searchedTo: number
}

/**
 * How a charge stands by everything stored until now.
 *
 * @throws Unavailable where the read model did not catch up in time: what it shows may be old
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

/** A charge, and up to which revision of the ledger it is known not to be made; null: that is looked for. */
export interface ChargeReference {
  readonly chargeId: ChargeId
  readonly searchedTo: number | null
}

/** Fields of a final charge to the company alone, through every limit. */
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

/** The fields of a charge by name; those that are left out have their usual value. */
export type ChargeDetails = Pick<
  ChargeCommand,
  "item" | "quantity" | "unitPriceMicros" | "priceVersion" | "resource"
> &
  Partial<Pick<ChargeCommand, keyof typeof CHARGE_DEFAULTS>>

/**
 * Charges what is not charged yet; null where it is charged, else the ledger's refusal, which is the
 * caller's to keep.
 *
 * @param charge what is asked for at this time; made for each try, because time passes between them
 * @throws Error where the ledger says that it can be no charge at all; Unavailable
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
    const asked = charge(requestedAt)
    const command: ChargeCommand = {
      ...CHARGE_DEFAULTS,
      ...asked,
      type: "Charge",
      chargeId,
      amountMicros: asked.quantity * asked.unitPriceMicros,
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
    throw new Error(`${chargeId} was refused: ${made.refusal.code}`)
  }
}

/** How much of a charge is given back, and why. */
export interface Refund {
  /** Null for the whole. */
  readonly amountMicros: Micros | null
  /** For the bill's reader. */
  readonly reason: string
}

/** Gives an open charge back, whole or in part; one that has ended stays as it is. Answers where that stands. */
export async function refundCharge(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  chargeId: ChargeId,
  { amountMicros, reason }: Refund,
  cause: Cause,
): Promise<Position | null> {
  const command = { type: "RefundPendingCharge" as const, chargeId, amountMicros, reason }
  const ended = await runner.execute(ledgerStreamOf(companyId), command, cause)
  if (!ended.accepted) throw new Error(`charge ${chargeId} could not be given back`)
  return ended.position
}

/** Closes an open charge, or gives back what was not earned of it. */
export async function settleOrRefund(
  ports: Pick<Ports, "runner" | "settleCharge">,
  companyId: CompanyId,
  chargeId: ChargeId,
  back: Refund | null,
  cause: Cause,
): Promise<void> {
  if (back === null) await ports.settleCharge(companyId, chargeId)
  else await refundCharge(ports, companyId, chargeId, back, cause)
}

/** A final charge, and what is left of it at a revision of the ledger. */
export type SettledChargeBalance = Pick<
  RefundSettledCharge,
  "charge" | "refundableMicros" | "searchedUpTo"
>

/** Looks up how a charge stands; null where it was never made. @throws Unavailable */
async function findSettledCharge(
  ports: RefundPorts,
  companyId: CompanyId,
  chargeId: ChargeId,
): Promise<SettledChargeBalance | null> {
  const { row, searchedTo: searchedUpTo } = await lookUpCharge(ports, companyId, chargeId)
  return row === null ? null : { ...refundableChargeOf(row), searchedUpTo }
}

/**
 * Refunds all that is left of a final charge; nothing where no charge or nothing of it is left. Answers
 * where that stands.
 *
 * @throws Error where the ledger refuses it for good; Unavailable
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
      throw new Error(`${chargeId} could not be refunded: ${refunded.refusal.code}`)
    }
    found = await findSettledCharge(ports, companyId, chargeId)
  }
  return null
}

/** Refunds all that is left of a final charge, where one was made. @throws Error, Unavailable */
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
