/**
 * The built-in test carrier: it takes every text, remembers it and sends nothing out of this machine, and
 * it sells numbers that nobody has.
 * What it does next can be set (`simulator set carrier …`).
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { SimulatorMemory, Simulators, SimulatedThings, Simulator } from "../simulators/port.ts"
import type {
  Carrier,
  CarrierAnswer,
  CarrierKnowledge,
  OutgoingText,
  NumberOrder,
  OrderAnswer,
  OfferedNumber,
  WantedNumber,
} from "./port.ts"
import { NOTHING_COMES, builtInCarrierId } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"

const SLOW_MS = 2_000
const UNKNOWN_IS_NO_AFTER_MS = 10 * 60_000

/** What is remembered of a text, by its id. */
interface TakenText {
  readonly status: "accepted" | "rejected" | "delivered" | "undelivered"
  readonly errorCode: string | null
}

/** What the built-in carrier works with. */
interface BuiltInCarrierPorts {
  readonly memory: SimulatorMemory
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** Told, before the answer, when the built-in carrier cannot deliver a text that it takes. */
type OnUndelivered = (text: OutgoingText, errorCode: string) => Promise<void> | void

/** The built-in carrier. Its calls throw ProviderUnavailable and ProviderSilent, as they are set to. */
export function openBuiltInCarrier(
  { memory, simulators, pacer }: BuiltInCarrierPorts,
  onUndelivered: OnUndelivered,
): Carrier {
  const texts = memory.of<TakenText>({ provider: CARRIER.name, kind: "text" })
  const take = ({ textId, companyId }: OutgoingText, status: TakenText["status"], code?: string) =>
    texts.keep(textId, companyId, { status, errorCode: code ?? null })
  const next = () => simulators.next(CARRIER)
  return {
    isBuiltIn: true,
    isRepeatable: true,
    answersKeywords: false,
    unknownIsNoAfterMs: UNKNOWN_IS_NO_AFTER_MS,
    // What it receives an operator hands it.
    ...NOTHING_COMES,
    // It answers no keywords: the company's own replies are sent.
    setReplies: async () => undefined,
    // What it remembers goes with the company's rows.
    forgetCompany: async () => undefined,
    ...builtInNumbers({
      sold: memory.of<SoldNumber>({ provider: CARRIER.name, kind: "number" }),
      orders: memory.of<KnownOrder>({ provider: CARRIER.name, kind: "order" }),
      next,
      nextOf: async (outcomes) => {
        const set = (await simulators.list()).find(({ name }) => name === CARRIER.name)
        return outcomes.some((one) => one === set?.outcome) ? next() : "ok"
      },
    }),
    send: async (text): Promise<CarrierAnswer> => {
      const outcome = await next()
      if (outcome === "unavailable") throw new ProviderUnavailable("the carrier answered 503")
      if (outcome === "slow") await pacer.pause(SLOW_MS)
      if (outcome === "reject") return answerOf(text.textId, await take(text, "rejected", "30007"))
      const taken = await take(text, "accepted")
      if (outcome === "silent") throw new ProviderSilent("the carrier did not answer")
      if (outcome === "undelivered") await onUndelivered(text, "30003")
      return answerOf(text.textId, taken)
    },
    ask: async ({ textId }): Promise<CarrierKnowledge> => {
      const taken = await texts.find(textId)
      if (taken === null) return { answer: "unknown" }
      const carrierId = builtInCarrierId(textId)
      if (taken.status === "delivered") return { answer: "delivered", carrierId }
      if (taken.status === "undelivered") {
        return { answer: "undelivered", carrierId, errorCode: taken.errorCode ?? "unknown" }
      }
      return answerOf(textId, taken)
    },
  }
}

function answerOf(textId: string, { status, errorCode }: TakenText): CarrierAnswer {
  if (status === "rejected") return { answer: "rejected", errorCode: errorCode ?? "unknown" }
  return { answer: "accepted", carrierId: builtInCarrierId(textId) }
}

const LINES = 100

const TOLL_FREE = "800"

/** State, area code, and the city that it is named by. Never 201: numbers that came with companies are there. */
const AREAS = `
AL 205 Birmingham; AK 907 Anchorage; AZ 602 Phoenix; AR 501 Little Rock; CA 415 San Francisco; CO 303 Denver;
CT 203 Bridgeport; DE 302 Wilmington; DC 202 Washington; FL 305 Miami; GA 404 Atlanta; HI 808 Honolulu; ID 208 Boise;
IL 312 Chicago; IN 317 Indianapolis; IA 515 Des Moines; KS 316 Wichita; KY 502 Louisville; LA 504 New Orleans;
ME 207 Portland; MD 410 Baltimore; MA 617 Boston; MI 313 Detroit; MN 612 Minneapolis; MS 601 Jackson;
MO 314 St. Louis; MT 406 Billings; NE 402 Omaha; NV 702 Las Vegas; NH 603 Manchester; NJ 609 Trenton;
NM 505 Albuquerque; NY 212 New York; NC 704 Charlotte; ND 701 Fargo; OH 216 Cleveland; OK 405 Oklahoma City;
OR 503 Portland; PA 215 Philadelphia; RI 401 Providence; SC 803 Columbia; SD 605 Sioux Falls; TN 615 Nashville;
TX 512 Austin; UT 801 Salt Lake City; VT 802 Burlington; VA 804 Richmond; WA 206 Seattle; WV 304 Charleston;
WI 414 Milwaukee; WY 307 Cheyenne`

interface Area {
  readonly region: string | null
  readonly locality: string | null
}

const BY_AREA_CODE: ReadonlyMap<string, Area> = new Map(
  AREAS.split(";").map((entry) => {
    const [region = "", areaCode = "", ...city] = entry.trim().split(" ")
    return [areaCode, { region, locality: city.join(" ") }]
  }),
)

const ABLE = { sms: true, mms: true, voice: true }

/** Who has a number that was sold, by the order that it was sold for. */
interface SoldNumber {
  readonly orderId: string
}

/** What became of an order, by its id. */
interface KnownOrder {
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
function builtInNumbers({
  sold,
  orders,
  next,
  nextOf,
}: NumbersPorts): Pick<Carrier, "search" | "buy" | "askOrder" | "release"> {
  const take = async ({ orderId, number, companyId }: NumberOrder): Promise<OrderAnswer> => {
    const isSold = stocked(number) === null || (await isTaken(sold, number, orderId, companyId))
    const order = await orders.keep(orderId, companyId, { number, isTaken: isSold })
    return orderAnswerOf(order, orderId)
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
      return known === null ? { answer: "unknown" } : orderAnswerOf(known, orderId)
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
function orderAnswerOf({ number, isTaken: taken }: KnownOrder, orderId: string): OrderAnswer {
  const offered = stocked(number)
  if (taken || offered === null) return { answer: "taken" }
  const { locality, region, sms, mms, voice } = offered
  return { answer: "bought", carrierRef: orderId, locality, region, sms, mms, voice }
}

/** A number of the stock; null where it has none such. */
function stocked(number: string): OfferedNumber | null {
  const areaCode = /^\+1(\d{3})55501\d{2}$/.exec(number)?.[1]
  if (areaCode === undefined) return null
  if (areaCode === TOLL_FREE) {
    return { number, kind: "toll_free", locality: null, region: null, ...ABLE }
  }
  const area = BY_AREA_CODE.get(areaCode)
  return area === undefined ? null : { number, kind: "local", ...area, ...ABLE }
}

/** The numbers of the stock that are wanted, those of one line of every area before the next line. */
function* wantedOfStock(wanted: WantedNumber): Generator<OfferedNumber> {
  const codes = wanted.kind === "toll_free" ? [TOLL_FREE] : [...BY_AREA_CODE.keys()]
  const form = formOf(wanted.contains)
  for (let line = 0; line < LINES; line += 1) {
    for (const code of codes) {
      if (wanted.kind === "local" && wanted.areaCode !== null && wanted.areaCode !== code) continue
      const number = `+1${code}5550${100 + line}`
      const offered = stocked(number)
      if (offered === null || !form.test(number.slice(2))) continue
      if (wanted.region === null || wanted.region === offered.region) yield offered
    }
  }
}

/** What the ten digits of a number must have in them: digits, and any one for each `*`. */
function formOf(contains: string | null): RegExp {
  return new RegExp((contains ?? "").replaceAll("*", "\\d"))
}

/** What it can be told to do. */
export const CARRIER = {
  name: "carrier",
  outcomes: ["reject", "undelivered", "taken"],
} as const satisfies Simulator
