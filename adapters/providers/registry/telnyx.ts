/**
 * Telnyx as a registry (its 10DLC API and toll-free verification). It takes one brand twice as two, so
 * nothing is sent twice; what became of it is asked by our own id, which stands in the address of its news.
 */
import type { Telnyx } from "../telnyx/client.ts"
import { openTelnyx } from "../telnyx/client.ts"
import { openTelnyxReader } from "../telnyx/signed.ts"
import type { Registry, NumberRegistration, Review } from "./port.ts"
import type { Addressing } from "./telnyx-addresses.ts"
import type { RegistryPorts } from "./telnyx-brands.ts"
import { telnyxBrands } from "./telnyx-brands.ts"
import { telnyxCampaigns } from "./telnyx-campaigns.ts"
import { telnyxRegistryEvents } from "./telnyx-events.ts"
import { notDone, readAs } from "../telnyx/answers.ts"
import { assignmentReview, notTaken } from "./telnyx-reviews.ts"
import { Assignment } from "./telnyx-shapes.ts"
import { verifyTollFree } from "./telnyx-toll-free.ts"

const PATH = "/10dlc/phone_number_campaigns"

const isIn = ({ telnyxCampaignId, campaignId }: Assignment, campaignRef: string) =>
  telnyxCampaignId === campaignRef || campaignId === campaignRef

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
    isBuiltIn: false,
    isRepeatable: false,
    unknownIsNoAfterMs: UNKNOWN_IS_NO_AFTER_MS,
    ...telnyxNumbers(ports),
    ...telnyxRegistryEvents(openTelnyxReader(publicKey), ports.addressing),
    submit: (submission) =>
      submission.part === "business" ? brands.submit(submission) : campaigns.submit(submission),
    ask: (asked) => (asked.part === "business" ? brands.ask(asked) : campaigns.ask(asked)),
    giveCode: brands.giveCode,
    end: campaigns.end,
  }
}

/** The part of the registry that is about numbers. */
function telnyxNumbers(ports: RegistryPorts): Pick<Registry, "register"> {
  return {
    register: (registration) =>
      registration.kind === "toll_free"
        ? verifyTollFree(ports, registration)
        : assign(ports.telnyx, registration),
  }
}

async function assign(
  telnyx: Telnyx,
  { number, campaignRef }: NumberRegistration,
): Promise<Review> {
  const known = await find(telnyx, number)
  if (known !== null && isIn(known, campaignRef)) return assignmentReview(known)
  const body = { phoneNumber: number, campaignId: campaignRef }
  const set = await telnyx.ask(
    known === null
      ? { method: "POST", path: PATH, body }
      : { method: "PUT", path: `${PATH}/${encodeURIComponent(number)}`, body },
  )
  if (set.is === "done") return assignmentReview(readAs(Assignment, set.value))
  const { reasons } = notTaken("the number", set)
  // Somebody else may have put it there in between.
  const after = await find(telnyx, number)
  if (after !== null && isIn(after, campaignRef)) return assignmentReview(after)
  return { answer: "rejected", reasons }
}

async function find(telnyx: Telnyx, number: string): Promise<Assignment | null> {
  const path = `${PATH}/${encodeURIComponent(number)}`
  const found = await telnyx.ask({ method: "GET", path })
  if (found.is === "done") return readAs(Assignment, found.value)
  if (found.status === 404) return null
  throw notDone("a look at a number", found)
}
