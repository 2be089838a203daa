/**
 * The simulated carrier: it accepts every text, stores it and sends nothing, and sells fictional
 * numbers. Operators set the next outcomes with `simulator set carrier …`.
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { SimulatorStore, Simulators, SimulatedRecords, Simulator } from "../simulators/port.ts"
import type {
  Carrier,
  CarrierAnswer,
  CarrierTextStatus,
  OutgoingText,
  NumberOrder,
  NumberOrderAnswer,
  AvailableNumber,
  NumberSearch,
} from "./port.ts"
import { NO_INCOMING_TEXTS, simulatedCarrierId } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"

const SLOW_DELAY_MS = 2_000
const NOT_RECEIVED_AFTER_MS = 10 * 60_000

/** A stored text; its id is the record's name. */
interface SimulatedText {
  readonly status: "accepted" | "rejected" | "delivered" | "undelivered"
  readonly errorCode: string | null
}

interface SimulatedCarrierPorts {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** Called before the answer if an accepted text is undeliverable. */
type OnUndelivered = (text: OutgoingText, errorCode: string) => Promise<void> | void

/**
 * Opens the simulator. Its calls throw ProviderUnavailable and ProviderOutcomeUnknown as the
 * simulator is set.
 */
export function openSimulatedCarrier(
  { simulatorMemory: memory, simulators, pacer }: SimulatedCarrierPorts,
  onUndelivered: OnUndelivered,
): Carrier {
  const texts = memory.recordsOf<SimulatedText>({ provider: CARRIER_SIMULATOR.name, kind: "text" })
  const store = (
    { textId, companyId }: OutgoingText,
    status: SimulatedText["status"],
    code?: string,
  ) => texts.insertIfAbsent(textId, companyId, { status, errorCode: code ?? null })
  const nextOutcome = () => simulators.nextOutcome(CARRIER_SIMULATOR)
  return {
    isSimulator: true,
    isIdempotent: true,
    hasKeywordReplies: false,
    notReceivedAfterMs: NOT_RECEIVED_AFTER_MS,
    // Operators create incoming texts.
    ...NO_INCOMING_TEXTS,
    // The simulator does not reply to keywords; the company's own replies are sent.
    setKeywordReplies: async () => undefined,
    // The records are deleted with the company's rows.
    eraseCompany: async () => undefined,
    ...simulateNumbers({
      sold: memory.recordsOf<SoldNumber>({ provider: CARRIER_SIMULATOR.name, kind: "number" }),
      orders: memory.recordsOf<SimulatedOrder>({ provider: CARRIER_SIMULATOR.name, kind: "order" }),
      nextOutcome,
      nextOutcomeAmong: async (outcomes) => {
        const set = (await simulators.list()).find(({ name }) => name === CARRIER_SIMULATOR.name)
        return outcomes.some((one) => one === set?.outcome) ? nextOutcome() : "ok"
      },
    }),
    send: async (text): Promise<CarrierAnswer> => {
      const outcome = await nextOutcome()
      if (outcome === "unavailable") throw new ProviderUnavailable("the carrier answered 503")
      if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
      if (outcome === "reject")
        return textAnswerOf(text.textId, await store(text, "rejected", "30007"))
      const stored = await store(text, "accepted")
      if (outcome === "silent") throw new ProviderOutcomeUnknown("the carrier did not answer")
      if (outcome === "undelivered") await onUndelivered(text, "30003")
      return textAnswerOf(text.textId, stored)
    },
    checkTextStatus: async ({ textId }): Promise<CarrierTextStatus> => {
      const stored = await texts.find(textId)
      if (stored === null) return { answer: "unknown" }
      const carrierId = simulatedCarrierId(textId)
      if (stored.status === "delivered") return { answer: "delivered", carrierId }
      if (stored.status === "undelivered") {
        return { answer: "undelivered", carrierId, errorCode: stored.errorCode ?? "unknown" }
      }
      return textAnswerOf(textId, stored)
    },
  }
}

function textAnswerOf(textId: string, { status, errorCode }: SimulatedText): CarrierAnswer {
  if (status === "rejected") return { answer: "rejected", errorCode: errorCode ?? "unknown" }
  return { answer: "accepted", carrierId: simulatedCarrierId(textId) }
}

const LINES_PER_AREA = 100

const TOLL_FREE_CODE = "800"

/** State, area code, and its city. Never 201: imported companies have numbers there. */
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

const AREAS_BY_CODE: ReadonlyMap<string, Area> = new Map(
  AREAS.split(";").map((entry) => {
    const [region = "", areaCode = "", ...city] = entry.trim().split(" ")
    return [areaCode, { region, locality: city.join(" ") }]
  }),
)

const ALL_FEATURES = { sms: true, mms: true, voice: true }

/** The order that a sold number belongs to. */
interface SoldNumber {
  readonly orderId: string
}

/** The result of an order; its id is the record's name. */
interface SimulatedOrder {
  readonly number: string
  readonly isTaken: boolean
}

/** The simulator's outcomes. */
type CarrierOutcome =
  (typeof CARRIER_SIMULATOR)["outcomes"][number] | "ok" | "unavailable" | "silent" | "slow"

interface SimulatedNumbersPorts {
  readonly sold: SimulatedRecords<SoldNumber>
  readonly orders: SimulatedRecords<SimulatedOrder>
  /** Returns the next outcome and counts it. */
  readonly nextOutcome: () => Promise<CarrierOutcome>
  /** Returns and counts the next outcome if it is one of these; otherwise `ok`. */
  readonly nextOutcomeAmong: (outcomes: readonly CarrierOutcome[]) => Promise<CarrierOutcome>
}

const FAULT_OUTCOMES: readonly CarrierOutcome[] = ["unavailable", "silent"]

/**
 * Simulates the sale of numbers. Its calls throw ProviderUnavailable and ProviderOutcomeUnknown as
 * the simulator is set.
 */
function simulateNumbers({
  sold,
  orders,
  nextOutcome,
  nextOutcomeAmong,
}: SimulatedNumbersPorts): Pick<
  Carrier,
  "searchNumbers" | "buyNumber" | "checkOrderStatus" | "releaseNumber"
> {
  const placeOrder = async ({
    orderId,
    number,
    companyId,
  }: NumberOrder): Promise<NumberOrderAnswer> => {
    const isSold =
      findInStock(number) === null || (await isSoldToAnother(sold, number, orderId, companyId))
    const order = await orders.insertIfAbsent(orderId, companyId, { number, isTaken: isSold })
    return orderAnswerOf(order, orderId)
  }
  return {
    searchNumbers: async (search, limit) => {
      // A search must not use up an outcome that is set for a purchase.
      const outcome = await nextOutcomeAmong(FAULT_OUTCOMES)
      if (outcome === "unavailable") throw new ProviderUnavailable("the carrier answered 503")
      if (outcome === "silent") throw new ProviderOutcomeUnknown("the carrier did not answer")
      const offered = []
      for (const one of searchStock(search)) {
        if ((await sold.find(one.number)) === null) offered.push(one)
        if (offered.length === limit) break
      }
      return offered
    },
    buyNumber: async (order) => {
      const outcome = await nextOutcome()
      if (outcome === "unavailable") throw new ProviderUnavailable("the carrier answered 503")
      if (outcome === "taken" || outcome === "reject") {
        const { orderId, number, companyId } = order
        await orders.insertIfAbsent(orderId, companyId, { number, isTaken: true })
        return { answer: "taken" }
      }
      const answer = await placeOrder(order)
      if (outcome === "silent") throw new ProviderOutcomeUnknown("the carrier did not answer")
      return outcome === "slow" ? { answer: "pending" } : answer
    },
    checkOrderStatus: async ({ orderId }) => {
      const known = await orders.find(orderId)
      return known === null ? { answer: "unknown" } : orderAnswerOf(known, orderId)
    },
    releaseNumber: async (orderId) => {
      const outcome = await nextOutcomeAmong(FAULT_OUTCOMES)
      if (outcome === "unavailable") throw new ProviderUnavailable("the carrier answered 503")
      const known = await orders.find(orderId)
      if (known !== null) {
        const owner = await sold.find(known.number)
        if (owner?.orderId === orderId) await sold.remove(known.number)
      }
      if (outcome === "silent") throw new ProviderOutcomeUnknown("the carrier did not answer")
    },
  }
}

/** Sells a number to an order; true if another order has it. */
async function isSoldToAnother(
  sold: SimulatedRecords<SoldNumber>,
  number: string,
  orderId: string,
  companyId: CompanyId,
): Promise<boolean> {
  return (await sold.insertIfAbsent(number, companyId, { orderId })).orderId !== orderId
}

/** The reference of a simulated number is its order's id. */
function orderAnswerOf({ number, isTaken }: SimulatedOrder, orderId: string): NumberOrderAnswer {
  const offered = findInStock(number)
  if (isTaken || offered === null) return { answer: "taken" }
  const { locality, region, sms, mms, voice } = offered
  return { answer: "bought", carrierRef: orderId, locality, region, sms, mms, voice }
}

/** A number of the stock; null if it has none. */
function findInStock(number: string): AvailableNumber | null {
  const areaCode = /^\+1(\d{3})55501\d{2}$/.exec(number)?.[1]
  if (areaCode === undefined) return null
  if (areaCode === TOLL_FREE_CODE) {
    return { number, kind: "toll_free", locality: null, region: null, ...ALL_FEATURES }
  }
  const area = AREAS_BY_CODE.get(areaCode)
  return area === undefined ? null : { number, kind: "local", ...area, ...ALL_FEATURES }
}

/**
 * The matching numbers of the stock: the first line of every area, then the second lines, and so
 * on.
 */
function* searchStock(search: NumberSearch): Generator<AvailableNumber> {
  const codes = search.kind === "toll_free" ? [TOLL_FREE_CODE] : [...AREAS_BY_CODE.keys()]
  const pattern = digitsPattern(search.contains)
  for (let line = 0; line < LINES_PER_AREA; line += 1) {
    for (const code of codes) {
      if (search.kind === "local" && search.areaCode !== null && search.areaCode !== code) continue
      const number = `+1${code}5550${100 + line}`
      const offered = findInStock(number)
      if (offered === null || !pattern.test(number.slice(2))) continue
      if (search.region === null || search.region === offered.region) yield offered
    }
  }
}

/** A pattern for the ten digits of a number; `*` matches any digit. */
function digitsPattern(contains: string | null): RegExp {
  return new RegExp((contains ?? "").replaceAll("*", "\\d"))
}

/** The simulator's outcomes. */
export const CARRIER_SIMULATOR = {
  name: "carrier",
  outcomes: ["reject", "undelivered", "taken"],
} as const satisfies Simulator
