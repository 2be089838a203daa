/**
 * Minutes that are charged one by one as they begin, such as those of a box or a call. Minute n's charge has
 * the id `<resource>:<n>`, so each minute is charged once.
 */
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import type { ChargeRefused } from "../../../domain/charging/ledger-events.ts"
import { ledgerRevision } from "../../../domain/charging/ledger-views.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import type { ChargeDetails } from "./charges.ts"
import { chargeOnce } from "./charges.ts"

/** A resource with charged minutes; `V` is the view of its stream. */
export interface MeteredMinutes<V> {
  readonly companyId: CompanyId
  readonly resource: string
  readonly read: () => Promise<V | null>
  /**
   * Returns `owed`, the last minute that has begun, unless its charge is recorded; and `next`, the minute
   * after it and its begin in UTC milliseconds. Null where there is none.
   */
  readonly schedule: (view: V) => {
    readonly owed: number | null
    readonly next: { readonly minute: number; readonly dueAt: number } | null
  }
  /** Records the begin of a minute, unless the resource ends instead. */
  readonly beginMinute: (
    view: V,
    minute: number,
  ) => Promise<{ readonly view: V | null; readonly hasBegun: boolean }>
  /** Returns the charge of a minute at this time. */
  readonly chargeOf: (
    view: V,
    minute: number,
    now: number,
  ) => Omit<ChargeDetails, "resource" | "quantity">
  /** Records that a minute was charged or rejected, and returns the view after that. */
  readonly recordCharge: (minute: number, refused: ChargeRefused | null) => Promise<V | null>
}

/** Returns the id of a minute's charge (docs/decisions/boxes.md, calls.md). */
export const minuteChargeId = (resource: string, minute: number): ChargeId =>
  `${resource}:${minute}`

/**
 * Begins and charges every due minute in order; returns the view after that, null if there is none. After a
 * crash at any line another run charges every minute exactly once.
 *
 * @param searchedTo the ledger revision up to which the owed minute has no charge; null to look it up
 */
export async function chargeMinutes<V>(
  ports: Pick<Ports, "clock" | "storeRefusal" | "projector" | "readAll" | "runner" | "store">,
  minutes: MeteredMinutes<V>,
  cause: Cause,
  searchedTo: number | null = null,
): Promise<V | null> {
  const { companyId, resource } = minutes
  let view: V | null = await minutes.read()
  let charged: number | null = null
  for (let knownTo = searchedTo; view !== null;) {
    const { owed, next } = minutes.schedule(view)
    if (owed !== null && owed !== charged) {
      const current = view
      const named = { chargeId: minuteChargeId(resource, owed), searchedTo: knownTo }
      const charge = (now: number) => ({
        ...minutes.chargeOf(current, owed, now),
        resource,
        quantity: 1,
      })
      const refused = await chargeOnce(ports, companyId, named, charge, cause)
      if (refused === null) charged = owed
      else ports.storeRefusal(companyId, refused)
      view = await minutes.recordCharge(owed, refused)
      knownTo = null
    } else if (next !== null && next.dueAt <= ports.clock.now()) {
      // A charge of this minute can only be stored after this revision.
      const revision = await ports.runner.read(ledgerStreamOf(companyId), ledgerRevision)
      const begun = await minutes.beginMinute(view, next.minute)
      view = begun.view
      knownTo = begun.hasBegun ? revision : null
      const isSame = view !== null && minutes.schedule(view).next?.minute === next.minute
      if (!begun.hasBegun && isSame) return view
    } else return view
  }
  return null
}
