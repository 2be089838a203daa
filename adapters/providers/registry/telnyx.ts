/**
 * Telnyx as a registry (its 10DLC API and toll-free verification). It takes one brand twice as two, so
 * nothing is sent twice; what became of it is asked by our own id, which stands in the address of its news.
 */
import type { Telnyx } from "../telnyx/client.ts"
import { openTelnyx, notDone, readAs } from "../telnyx/client.ts"
import type { SignedSaying } from "../telnyx/signed.ts"
import { openTelnyxReader, TelnyxEvent } from "../telnyx/signed.ts"
import type { Registry, NumberRegistration, Review, RegistryEvent } from "./port.ts"
import type { Addressing, Place } from "./telnyx-shapes.ts"
import { Assignment, placeOf, assignmentReview, notTaken } from "./telnyx-shapes.ts"
import type { RegistryPorts } from "./telnyx-brands.ts"
import { telnyxBrands } from "./telnyx-brands.ts"
import { telnyxCampaigns } from "./telnyx-campaigns.ts"
import { verifyTollFree } from "./telnyx-toll-free.ts"
import { z } from "zod"

const PATH = "/10dlc/phone_number_campaigns"

const isIn = ({ telnyxCampaignId, campaignId }: Assignment, campaignRef: string) =>
  telnyxCampaignId === campaignRef || campaignId === campaignRef

/** As for texts: what its lists do not show by then it never got. */
const UNKNOWN_IS_NO_AFTER_MS = 30 * 60_000

/** How Telnyx is reached, and reaches us. */
interface TelnyxRegistrySettings extends Addressing {
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

// What Telnyx tells of registrations, read. Nothing of a body is believed but what it is about: that is
// asked about.

/** Where Telnyx says that it sends this: it is signed, which the address that was called is not. */
const Delivered = z.object({ meta: z.object({ delivered_to: z.string() }) })

/** The reading of what is called back. Whatever is signed and says nothing to us is no event. */
function telnyxRegistryEvents(
  signedIn: ReturnType<typeof openTelnyxReader>,
  addressing: Pick<Addressing, "tag">,
): Pick<Registry, "read"> {
  return {
    read: (call, now) => {
      const signed = signedIn(call, now)
      const place = placeOf(addressing, call.target)
      if (signed === null || place === null || !isForHere(signed.said, place)) return "forged"
      const told = eventIn(signed.said)
      const { signedAt } = signed
      // What has no id of its own is named by its signature, which is one of a kind too.
      const id = told?.id ?? call.header("telnyx-signature-ed25519") ?? ""
      if (place.is === "numbers") {
        // In which form toll-free numbers are told of is not promised.
        const event = { is: "numbers_news", companyId: place.companyId } as const
        return { signedAt, events: [{ id, event }] }
      }
      const event = told === null ? null : eventOf(told.type, place)
      return { signedAt, events: event === null ? [] : [{ id, event }] }
    },
  }
}

/** An event without the `data` around it, and one that is nothing but its payload. */
const Bare = TelnyxEvent.shape.data.partial({ payload: true })
const Payload = z.object({
  brandId: z.string().optional(),
  campaignId: z.string().optional(),
  phoneNumber: z.string().optional(),
})

/** An event in any of the forms in which Telnyx sends them; null where it is about no registration. */
function eventIn(said: unknown): { readonly id: string | null; readonly type: string } | null {
  const event = TelnyxEvent.safeParse(said).data?.data ?? Bare.safeParse(said).data
  if (event !== undefined) return { id: event.id, type: event.event_type }
  const flat = Payload.safeParse(said).data ?? {}
  if (flat.phoneNumber !== undefined) return { id: null, type: "10dlc.phone_number.update" }
  if (flat.campaignId !== undefined) return { id: null, type: "10dlc.campaign.update" }
  return flat.brandId === undefined ? null : { id: null, type: "10dlc.brand.update" }
}

function isForHere(said: SignedSaying["said"], { path }: Place): boolean {
  const to = Delivered.safeParse(said).data?.meta.delivered_to
  return to === undefined || (to.split("?")[0] ?? "").endsWith(path)
}

function eventOf(
  type: string,
  { companyId, submissionId }: Extract<Place, { readonly is: "part" }>,
): RegistryEvent | null {
  switch (type) {
    case "10dlc.brand.update":
    case "10dlc.campaign.update":
      return { is: "part_news", companyId, submissionId }
    case "10dlc.phone_number.update":
      // Of numbers it is told where its campaign is.
      return { is: "numbers_news", companyId }
    default:
      return null
  }
}
