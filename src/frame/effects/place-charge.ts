/** Placing a charge for a caller: what it came to, or the refusal that they are told. */
import type { Position } from "../../../adapters/eventstore/port.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { Charge } from "../../../domain/charging/ledger-commands.ts"
import type { Charged, ChargeRefused } from "../../../domain/charging/ledger-formats.ts"
import { ledgerRevision } from "../../../domain/charging/ledger-views.ts"
import { causeOf } from "../routes/call.ts"
import { chargeRefusal, payerOf } from "../routes/answers/charge-refusals.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import type { Caller } from "../routes/declare/route.ts"
import type { Ports } from "../ports.ts"
import { OutcomeUnknown } from "../writer/run.ts"
import type { Price } from "./price.ts"
import { inDoubt } from "./give-up.ts"

/** What the ledger did. */
export interface Placed {
  /** The charge; null where one of this id was made before. */
  readonly fact: Charged | null
  /** The revision of the ledger's last fact right after it. */
  readonly revision: number
  readonly position: Position | null
}

/**
 * Places a charge; `"search again"` where its id must be looked for once more.
 *
 * @throws OutcomeUnknown with the charge's id, and what the runner throws where nothing was stored
 */
export async function placeCharge(
  ports: Ports,
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
export function mustSearch({
  type,
  code,
}: {
  readonly type: string
  readonly code: string
}): boolean {
  return type === "LedgerRefused" && code === "search_again"
}
