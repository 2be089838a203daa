/** Numbers by Telnyx: an order carries our id of it, by which it is asked about. */
import { z } from "zod"
import { isProviderError } from "../provider-errors.ts"
import type { TelnyxClient } from "../telnyx/client.ts"
import { telnyxUnavailable } from "../telnyx/client.ts"
import type {
  Carrier,
  NumberOrder,
  AvailableNumber,
  NumberOrderAnswer,
  NumberSearch,
} from "./port.ts"
import type { MessagingProfiles } from "./telnyx-profiles.ts"
import {
  TelnyxMessagingFeatures,
  TelnyxAvailableNumber,
  TelnyxNumberOrder,
  TelnyxOwnedNumber,
  parseTelnyxData,
  isUnrelatedRefusal,
} from "./telnyx-schemas.ts"

/** A form with gaps is matched here: so many are looked at for it. */
const SEARCH_LIMIT = 250

/** What numbers need. */
interface TelnyxNumbersPorts {
  readonly telnyx: TelnyxClient
  readonly profiles: MessagingProfiles
  /** The connection that calls to a bought number come by; null for none. */
  readonly connectionId: string | null
}

/** The part of the carrier that is about numbers. */
export function telnyxNumbers(
  ports: TelnyxNumbersPorts,
): Pick<Carrier, "searchNumbers" | "buyNumber" | "checkOrderStatus" | "releaseNumber"> {
  const { telnyx } = ports
  return {
    searchNumbers: (wanted, most) => searchNumbers(telnyx, wanted, most),
    buyNumber: (order) => buyNumber(ports, order),
    checkOrderStatus: async (order) => {
      const query = { "filter[customer_reference]": referenceOf(order), "page[size]": "50" }
      const listed = await telnyx.request({ method: "GET", path: "/number_orders", query })
      if (listed.outcome === "refused") throw telnyxUnavailable("a look at the orders", listed)
      const ours = parseTelnyxData(z.array(TelnyxNumberOrder), listed.value).filter(
        ({ customer_reference }) => customer_reference === referenceOf(order),
      )
      const told = ["success", "pending", "failure"].find((status) =>
        ours.some((one) => one.status === status),
      )
      return told === undefined
        ? { answer: "unknown" }
        : readOrderAnswer(telnyx, told, order.number)
    },
    releaseNumber: async (carrierRef) => {
      const path = `/phone_numbers/${encodeURIComponent(carrierRef)}`
      const released = await telnyx.request({ method: "DELETE", path })
      if (released.outcome === "done" || released.status === 404) return
      throw telnyxUnavailable("a release", released)
    },
  }
}

async function searchNumbers(
  telnyx: TelnyxClient,
  wanted: NumberSearch,
  most: number,
): Promise<readonly AvailableNumber[]> {
  const { kind, areaCode, contains, region } = wanted
  // They know no gaps: the longest run of digits is asked for, and the whole form is matched here.
  const runs = (contains ?? "").split("*").toSorted((a, b) => b.length - a.length)
  const [run = ""] = runs
  const isExact = runs.length === 1
  const query: Record<string, string> = {
    "filter[country_code]": "US",
    "filter[phone_number_type]": kind,
    "filter[best_effort]": "false",
    "filter[quickship]": "true",
    "filter[limit]": String(isExact ? most : SEARCH_LIMIT),
  }
  if (areaCode !== null) query["filter[national_destination_code]"] = areaCode
  if (run !== "") query["filter[phone_number][contains]"] = run
  if (region !== null) query["filter[administrative_area]"] = region
  const listed = await telnyx.request({ method: "GET", path: "/available_phone_numbers", query })
  if (listed.outcome === "refused") {
    // Telnyx says of a place that it has nothing there by a refusal.
    if (listed.status === 400 || listed.status === 404 || listed.status === 422) return []
    throw telnyxUnavailable("a search", listed)
  }
  const form = new RegExp((contains ?? "").replaceAll("*", "\\d"))
  return parseTelnyxData(z.array(TelnyxAvailableNumber), listed.value)
    .flatMap((one) => toAvailableNumber(one, kind))
    .filter(({ number }) => form.test(number.slice(2)))
    .slice(0, most)
}

function toAvailableNumber(
  one: z.infer<typeof TelnyxAvailableNumber>,
  kind: AvailableNumber["kind"],
): readonly AvailableNumber[] {
  if (!/^\+1\d{10}$/.test(one.phone_number)) return []
  const can = new Set((one.features ?? []).map(({ name }) => name))
  const region = (type: string) =>
    one.region_information?.find(({ region_type }) => region_type === type)?.region_name ?? null
  const state = region("state")
  return [
    {
      number: one.phone_number,
      kind,
      locality: region("location") ?? region("rate_center"),
      region: state !== null && /^[A-Z]{2}$/.test(state) ? state : null,
      sms: can.has("sms"),
      mms: can.has("mms"),
      voice: can.has("voice"),
    },
  ]
}

/** Our id of an order, with whose it is: for that is asked when Telnyx tells of it. */
const referenceOf = ({ companyId, orderId }: NumberOrder): string => `${companyId}:${orderId}`

async function buyNumber(
  ports: TelnyxNumbersPorts,
  order: NumberOrder,
): Promise<NumberOrderAnswer> {
  const { telnyx, profiles, connectionId } = ports
  const { companyId, number } = order
  const profile = await profiles.profileIdOf(companyId)
  const ordered = await telnyx.request({
    method: "POST",
    path: "/number_orders",
    body: {
      phone_numbers: [{ phone_number: number }],
      customer_reference: referenceOf(order),
      messaging_profile_id: profile,
      ...(connectionId === null ? {} : { connection_id: connectionId }),
    },
  })
  if (ordered.outcome === "refused") {
    if (isUnrelatedRefusal(ordered)) throw telnyxUnavailable("an order", ordered)
    return { answer: "taken" }
  }
  try {
    return await readOrderAnswer(
      telnyx,
      parseTelnyxData(TelnyxNumberOrder, ordered.value).status ?? null,
      number,
    )
  } catch (error) {
    // Telnyx has the order, whatever became of the look at the number: the order is asked about.
    if (!isProviderError(error)) throw error
    return { answer: "pending" }
  }
}

/** What an order's status comes to. One that is done is told with what the number can do. */
async function readOrderAnswer(
  telnyx: TelnyxClient,
  status: string | null,
  number: string,
): Promise<NumberOrderAnswer> {
  if (status === "failure") return { answer: "taken" }
  if (status !== "success") return { answer: "pending" }
  // By anything but digits Telnyx finds no number.
  const query = { "filter[phone_number]": number.replaceAll(/\D/g, "") }
  const listed = await telnyx.request({ method: "GET", path: "/phone_numbers", query })
  if (listed.outcome === "refused") throw telnyxUnavailable("a look at a number", listed)
  const owned = parseTelnyxData(z.array(TelnyxOwnedNumber), listed.value).find(
    (one) => one.phone_number === number,
  )
  // The order is done a moment before the number is there.
  if (owned === undefined) return { answer: "pending" }
  const path = `/phone_numbers/${encodeURIComponent(owned.id)}/messaging`
  const found = await telnyx.request({ method: "GET", path })
  if (found.outcome === "refused" && found.status !== 404)
    throw telnyxUnavailable("a look at a number", found)
  const features =
    found.outcome === "done" ? parseTelnyxData(TelnyxMessagingFeatures, found.value).features : null
  const has = (feature: unknown) => feature !== null && feature !== undefined
  const sms = has(features?.sms)
  return {
    // Right after a purchase Telnyx does not know of texting, whether or not the number can do it.
    answer: sms ? "bought" : "settling",
    carrierRef: owned.id,
    locality: null,
    region: null,
    sms,
    mms: has(features?.mms),
    voice: true,
  }
}
