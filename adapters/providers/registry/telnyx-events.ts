/**
 * What Telnyx tells of registrations, read. Nothing of a body is believed but what it is about: that is
 * asked about.
 */
import { z } from "zod"
import type { SignedSaying, openTelnyxReader } from "../telnyx/signed.ts"
import { TelnyxEvent } from "../telnyx/signed.ts"
import type { Registry, RegistryEvent } from "./port.ts"
import type { Addressing, Place } from "./telnyx-addresses.ts"
import { placeOf } from "./telnyx-addresses.ts"

/** Where Telnyx says that it sends this: it is signed, which the address that was called is not. */
const Delivered = z.object({ meta: z.object({ delivered_to: z.string() }) })

/** The reading of what is called back. Whatever is signed and says nothing to us is no event. */
export function telnyxRegistryEvents(
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
