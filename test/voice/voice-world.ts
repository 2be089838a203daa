/** Companies whose numbers are called, at the built-in carrier. */
import { afterAll } from "vitest"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import type { NumberSettings } from "../../domain/phone/number-settings.ts"
import { listHeldNumbers } from "../../domain/phone/phone-views.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
import type { OfferedCall } from "../../domain/voice/call-state.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { readCall } from "../../src/voice/call-stream.ts"
import type { Company, World, WorldOptions } from "../support/world.ts"
import { selectChargeRows } from "../../projections/charging/charges.ts"
import { makeCallsFree, makeCompany, openWorld, sharedWorld } from "../support/world.ts"

/** What a minute costs, micro-dollars. */
export const CALL_MINUTE_MICROS = 12_000

/** The route of calls. */
export const CALLS_PATH = "/api/v1/phone/calls"

/** A company and the number that is called. */
export interface CallableCompany extends Company {
  /** E.164. */
  readonly number: string
}

/** What of a number's settings matters to calls; phones in the clear. */
export type NumberSetup = Partial<Omit<NumberSettings, "ringTo">> & {
  readonly phones?: readonly string[]
}

/** Opens a world in which calls of the API cost nothing. */
export async function openVoiceWorld(options: WorldOptions = {}): Promise<World> {
  const world = await openWorld("time", { rateLimits: "off", ...options })
  await makeCallsFree(world)
  return world
}

/** The shared world in which calls of the API cost nothing and the clock is moved. */
export const sharedVoiceWorld = (): Promise<World> =>
  sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })

/** Opens a world in which calls of the API cost nothing, and closes it after the calling test file. */
export async function ownVoiceWorld(options: WorldOptions = {}): Promise<World> {
  const world = await openVoiceWorld(options)
  afterAll(() => world.close())
  return world
}

/** A company whose number is set up so. */
export async function makeCallableCompany(
  world: World,
  set: NumberSetup = {},
  funds = "50",
): Promise<CallableCompany> {
  const company = await makeCompany(world, { funds })
  return { ...company, number: await configureNumber(world, company, set) }
}

/** Sets a company's first number up; answers the number. */
export async function configureNumber(
  { ports }: Pick<World, "ports">,
  { companyId }: Pick<Company, "companyId">,
  set: NumberSetup,
) {
  const [held] = await ports.runner.readLatest(phoneStreamOf(companyId), listHeldNumbers)
  if (held === undefined) throw new Error("the company has no number")
  const { phones, ...settings } = set
  const seal = (text: string) => ports.sealing.seal(companyId, "company", text)
  const ringTo = await Promise.all(
    (phones ?? []).map(async (phone) => ({ phone: await seal(phone), name: null })),
  )
  const change = phones === undefined ? settings : { ...settings, ringTo }
  const command = {
    type: "ChangePhoneSettings" as const,
    texting: {},
    acknowledgesRecording: true as const,
    numbers: [{ numberId: held.numberId, settings: change }],
    keyId: null,
    personId: null,
  }
  await ports.runner.execute(phoneStreamOf(companyId), command, causedBy("test settings"))
  return (await ports.sealing.unseal(companyId, held.number)) ?? ""
}

/** Switches a country on or off, as the company does. */
export async function switchCountry(
  { ports }: World,
  { companyId }: Pick<Company, "companyId">,
  country: string,
  on: boolean,
): Promise<void> {
  const command = { type: "SwitchDestination", country, on, by: "company" } as const
  const who = { keyId: null, personId: null }
  await ports.runner.execute(
    phoneStreamOf(companyId),
    { ...command, ...who },
    causedBy("test switch"),
  )
}

/** Phones that ring, none of which is a number of this installation. */
export const PHONES = ["+14155550101", "+14155550102", "+14155550103"] as const

let callers = 0

/** A number that no test called from before. */
export function newCaller(): string {
  callers += 1
  return `+1212555${String(callers).padStart(4, "0")}`
}

/** Has somebody call; the call waits. */
export async function startIncomingCall(
  world: World,
  { number }: Pick<CallableCompany, "number">,
  from = newCaller(),
): Promise<CallId> {
  const { callId } = await world.operate("carrier call-in", { from, to: number })
  await world.operate("wait")
  return callId
}

/** Plays a whole call. */
export async function runIncomingCall(
  world: World,
  { number }: Pick<CallableCompany, "number">,
  outcome: "answered" | "voicemail" | "missed",
  others: object = {},
): Promise<CallId> {
  const input = { from: newCaller(), to: number, outcome, ...others }
  const { callId } = await world.operate("carrier call-in", input)
  await world.operate("wait")
  return callId
}

/** A call by its stream. */
export async function liveCallOf(
  { ports }: World,
  { companyId }: Pick<Company, "companyId">,
  callId: CallId,
) {
  const call = await readCall(ports, { companyId, callId })
  if (call === null) throw new Error(`there is no call ${callId}`)
  return call satisfies OfferedCall
}

/** Somebody does something, and what follows from it is done. */
export async function performCallAction(
  world: World,
  what: string,
  callId: CallId,
  others: object = {},
) {
  await world.operate(`call ${what}`, { callId, ...others })
  await world.operate("wait")
}

/** What a company is shown of its calls. */
export async function listCallsOf(world: World, { key }: Pick<Company, "key">, query = "") {
  const { body } = await world.call(key, "GET", `${CALLS_PATH}${query}`)
  return body.calls as readonly Record<string, unknown>[]
}

interface ChargeShown {
  readonly charge_id: string
  readonly amount_micros: number
  readonly given_back_micros: number
  readonly state: string
  readonly served_from: Date | null
}

/** The charges of a company's call minutes, in their order: what is kept of each, and its state. */
export async function billedMinutesOf({ ports }: World, { companyId }: Company) {
  const rows = await selectChargeRows(ports.readAll)
    .where("company_id", "=", companyId)
    .where("item", "=", "call_minute")
    .where("kind", "=", "charge")
    .orderBy("revision")
    .execute()
  return (rows as readonly ChargeShown[]).map((row) => ({
    minute: Number(row.charge_id.split(":")[1]),
    kept: -row.amount_micros - row.given_back_micros,
    state: row.state,
    servedFrom: row.served_from,
  }))
}
