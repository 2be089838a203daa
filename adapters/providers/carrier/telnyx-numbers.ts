/** Numbers by Telnyx: an order carries our id of it, by which it is asked about. */
import { z } from "zod"
import { isOutside } from "../outside.ts"
import type { Telnyx } from "../telnyx/client.ts"
import { notDone } from "../telnyx/client.ts"
import type { Carrier, NumberOrder, OfferedNumber, OrderAnswer, WantedNumber } from "./port.ts"
import type { Profiles } from "./telnyx-profiles.ts"
import { Messaging, Offered, Order, Owned, dataOf, isNoAnswer } from "./telnyx-shapes.ts"

/** A form with gaps is matched here: so many are looked at for it. */
const LOOKED_AT = 250

/** What numbers need. */
interface NumbersPorts {
  readonly telnyx: Telnyx
  readonly profiles: Profiles
  /** The connection that calls to a bought number come by; null for none. */
  readonly connectionId: string | null
}

/** The part of the carrier that is about numbers. */
export function telnyxNumbers(
  ports: NumbersPorts,
): Pick<Carrier, "search" | "buy" | "askOrder" | "release"> {
  const { telnyx } = ports
  return {
    search: (wanted, most) => search(telnyx, wanted, most),
    buy: (order) => buy(ports, order),
    askOrder: async (order) => {
      const query = { "filter[customer_reference]": referenceOf(order), "page[size]": "50" }
      const listed = await telnyx.ask({ method: "GET", path: "/number_orders", query })
      if (listed.is === "refused") throw notDone("a look at the orders", listed)
      const ours = dataOf(z.array(Order), listed.value).filter(
        ({ customer_reference }) => customer_reference === referenceOf(order),
      )
      const told = ["success", "pending", "failure"].find((status) =>
        ours.some((one) => one.status === status),
      )
      return told === undefined ? { answer: "unknown" } : orderAnswer(telnyx, told, order.number)
    },
    release: async (carrierRef) => {
      const path = `/phone_numbers/${encodeURIComponent(carrierRef)}`
      const released = await telnyx.ask({ method: "DELETE", path })
      if (released.is === "done" || released.status === 404) return
      throw notDone("a release", released)
    },
  }
}

async function search(
  telnyx: Telnyx,
  wanted: WantedNumber,
  most: number,
): Promise<readonly OfferedNumber[]> {
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
    "filter[limit]": String(isExact ? most : LOOKED_AT),
  }
  if (areaCode !== null) query["filter[national_destination_code]"] = areaCode
  if (run !== "") query["filter[phone_number][contains]"] = run
  if (region !== null) query["filter[administrative_area]"] = region
  const listed = await telnyx.ask({ method: "GET", path: "/available_phone_numbers", query })
  if (listed.is === "refused") {
    // Telnyx says of a place that it has nothing there by a refusal.
    if (listed.status === 400 || listed.status === 404 || listed.status === 422) return []
    throw notDone("a search", listed)
  }
  const form = new RegExp((contains ?? "").replaceAll("*", "\\d"))
  return dataOf(z.array(Offered), listed.value)
    .flatMap((one) => offered(one, kind))
    .filter(({ number }) => form.test(number.slice(2)))
    .slice(0, most)
}

function offered(
  one: z.infer<typeof Offered>,
  kind: OfferedNumber["kind"],
): readonly OfferedNumber[] {
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

async function buy(ports: NumbersPorts, order: NumberOrder): Promise<OrderAnswer> {
  const { telnyx, profiles, connectionId } = ports
  const { companyId, number } = order
  const profile = await profiles.of(companyId)
  const ordered = await telnyx.ask({
    method: "POST",
    path: "/number_orders",
    body: {
      phone_numbers: [{ phone_number: number }],
      customer_reference: referenceOf(order),
      messaging_profile_id: profile,
      ...(connectionId === null ? {} : { connection_id: connectionId }),
    },
  })
  if (ordered.is === "refused") {
    if (isNoAnswer(ordered)) throw notDone("an order", ordered)
    return { answer: "taken" }
  }
  try {
    return await orderAnswer(telnyx, dataOf(Order, ordered.value).status ?? null, number)
  } catch (error) {
    // Telnyx has the order, whatever became of the look at the number: the order is asked about.
    if (!isOutside(error)) throw error
    return { answer: "pending" }
  }
}

/** What an order's status comes to. One that is done is told with what the number can do. */
async function orderAnswer(
  telnyx: Telnyx,
  status: string | null,
  number: string,
): Promise<OrderAnswer> {
  if (status === "failure") return { answer: "taken" }
  if (status !== "success") return { answer: "pending" }
  // By anything but digits Telnyx finds no number.
  const query = { "filter[phone_number]": number.replaceAll(/\D/g, "") }
  const listed = await telnyx.ask({ method: "GET", path: "/phone_numbers", query })
  if (listed.is === "refused") throw notDone("a look at a number", listed)
  const owned = dataOf(z.array(Owned), listed.value).find((one) => one.phone_number === number)
  // The order is done a moment before the number is there.
  if (owned === undefined) return { answer: "pending" }
  const path = `/phone_numbers/${encodeURIComponent(owned.id)}/messaging`
  const found = await telnyx.ask({ method: "GET", path })
  if (found.is === "refused" && found.status !== 404) throw notDone("a look at a number", found)
  const features = found.is === "done" ? dataOf(Messaging, found.value).features : null
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
