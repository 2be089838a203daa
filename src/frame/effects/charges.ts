/** Making charges, looking them up, and ending them by what they paid for. */
import type { Position } from "../../../adapters/eventstore/port.ts"
import { Unavailable } from "../../../adapters/eventstore/port.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { GiveBackEnded, Charge } from "../../../domain/charging/ledger-commands.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { ChargeRow } from "../../../projections/charging/charges.ts"
import { refundable, findCharge } from "../../../projections/charging/charges.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import type { Charged, ChargeRefused } from "../../../domain/charging/ledger-formats.ts"
import { ledgerRevision } from "../../../domain/charging/ledger-views.ts"
import { causeOf } from "../routes/call.ts"
import { chargeRefusal, payerOf } from "../routes/answers/charge-refusals.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import type { Caller } from "../routes/declare/route.ts"
import { OutcomeUnknown } from "../writer/run.ts"
import type { Price } from "./price.ts"
import { inDoubt } from "./give-up.ts"

type Needs = Pick<Ports, "projector" | "readAll" | "runner" | "store">

/** What the ledger did. */
export interface Placed {
  /** The charge; null where one of this id was made before. */
  readonly fact: Charged | null
  /** The revision of the ledger's last fact right after it. */
  readonly revision: number
  readonly position: Position | null
}

/** The codes by which a charge can be refused: those of every paid route. */
export const CHARGE_REFUSALS = ["spend_limit_reached", "payment_required"] as const

/**
 * Places a charge; `"search again"` where its id must be looked for once more.
 *
 * @throws OutcomeUnknown with the charge's id, and what the runner throws where nothing was stored
 */
export async function placeCharge(
  ports: Pick<Ports, "baseUrl" | "clock" | "keepRefusal" | "runner">,
  caller: Caller,
  { class: spending = "general", ...price }: Price,
  charge: Pick<Charge, "chargeId" | "resource" | "isPending" | "searchedTo">,
): Promise<Placed | "search again" | { readonly refusal: Refusal }> {
  const { companyId, spender } = caller
  const command: Charge = {
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
    .execute(ledgerOf(companyId), command, causeOf(caller), ledgerRevision)
    .catch((error: unknown) => {
      throw error instanceof OutcomeUnknown ? inDoubt(error, charge.chargeId) : error
    })
  if (made.accepted) {
    const fact = made.facts.find(({ type }) => type === "Charged") as Charged | undefined
    return { fact: fact ?? null, revision: made.view, position: made.position }
  }
  if (mustSearch(made.refusal)) return "search again"
  const refused = made.refusal as ChargeRefused
  ports.keepRefusal(companyId, refused)
  const { chargeId } = charge
  return { refusal: { ...chargeRefusal(refused, await payerOf(ports, caller)), chargeId } }
}

/** Whether a refusal says that the id must be looked for once more. */
function mustSearch({ type, code }: { readonly type: string; readonly code: string }): boolean {
  return type === "LedgerRefused" && code === "search_again"
}

const CATCH_UP_MS = 2_000

/** What a look-up found. */
export interface LookedUp {
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
): Promise<LookedUp> {
  const searchedTo = await ports.runner.read(ledgerOf(companyId), ledgerRevision)
  const head = await ports.store.head()
  if (!(await ports.projector.waitFor(head, CATCH_UP_MS, ["charges"]))) {
    throw new Unavailable("the read model of charges is behind")
  }
  return { row: await findCharge(ports.readAll, companyId, chargeId), searchedTo }
}

/** A charge, and up to which revision of the ledger it is known not to be made; null: that is looked for. */
export interface NamedCharge {
  readonly chargeId: ChargeId
  readonly knownTo: number | null
}

/** Fields of a final charge to the company alone, through every limit. */
const USUAL = {
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
export type ChargedByName = Pick<
  Charge,
  "item" | "quantity" | "unitPriceMicros" | "priceVersion" | "resource"
> &
  Partial<Pick<Charge, keyof typeof USUAL>>

/**
 * Charges what is not charged yet; null where it is charged, else the ledger's refusal, which is the
 * caller's to keep.
 *
 * @param charge what is asked for at this time; made for each try, because time passes between them
 * @throws Error where the ledger says that it can be no charge at all; Unavailable
 */
export async function chargeByName(
  ports: Pick<Ports, "clock" | "projector" | "readAll" | "runner" | "store">,
  companyId: CompanyId,
  { chargeId, knownTo }: NamedCharge,
  charge: (now: number) => ChargedByName,
  cause: Cause,
): Promise<ChargeRefused | null> {
  for (let searchedTo = knownTo; ;) {
    if (searchedTo === null) {
      const found = await lookUpCharge(ports, companyId, chargeId)
      if (found.row !== null) return null
      searchedTo = found.searchedTo
    }
    const requestedAt = ports.clock.now()
    const asked = charge(requestedAt)
    const command: Charge = {
      ...USUAL,
      ...asked,
      type: "Charge",
      chargeId,
      amountMicros: asked.quantity * asked.unitPriceMicros,
      requestedAt,
      searchedTo,
    }
    const made = await ports.runner.execute(ledgerOf(companyId), command, cause)
    if (made.accepted) return null
    if (mustSearch(made.refusal)) {
      searchedTo = null
      continue
    }
    if (made.refusal.type === "ChargeRefused") return made.refusal
    throw new Error(`${chargeId} was refused: ${made.refusal.code}`)
  }
}

/** How much of a charge is given back, and why. */
export interface Back {
  /** Null for the whole. */
  readonly amountMicros: Micros | null
  /** For the bill's reader. */
  readonly reason: string
}

/** Gives an open charge back, whole or in part; one that has ended stays as it is. Answers where that stands. */
export async function giveBack(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  chargeId: ChargeId,
  { amountMicros, reason }: Back,
  cause: Cause,
): Promise<Position | null> {
  const command = { type: "GiveBack" as const, chargeId, amountMicros, reason }
  const ended = await runner.execute(ledgerOf(companyId), command, cause)
  if (!ended.accepted) throw new Error(`charge ${chargeId} could not be given back`)
  return ended.position
}

/** Closes an open charge, or gives back what was not earned of it. */
export async function endCharge(
  ports: Pick<Ports, "runner" | "closeCharge">,
  companyId: CompanyId,
  chargeId: ChargeId,
  back: Back | null,
  cause: Cause,
): Promise<void> {
  if (back === null) await ports.closeCharge(companyId, chargeId)
  else await giveBack(ports, companyId, chargeId, back, cause)
}

/** A final charge, and what is left of it at a revision of the ledger. */
export type FoundCharge = Pick<GiveBackEnded, "charge" | "leftMicros" | "searchedTo">

/** Looks up how a charge stands; null where it was never made. @throws Unavailable */
async function findEnded(
  ports: Needs,
  companyId: CompanyId,
  chargeId: ChargeId,
): Promise<FoundCharge | null> {
  const { row, searchedTo } = await lookUpCharge(ports, companyId, chargeId)
  return row === null ? null : { ...refundable(row), searchedTo }
}

/**
 * Refunds all that is left of a final charge; nothing where no charge or nothing of it is left. Answers
 * where that stands.
 *
 * @throws Error where the ledger refuses it for good; Unavailable
 */
export async function refundEnded(
  ports: Needs,
  companyId: CompanyId,
  given: FoundCharge | null,
  reason: string,
  cause: Cause,
): Promise<Position | null> {
  for (let found = given; found !== null && found.leftMicros > 0;) {
    const command = {
      type: "GiveBackEnded" as const,
      ...found,
      amountMicros: null,
      reason,
    }
    const refunded = await ports.runner.execute(ledgerOf(companyId), command, cause)
    if (refunded.accepted) return refunded.position
    const { chargeId } = found.charge
    if (!mustSearch(refunded.refusal)) {
      throw new Error(`${chargeId} could not be refunded: ${refunded.refusal.code}`)
    }
    found = await findEnded(ports, companyId, chargeId)
  }
  return null
}

/** Refunds all that is left of a final charge, where one was made. @throws Error, Unavailable */
export async function refundByName(
  ports: Needs,
  companyId: CompanyId,
  chargeId: ChargeId,
  reason: string,
  cause: Cause,
): Promise<void> {
  const found = await findEnded(ports, companyId, chargeId)
  await refundEnded(ports, companyId, found, reason, cause)
}
