/** Buys numbers from Telnyx. An order carries our own id, by which its status is checked. */
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

/** Maximum number of candidates for a pattern with gaps, which is matched here. */
const SEARCH_LIMIT = 250

interface TelnyxNumbersPorts {
  readonly telnyx: TelnyxClient
  readonly profiles: MessagingProfiles
  /** The connection for calls to a bought number; null for none. */
  readonly connectionId: string | null
}

/** The number part of the carrier. */
export function telnyxNumbers(
  ports: TelnyxNumbersPorts,
): Pick<Carrier, "searchNumbers" | "buyNumber" | "checkOrderStatus" | "releaseNumber"> {
  const { telnyx } = ports
  return {
    searchNumbers: (search, limit) => searchNumbers(telnyx, search, limit),
    buyNumber: (order) => buyNumber(ports, order),
    checkOrderStatus: async (order) => {
      const query = { "filter[customer_reference]": referenceOf(order), "page[size]": "50" }
      const listed = await telnyx.request({ method: "GET", path: "/number_orders", query })
      if (listed.outcome === "refused") throw telnyxUnavailable("the request for orders", listed)
      const ours = parseTelnyxData(z.array(TelnyxNumberOrder), listed.value).filter(
        ({ customer_reference }) => customer_reference === referenceOf(order),
      )
      const status = ["success", "pending", "failure"].find((known) =>
        ours.some((one) => one.status === known),
      )
      return status === undefined
        ? { answer: "unknown" }
        : readOrderAnswer(telnyx, status, order.number)
    },
    releaseNumber: async (carrierRef) => {
      const path = `/phone_numbers/${encodeURIComponent(carrierRef)}`
      const released = await telnyx.request({ method: "DELETE", path })
      if (released.outcome === "done" || released.status === 404) return
      throw telnyxUnavailable("the release of a number", released)
    },
  }
}

async function searchNumbers(
  telnyx: TelnyxClient,
  search: NumberSearch,
  limit: number,
): Promise<readonly AvailableNumber[]> {
  const { kind, areaCode, contains, region } = search
  // Telnyx supports no gaps: the query uses the longest run of digits, and the pattern is matched
  // here.
  const runs = (contains ?? "").split("*").toSorted((a, b) => b.length - a.length)
  const [run = ""] = runs
  const isExact = runs.length === 1
  const query: Record<string, string> = {
    "filter[country_code]": "US",
    "filter[phone_number_type]": kind,
    "filter[best_effort]": "false",
    "filter[quickship]": "true",
    "filter[limit]": String(isExact ? limit : SEARCH_LIMIT),
  }
  if (areaCode !== null) query["filter[national_destination_code]"] = areaCode
  if (run !== "") query["filter[phone_number][contains]"] = run
  if (region !== null) query["filter[administrative_area]"] = region
  const listed = await telnyx.request({ method: "GET", path: "/available_phone_numbers", query })
  if (listed.outcome === "refused") {
    // Telnyx answers with an error if an area has no numbers.
    if (listed.status === 400 || listed.status === 404 || listed.status === 422) return []
    throw telnyxUnavailable("a search for numbers", listed)
  }
  const pattern = new RegExp((contains ?? "").replaceAll("*", "\\d"))
  return parseTelnyxData(z.array(TelnyxAvailableNumber), listed.value)
    .flatMap((one) => toAvailableNumber(one, kind))
    .filter(({ number }) => pattern.test(number.slice(2)))
    .slice(0, limit)
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

/** Our order id with its company, which Telnyx returns in events. */
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
    if (isUnrelatedRefusal(ordered)) throw telnyxUnavailable("an order of a number", ordered)
    return { answer: "taken" }
  }
  try {
    return await readOrderAnswer(
      telnyx,
      parseTelnyxData(TelnyxNumberOrder, ordered.value).status ?? null,
      number,
    )
  } catch (error) {
    // Telnyx has the order, although reading the number failed: the status check completes it.
    if (!isProviderError(error)) throw error
    return { answer: "pending" }
  }
}

/** Maps an order's status to an answer; a completed order includes the number's features. */
async function readOrderAnswer(
  telnyx: TelnyxClient,
  status: string | null,
  number: string,
): Promise<NumberOrderAnswer> {
  if (status === "failure") return { answer: "taken" }
  if (status !== "success") return { answer: "pending" }
  // Telnyx finds numbers by digits only.
  const query = { "filter[phone_number]": number.replaceAll(/\D/g, "") }
  const listed = await telnyx.request({ method: "GET", path: "/phone_numbers", query })
  if (listed.outcome === "refused") throw telnyxUnavailable("the request for a number", listed)
  const owned = parseTelnyxData(z.array(TelnyxOwnedNumber), listed.value).find(
    (one) => one.phone_number === number,
  )
  // An order completes a moment before the number exists.
  if (owned === undefined) return { answer: "pending" }
  const path = `/phone_numbers/${encodeURIComponent(owned.id)}/messaging`
  const found = await telnyx.request({ method: "GET", path })
  if (found.outcome === "refused" && found.status !== 404)
    throw telnyxUnavailable("the request for a number's features", found)
  const features =
    found.outcome === "done" ? parseTelnyxData(TelnyxMessagingFeatures, found.value).features : null
  const has = (feature: unknown) => feature !== null && feature !== undefined
  const sms = has(features?.sms)
  return {
    // Right after a purchase Telnyx reports no texting feature, whether or not the number has it.
    answer: sms ? "bought" : "settling",
    carrierRef: owned.id,
    locality: null,
    region: null,
    sms,
    mms: has(features?.mms),
    voice: true,
  }
}
