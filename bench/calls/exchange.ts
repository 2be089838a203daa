/** An installation that is called by way of a stand-in of Telnyx, which calls back over HTTP at once. */
import { performance } from "node:perf_hooks"
import { callIdOf } from "../../src/voice/receive.ts"
import { telnyxCalls } from "../../src/voice/webhooks/telnyx-calls.ts"
import type { TelnyxEvent, TelnyxLeg } from "../../test/support/telnyx-calls.ts"
import { openTelnyxCalls } from "../../test/support/telnyx-calls.ts"
import { signingAccount } from "../../test/support/telnyx-signing.ts"
import { PHONES, newCaller, setUp } from "../../test/voice/voice-world.ts"
import { honest } from "../benchmark.ts"
import type { House } from "../ground/house.ts"
import { openHouse } from "../ground/house.ts"
import { openTextingCompany } from "../texts/companies.ts"

/** A company may have so many calls at once. */
export const CALLS_EACH = 20
const WITHIN_MS = 120_000

/** A call that rang. */
export interface Rung {
  readonly caller: TelnyxLeg
  readonly phone: TelnyxLeg
  /** From when the caller's network was told until a phone is called, milliseconds. */
  readonly afterMs: number
}

/** Who calls, and answers. */
export interface Exchange {
  readonly house: House
  /** How long each webhook took until its answer, milliseconds; emptied by whoever reads it. */
  readonly answeredMs: number[]
  /** Has somebody call the company at this place; resolves once the first phone is called. */
  readonly ring: (place: number) => Promise<Rung>
  /** Has the phone answered; resolves once both hear each other. */
  readonly talk: (rung: Rung) => Promise<void>
  readonly hangUp: (rung: Rung) => void
  /** What every call came to, by its id; @throws Dishonest where a webhook was not answered 200. */
  readonly outcomes: () => Promise<ReadonlyMap<string, { outcome: string; chargedMicros: number }>>
  readonly idOf: (rung: Rung) => string
  readonly close: () => Promise<void>
}

/** Opens it with so many companies. */
export async function openExchange(companies: number): Promise<Exchange> {
  const account = signingAccount()
  const answeredMs: number[] = []
  const faults: string[] = []
  const hearing = new Map<string, (leg: TelnyxLeg) => void>()
  let url = ""
  const callBack = async ({ type, raw }: TelnyxEvent): Promise<void> => {
    const begun = performance.now()
    const headers = account.headersOf(raw, Date.now())
    const { status, body } = await fetch(url, { method: "POST", headers, body: raw })
    await body?.cancel()
    answeredMs.push(performance.now() - begun)
    if (status !== 200) faults.push(`${type} was answered ${status}`)
  }
  const standIn = await openTelnyxCalls((event) => {
    const { type, leg } = event
    // A phone is called for its caller; and both sides of a bridge are told.
    if (leg.linkedTo !== null) hearing.get(`${type} ${leg.linkedTo.ref}`)?.(leg)
    void callBack(event).catch((error: unknown) => faults.push(String(error)))
  }, Date.now)
  const house = await openHouse(null, {
    TELNYX_KEY: "KEY0123456789",
    TELNYX_PUBLIC_KEY: account.publicKey,
    TELNYX_URL: standIn.url,
    TELNYX_CONNECTION: "1684641123236054244",
  })
  const close = async () => {
    await house.close()
    await standIn.close()
  }
  const heard = (type: string, caller: TelnyxLeg) =>
    new Promise<TelnyxLeg>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no ${type} came`)), WITHIN_MS)
      hearing.set(`${type} ${caller.ref}`, (leg) => {
        clearTimeout(late)
        hearing.delete(`${type} ${caller.ref}`)
        resolve(leg)
      })
    })
  const held = await openCompanies(house, companies)
  url = `http://127.0.0.1:${await house.serve(house.ports, [telnyxCalls])}${telnyxCalls.url}`
  return {
    house,
    answeredMs,
    close,
    idOf: ({ caller }) => callIdOf(caller.ref),
    ring: async (place) => {
      const { to } = held[place % held.length] ?? { to: "" }
      const begun = performance.now()
      const caller = standIn.callIn(newCaller(), to)
      const phone = await heard("call.initiated", caller)
      return { caller, phone, afterMs: performance.now() - begun }
    },
    talk: async ({ caller, phone }) => {
      const talking = heard("call.bridged", caller)
      honest(standIn.does(phone, "answer"), "a phone could not be answered")
      await talking
    },
    hangUp: ({ caller }) => honest(standIn.does(caller, "hang_up"), "a call had ended by itself"),
    outcomes: async () => {
      honest(faults.length === 0, faults[0] ?? "")
      const shown = await Promise.all(
        held.map(({ companyId }) =>
          house.operate("call list", { company: companyId, limit: 1_000 }),
        ),
      )
      return new Map(shown.flatMap(({ calls }) => calls).map((call) => [call.callId, call]))
    },
  }
}

async function openCompanies(house: House, companies: number) {
  const held = []
  for (let i = 0; i < companies; i += 1) {
    const { companyId } = await openTextingCompany(house, `called ${i}`, 1)
    const set = { phones: PHONES.slice(0, 1), screenCalls: false }
    held.push({ companyId, to: await setUp(house, { companyId }, set) })
  }
  return held
}
