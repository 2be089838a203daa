/** An installation that receives calls from a simulated Telnyx, which sends webhooks over HTTP immediately. */
import { performance } from "node:perf_hooks"
import { callIdOf } from "../../src/voice/receive-call-event.ts"
import { telnyxCallWebhook } from "../../src/voice/webhooks/telnyx-calls.ts"
import type { TelnyxCallEvent, TelnyxLeg } from "../../test/support/telnyx-call-server.ts"
import { openTelnyxCallServer } from "../../test/support/telnyx-call-server.ts"
import { signingAccount } from "../../test/support/telnyx-signing.ts"
import { PHONES, newCaller, configureNumber } from "../../test/voice/voice-world.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"
import { openTextingCompany } from "../texts/texting-company.ts"

/** Limit of a company's concurrent calls. */
export const CALLS_PER_COMPANY = 20
const TIMEOUT_MS = 120_000

export interface RingingCall {
  readonly caller: TelnyxLeg
  readonly phone: TelnyxLeg
  /** Time from the caller's network to the call of a phone, milliseconds. */
  readonly ringDelayMs: number
}

/** Makes and answers calls. */
export interface PhoneExchange {
  readonly house: BenchInstallation
  /** Duration of each webhook, milliseconds; readers empty the list. */
  readonly webhookMs: number[]
  /** Calls the company with this index; resolves once the first phone is called. */
  readonly ring: (index: number) => Promise<RingingCall>
  /** Answers the phone; resolves once both sides hear each other. */
  readonly talk: (rung: RingingCall) => Promise<void>
  readonly hangUp: (rung: RingingCall) => void
  /** The outcome of every call, by its id; @throws InvalidMeasurement if a webhook was not answered 200. */
  readonly outcomes: () => Promise<ReadonlyMap<string, { outcome: string; chargedMicros: number }>>
  readonly callIdOf: (rung: RingingCall) => string
  readonly close: () => Promise<void>
}

/** Opens an exchange with so many companies. */
export async function openPhoneExchange(companies: number): Promise<PhoneExchange> {
  const account = signingAccount()
  const webhookMs: number[] = []
  const faults: string[] = []
  const hearing = new Map<string, (leg: TelnyxLeg) => void>()
  let url = ""
  const callBack = async ({ type, raw }: TelnyxCallEvent): Promise<void> => {
    const begun = performance.now()
    const headers = account.headersOf(raw, Date.now())
    const { status, body } = await fetch(url, { method: "POST", headers, body: raw })
    await body?.cancel()
    webhookMs.push(performance.now() - begun)
    if (status !== 200) faults.push(`${type} was answered ${status}`)
  }
  const telnyx = await openTelnyxCallServer((event) => {
    const { type, leg } = event
    // A leg is called for its caller; both sides of a bridge get an event.
    if (leg.linkedTo !== null) hearing.get(`${type} ${leg.linkedTo.ref}`)?.(leg)
    void callBack(event).catch((error: unknown) => faults.push(String(error)))
  }, Date.now)
  const house = await openBenchInstallation(null, {
    TELNYX_KEY: "KEY0123456789",
    TELNYX_PUBLIC_KEY: account.publicKey,
    TELNYX_URL: telnyx.url,
    TELNYX_CONNECTION: "1684641123236054244",
  })
  const close = async () => {
    await house.close()
    await telnyx.close()
  }
  const heard = (type: string, caller: TelnyxLeg) =>
    new Promise<TelnyxLeg>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no ${type} came`)), TIMEOUT_MS)
      hearing.set(`${type} ${caller.ref}`, (leg) => {
        clearTimeout(late)
        hearing.delete(`${type} ${caller.ref}`)
        resolve(leg)
      })
    })
  const held = await openCompanies(house, companies)
  url = `http://127.0.0.1:${await house.serve(house.ports, [telnyxCallWebhook])}${telnyxCallWebhook.url}`
  return {
    house,
    webhookMs,
    close,
    callIdOf: ({ caller }) => callIdOf(caller.ref),
    ring: async (place) => {
      const { to } = held[place % held.length] ?? { to: "" }
      const begun = performance.now()
      const caller = telnyx.callIn(newCaller(), to)
      const phone = await heard("call.initiated", caller)
      return { caller, phone, ringDelayMs: performance.now() - begun }
    },
    talk: async ({ caller, phone }) => {
      const talking = heard("call.bridged", caller)
      assertMeasurement(telnyx.performAction(phone, "answer"), "a phone could not be answered")
      await talking
    },
    hangUp: ({ caller }) =>
      assertMeasurement(telnyx.performAction(caller, "hang_up"), "a call had ended by itself"),
    outcomes: async () => {
      assertMeasurement(faults.length === 0, faults[0] ?? "")
      const shown = await Promise.all(
        held.map(({ companyId }) =>
          house.operate("call list", { company: companyId, limit: 1_000 }),
        ),
      )
      return new Map(shown.flatMap(({ calls }) => calls).map((call) => [call.callId, call]))
    },
  }
}

async function openCompanies(house: BenchInstallation, companies: number) {
  const held = []
  for (let i = 0; i < companies; i += 1) {
    const { companyId } = await openTextingCompany(house, `called ${i}`, 1)
    const set = { phones: PHONES.slice(0, 1), screenCalls: false }
    held.push({ companyId, to: await configureNumber(house, { companyId }, set) })
  }
  return held
}
