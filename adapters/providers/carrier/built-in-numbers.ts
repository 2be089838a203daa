/** The numbers of the built-in carrier: each is sold once. */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { SimulatedThings } from "../simulators/port.ts"
import type { CARRIER } from "./simulator.ts"
import type { Carrier, NumberOrder, OrderAnswer } from "./port.ts"
import { stocked, wantedOfStock } from "./stock.ts"

/** Who has a number that was sold, by the order that it was sold for. */
export interface SoldNumber {
  readonly orderId: string
}

/** What became of an order, by its id. */
export interface KnownOrder {
  readonly number: string
  readonly isTaken: boolean
}

/** What the built-in carrier can do. */
type Outcome = (typeof CARRIER)["outcomes"][number] | "ok" | "unavailable" | "silent" | "slow"

/** What it works with. */
interface NumbersPorts {
  readonly sold: SimulatedThings<SoldNumber>
  readonly orders: SimulatedThings<KnownOrder>
  /** What it does next, which counts one time down. */
  readonly next: () => Promise<Outcome>
  /** What it does next, where it is one of these; else nothing is counted. */
  readonly nextOf: (outcomes: readonly Outcome[]) => Promise<Outcome>
}

const FAULTS: readonly Outcome[] = ["unavailable", "silent"]

/** Sells numbers of the stock. What it answers with throws ProviderUnavailable and ProviderSilent, as set. */
export function builtInNumbers({
  sold,
  orders,
  next,
  nextOf,
}: NumbersPorts): Pick<Carrier, "search" | "buy" | "askOrder" | "release"> {
  const take = async ({ orderId, number, companyId }: NumberOrder): Promise<OrderAnswer> => {
    const isSold = stocked(number) === null || (await isTaken(sold, number, orderId, companyId))
    const order = await orders.keep(orderId, companyId, { number, isTaken: isSold })
    return answerOf(order, orderId)
  }
  return {
    search: async (wanted, most) => {
      // What is set for a purchase is not used up by looking.
      const outcome = await nextOf(FAULTS)
      if (outcome === "unavailable") throw new ProviderUnavailable("the carrier answered 503")
      if (outcome === "silent") throw new ProviderSilent("the carrier did not answer")
      const offered = []
      for (const one of wantedOfStock(wanted)) {
        if ((await sold.find(one.number)) === null) offered.push(one)
        if (offered.length === most) break
      }
      return offered
    },
    buy: async (order) => {
      const outcome = await next()
      if (outcome === "unavailable") throw new ProviderUnavailable("the carrier answered 503")
      if (outcome === "taken" || outcome === "reject") {
        const { orderId, number, companyId } = order
        await orders.keep(orderId, companyId, { number, isTaken: true })
        return { answer: "taken" }
      }
      const answer = await take(order)
      if (outcome === "silent") throw new ProviderSilent("the carrier did not answer")
      return outcome === "slow" ? { answer: "pending" } : answer
    },
    askOrder: async ({ orderId }) => {
      const known = await orders.find(orderId)
      return known === null ? { answer: "unknown" } : answerOf(known, orderId)
    },
    release: async (orderId) => {
      const outcome = await nextOf(FAULTS)
      if (outcome === "unavailable") throw new ProviderUnavailable("the carrier answered 503")
      const known = await orders.find(orderId)
      if (known !== null) {
        const owner = await sold.find(known.number)
        if (owner?.orderId === orderId) await sold.forget(known.number)
      }
      if (outcome === "silent") throw new ProviderSilent("the carrier did not answer")
    },
  }
}

/** Sells a number to an order, unless another one has it. */
async function isTaken(
  sold: SimulatedThings<SoldNumber>,
  number: string,
  orderId: string,
  companyId: CompanyId,
): Promise<boolean> {
  return (await sold.keep(number, companyId, { orderId })).orderId !== orderId
}

/** The built-in carrier calls a number by the order that it was sold for. */
function answerOf({ number, isTaken: taken }: KnownOrder, orderId: string): OrderAnswer {
  const offered = stocked(number)
  if (taken || offered === null) return { answer: "taken" }
  const { locality, region, sms, mms, voice } = offered
  return { answer: "bought", carrierRef: orderId, locality, region, sms, mms, voice }
}
