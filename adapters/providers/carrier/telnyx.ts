/**
 * Telnyx as a carrier (API v2). It has no idempotency key for texts and orders: each is handed over once,
 * and what became of it is asked by our own id, which goes along where Telnyx gives it back. It answers
 * keywords by itself, and refuses texts to whoever stopped.
 */
import { openTelnyx } from "../telnyx/client.ts"
import { openTelnyxReader } from "../telnyx/signed.ts"
import type { Carrier } from "./port.ts"
import type { Addressing } from "./telnyx-shapes.ts"
import { TEXTS_PATH } from "./telnyx-shapes.ts"
import { telnyxEvents, telnyxTexts } from "./telnyx-texts.ts"
import { telnyxNumbers } from "./telnyx-numbers.ts"
import { openProfiles } from "./telnyx-profiles.ts"

/** Its books show a text that late. */
const UNKNOWN_IS_NO_AFTER_MS = 30 * 60_000

/** How Telnyx is reached, and reaches us. */
export interface TelnyxCarrierSettings extends Addressing {
  readonly key: string
  readonly publicKey: string
  readonly url: string
  readonly connectionId: string | null
  readonly warn: (message: string, error: unknown) => void
}

/** Opens the adapter. It calls nobody before it is asked something. */
export function openTelnyxCarrier(settings: TelnyxCarrierSettings): Carrier {
  const { key, publicKey, url, connectionId, warn, baseUrl, tag } = settings
  const telnyx = openTelnyx({ key, url })
  const addressing = { baseUrl, tag }
  const profiles = openProfiles(telnyx, () => `${baseUrl()}${TEXTS_PATH}`)
  return {
    isBuiltIn: false,
    isRepeatable: false,
    answersKeywords: true,
    unknownIsNoAfterMs: UNKNOWN_IS_NO_AFTER_MS,
    ...telnyxTexts({ telnyx, profiles, addressing, warn }),
    ...telnyxNumbers({ telnyx, profiles, connectionId }),
    ...telnyxEvents(openTelnyxReader(publicKey), addressing),
    setReplies: (replies) => profiles.setReplies(replies),
    forgetCompany: (companyId) => profiles.remove(companyId),
  }
}
