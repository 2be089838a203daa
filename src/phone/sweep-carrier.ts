/**
 * The sweep: the carrier tells of a text a few times and then no more, so its books are compared with ours.
 * No STOP is lost to an outage that is longer than its patience.
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
/** How far back it looks when a process starts: an outage of a weekend. Longer than a week it must not be. */
export const STARTUP_SWEEP_MS = 72 * HOUR_MS
/** How far behind the last one it looks each hour: books show a text late. */
const HOURLY_SWEEP_MS = 3 * HOUR_MS

/** What a sweep found. */
export interface CarrierSweepResult {
  /** Texts in the carrier's books. */
  readonly looked: number
  /** Those that were not here, and are by now. */
  readonly taken: number
  /** Those that were not here, and of which the carrier no longer knows what they say. */
  readonly lost: number
}

/** Takes in what came since an instant and is not here. @throws ProviderUnavailable, ProviderOutcomeUnknown */
export async function sweepCarrier(
  ports: Pick<Ports, "carrier" | "readAll" | "runner" | "sealing">,
  since: number,
  cause: Cause,
): Promise<CarrierSweepResult> {
  const found = { looked: 0, taken: 0, lost: 0 }
  for await (const page of ports.carrier.receivedSince(since)) {
    for (const { carrierId, to } of page) {
      found.looked += 1
      const holder = await findHolderOfNumber(ports.readAll, to)
      if (holder === null) continue
      // A group text that is here for this number may not be here for its others: the carrier is asked.
      if (await isTextStored(ports, holder, { carrierId, isGroupText: false, to })) continue
      const texts = await ports.carrier.fetchReceived(carrierId)
      if (texts === null) {
        if (await isTextStored(ports, holder, { carrierId, isGroupText: true, to })) continue
        found.lost += 1
      }
      for (const text of texts ?? [])
        if (await receiveMissingText(ports, text, cause)) found.taken += 1
    }
  }
  return found
}

async function isTextStored(
  { readAll }: Pick<Ports, "readAll">,
  { company_id: companyId }: NumberHolder,
  named: Parameters<typeof incomingTextId>[0],
): Promise<boolean> {
  return (await findCompanyMessage(readAll, companyId, incomingTextId(named))) !== null
}

/** Takes a text in, unless it is here or came to a number that no company holds; whether it did. */
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

/** Sweeps when a process starts, and each hour. */
export const carrierSweep = periodicDaemon({
  displayName: "the sweep of the carrier",
  intervalMs: HOUR_MS,
  failureMessage: "what came to the carrier could not be looked through",
  createTask: (ports) => {
    let since: number | null = null
    return async () => {
      const began = ports.clock.now()
      since ??= began - STARTUP_SWEEP_MS
      const { taken, lost } = await sweepCarrier(ports, since, causedBy(newId("cmd")))
      if (taken + lost > 0) ports.log.info("texts were found that nobody told of", { taken, lost })
      // One that failed is made up for by the next.
      since = began - HOURLY_SWEEP_MS
    }
  },
})
