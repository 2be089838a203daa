/** Companies whose numbers are called by the simulated carrier. */
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

/** Price of a minute, in micro-dollars. */
export const CALL_MINUTE_MICROS = 12_000

export const CALLS_PATH = "/api/v1/phone/calls"

export interface CallableCompany extends Company {
  /** E.164. */
  readonly number: string
}

/** Settings of a number for calls, with phones in plain text. */
export type NumberSetup = Partial<Omit<NumberSettings, "ringTo">> & {
  readonly phones?: readonly string[]
}

/** Opens a world in which API calls cost nothing. */
export async function openVoiceWorld(options: WorldOptions = {}): Promise<World> {
  const world = await openWorld("time", { rateLimits: "off", ...options })
  await makeCallsFree(world)
  return world
}

/** The shared world in which API calls cost nothing and the clock can be moved. */
export const sharedVoiceWorld = (): Promise<World> =>
  sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })

/** Opens a world in which API calls cost nothing, and closes it after the test file. */
export async function ownVoiceWorld(options: WorldOptions = {}): Promise<World> {
  const world = await openVoiceWorld(options)
  afterAll(() => world.close())
  return world
}

/** A company whose number has these settings. */
export async function makeCallableCompany(
  world: World,
  setup: NumberSetup = {},
  funds = "50",
): Promise<CallableCompany> {
  const company = await makeCompany(world, { funds })
  return { ...company, number: await configureNumber(world, company, setup) }
}

/** Changes the settings of a company's first number, and returns the number. */
export async function configureNumber(
  { ports }: Pick<World, "ports">,
  { companyId }: Pick<Company, "companyId">,
  setup: NumberSetup,
) {
  const [held] = await ports.runner.readLatest(phoneStreamOf(companyId), listHeldNumbers)
  if (held === undefined) throw new Error("the company has no number")
  const { phones, ...settings } = setup
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
  const actor = { keyId: null, personId: null }
  await ports.runner.execute(
    phoneStreamOf(companyId),
    { ...command, ...actor },
    causedBy("test switch"),
  )
}

/** Phones that ring, none of which is a number of this installation. */
export const PHONES = ["+14155550101", "+14155550102", "+14155550103"] as const

let callers = 0

/** A caller's number that no other test uses. */
export function newCaller(): string {
  callers += 1
  return `+1212555${String(callers).padStart(4, "0")}`
}

/** Starts an incoming call, which rings. */
export async function startIncomingCall(
  world: World,
  { number }: Pick<CallableCompany, "number">,
  from = newCaller(),
): Promise<CallId> {
  const { callId } = await world.operate("carrier call-in", { from, to: number })
  await world.operate("wait")
  return callId
}

/** Runs a complete incoming call. */
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

/** A call, read from its stream. */
export async function liveCallOf(
  { ports }: World,
  { companyId }: Pick<Company, "companyId">,
  callId: CallId,
) {
  const call = await readCall(ports, { companyId, callId })
  if (call === null) throw new Error(`there is no call ${callId}`)
  return call satisfies OfferedCall
}

/** Performs an operator's action on a call, and runs all jobs. */
export async function performCallAction(
  world: World,
  action: string,
  callId: CallId,
  others: object = {},
) {
  await world.operate(`call ${action}`, { callId, ...others })
  await world.operate("wait")
}

/** The calls that the API lists for a company. */
export async function listCallsOf(world: World, { key }: Pick<Company, "key">, query = "") {
  const { body } = await world.call(key, "GET", `${CALLS_PATH}${query}`)
  return body.calls as readonly Record<string, unknown>[]
}

interface ChargeRow {
  readonly charge_id: string
  readonly amount_micros: number
  readonly given_back_micros: number
  readonly state: string
  readonly served_from: Date | null
}

/** A company's charges for call minutes in order: the amount less refunds, and the state. */
export async function billedMinutesOf({ ports }: World, { companyId }: Company) {
  const rows = await selectChargeRows(ports.readAll)
    .where("company_id", "=", companyId)
    .where("item", "=", "call_minute")
    .where("kind", "=", "charge")
    .orderBy("revision")
    .execute()
  return (rows as readonly ChargeRow[]).map((row) => ({
    minute: Number(row.charge_id.split(":")[1]),
    netMicros: -row.amount_micros - row.given_back_micros,
    state: row.state,
    servedFrom: row.served_from,
  }))
}
