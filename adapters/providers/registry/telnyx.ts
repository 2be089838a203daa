/**
 * Telnyx as a registry (its 10DLC API and toll-free verification). It takes one brand twice as two, so
 * nothing is sent twice; what became of it is asked by our own id, which stands in the address of its news.
 */
import { openTelnyx } from "../telnyx/client.ts"
import { openTelnyxReader } from "../telnyx/signed.ts"
import type { Registry } from "./port.ts"
import type { Addressing } from "./telnyx-addresses.ts"
import { telnyxBrands } from "./telnyx-brands.ts"
import { telnyxCampaigns } from "./telnyx-campaigns.ts"
import { telnyxRegistryEvents } from "./telnyx-events.ts"
import { telnyxNumbers } from "./telnyx-numbers.ts"

/** As for texts: what its lists do not show by then it never got. */
const UNKNOWN_IS_NO_AFTER_MS = 30 * 60_000

/** How Telnyx is reached, and reaches us. */
export interface TelnyxRegistrySettings extends Addressing {
  readonly key: string
  /** The account's, in base64: what it calls back is signed by it. */
  readonly publicKey: string
  /** With the version in its path. */
  readonly url: string
}

/**
 * Opens the adapter. It calls nobody before it is asked something; its calls throw ProviderUnavailable and
 * ProviderSilent.
 */
export function openTelnyxRegistry(settings: TelnyxRegistrySettings): Registry {
  const { key, publicKey, url, baseUrl, tag } = settings
  const ports = { telnyx: openTelnyx({ key, url }), addressing: { baseUrl, tag } }
  const brands = telnyxBrands(ports)
  const campaigns = telnyxCampaigns(ports)
  return {
    ...{ isBuiltIn: false, isRepeatable: false, unknownIsNoAfterMs: UNKNOWN_IS_NO_AFTER_MS },
    ...telnyxNumbers(ports),
    ...telnyxRegistryEvents(openTelnyxReader(publicKey), ports.addressing),
    submit: (submission) =>
      submission.part === "business" ? brands.submit(submission) : campaigns.submit(submission),
    ask: (asked) => (asked.part === "business" ? brands.ask(asked) : campaigns.ask(asked)),
    giveCode: brands.giveCode,
    end: campaigns.end,
  }
}
