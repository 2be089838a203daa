/**
 * Fetches texts whose webhooks were lost: the carrier repeats them a few times, but a STOP must survive an
 * outage.
 */
import { findCompanyMessage } from "../../projections/phone/messages.ts"
import { findHolderOfNumber } from "../../projections/phone/numbers.ts"
import type { ReceivedText } from "../../adapters/providers/carrier/port.ts"
import type { NumberHolder } from "./receive-text.ts"
import { incomingTextId, receiveCarrierText } from "./receive-text.ts"
import { periodicDaemon } from "../frame/daemon.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { newId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"

const HOUR_MS = 3_600_000
/** Covers an outage over a weekend. It must not exceed a week. */
export const STARTUP_SWEEP_MS = 72 * HOUR_MS
/** Overlaps the last sweep, because the carrier lists texts with a delay. */
const HOURLY_SWEEP_MS = 3 * HOUR_MS

export interface CarrierSweepResult {
  readonly checked: number
  /** Texts that were missing here and are now stored. */
  readonly received: number
  /** Texts that are missing here and that the carrier can no longer deliver. */
  readonly missing: number
}

/** Stores missing texts since an instant. @throws ProviderUnavailable, ProviderOutcomeUnknown */
export async function sweepCarrier(
  ports: Pick<Ports, "carrier" | "readAll" | "runner" | "sealing">,
  since: number,
  cause: Cause,
): Promise<CarrierSweepResult> {
  const result = { checked: 0, received: 0, missing: 0 }
  for await (const page of ports.carrier.receivedSince(since)) {
    for (const { carrierId, to } of page) {
      result.checked += 1
      const holder = await findHolderOfNumber(ports.readAll, to)
      if (holder === null) continue
      // A group text stored for this number may be missing for its others, so the carrier is asked.
      if (await isTextStored(ports, holder, { carrierId, isGroupText: false, to })) continue
      const texts = await ports.carrier.fetchReceived(carrierId)
      if (texts === null) {
        if (await isTextStored(ports, holder, { carrierId, isGroupText: true, to })) continue
        result.missing += 1
      }
      for (const text of texts ?? [])
        if (await receiveMissingText(ports, text, cause)) result.received += 1
    }
  }
  return result
}

async function isTextStored(
  { readAll }: Pick<Ports, "readAll">,
  { company_id: companyId }: NumberHolder,
  named: Parameters<typeof incomingTextId>[0],
): Promise<boolean> {
  return (await findCompanyMessage(readAll, companyId, incomingTextId(named))) !== null
}

/** Stores a text and returns true, unless it is stored already or no company holds its number. */
async function receiveMissingText(
  ports: Pick<Ports, "readAll" | "runner" | "sealing">,
  text: ReceivedText,
  cause: Cause,
): Promise<boolean> {
  const holder = await findHolderOfNumber(ports.readAll, text.to)
  if (holder === null || (await isTextStored(ports, holder, text))) return false
  await receiveCarrierText(ports, holder, text, cause)
  return true
}

/** Sweeps at startup and every hour. */
export const carrierSweep = periodicDaemon({
  displayName: "the carrier sweep",
  intervalMs: HOUR_MS,
  failureMessage:
    "the carrier's received texts could not be checked; the next sweep checks them again",
  createTask: (ports) => {
    let since: number | null = null
    return async () => {
      const began = ports.clock.now()
      since ??= began - STARTUP_SWEEP_MS
      const { received, missing } = await sweepCarrier(ports, since, causedBy(newId("cmd")))
      if (received + missing > 0)
        ports.log.info("the carrier sweep found texts whose webhook never arrived", {
          received,
          missing,
        })
      // If this sweep fails, `since` stays, so the next one covers its time.
      since = began - HOURLY_SWEEP_MS
    }
  },
})
