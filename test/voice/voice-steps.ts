/** Histories of calls as data, so that a failing one shrinks; playing one, and the law of its bill. */
import fc from "fast-check"
import { PRICES, ledgerOf } from "../../domain/charging/aggregates.ts"
import { DEFAULT_BOOK } from "../../domain/charging/price-book.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { callSlotsOf } from "../../domain/voice/aggregates.ts"
import { spokenMinutes } from "../../domain/voice/call-minutes.ts"
import { callsWithSlot } from "../../domain/voice/call-slots.ts"
import type { Call } from "../../domain/voice/call-state.ts"
import { call } from "../../domain/voice/call.ts"
import type { CallEvent } from "../../domain/voice/call-events.ts"
import type { CallId } from "../../domain/voice/ids.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { callIdOf } from "../../src/voice/receive.ts"
import type { Fate } from "../boxes/minute-world.ts"
import { settled } from "../boxes/minute-world.ts"
import { plainSealing } from "../simulation/sealing.ts"
import { COMPANY, TO, VoiceProcesses } from "./voice-processes.ts"

const PROCESSES = 3
const PRICE = 12_000
const LAST_MS = 5 * 3_600_000

/** What happens next. */
export type Step =
  | { readonly does: "call" | "let" | "act" | "lose" | "double"; readonly which: number }
  | {
      readonly does: "tell" | "row"
      readonly which: number
      readonly by: number
      readonly fate: Fate | null
    }
  | { readonly does: "pass"; readonly ms: number }
  | { readonly does: "carrier"; readonly says: "ok" | "unavailable" | "silent" }

/** How a company stands, and what happens. */
export interface History {
  readonly fundsMicros: number
  readonly ringMode: "all" | "order"
  readonly screenCalls: boolean
  readonly recordCalls: boolean
  /** How far calls have come when it begins. */
  readonly begun: readonly ("ringing" | "talking" | "greeting")[]
  readonly steps: readonly Step[]
}

const which = fc.nat(60)
const by = fc.nat(PROCESSES - 1)
const fate = fc.option(fc.record({ at: fc.integer({ min: 1, max: 12 }), isDone: fc.boolean() }), {
  freq: 2,
})
const does = <T extends string>(...names: readonly T[]) => fc.constantFrom(...names)
const ms = fc.constantFrom(1, 500, 5_000, 20_001, 30_000, 60_000, 60_001, 120_001, 600_000)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: fc.record({ does: does("let"), which }) },
  { weight: 12, arbitrary: fc.record({ does: does("tell", "row", "row"), which, by, fate }) },
  { weight: 6, arbitrary: fc.record({ does: does("act"), which }) },
  { weight: 3, arbitrary: fc.record({ does: does("call", "lose", "double"), which }) },
  { weight: 5, arbitrary: fc.record({ does: does("pass"), ms }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: does("carrier"),
      says: does("ok", "ok", "unavailable", "silent"),
    }),
  },
)

/** Histories of so many steps at most. */
export const histories = (maxLength: number): fc.Arbitrary<History> =>
  fc.record({
    fundsMicros: fc.constantFrom(0, PRICE - 1, 2 * PRICE, 5 * PRICE, 1_000_000),
    ringMode: does("all", "order"),
    screenCalls: fc.boolean(),
    recordCalls: fc.boolean(),
    begun: fc.array(does("ringing", "talking", "greeting"), { maxLength: 3 }),
    steps: fc.array(step, { maxLength, size: "max" }),
  })

/** A history that is played. */
export class Play {
  readonly world: VoiceProcesses
  #calls = 0

  /** @param reactions what follows from facts; default what does */
  constructor(reactions?: readonly Reaction[]) {
    this.world = new VoiceProcesses(PROCESSES, reactions)
  }

  /** Makes the company, its number and two phones that ring. */
  async open({ fundsMicros, ringMode, screenCalls, recordCalls, begun }: Omit<History, "steps">) {
    const [runner] = this.world.runners
    const seal = (text: string) => plainSealing.seal(COMPANY, "company", text)
    const cause = causedBy("test")
    const opened = { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 } as const
    const funds = { type: "AddFunds", amountMicros: fundsMicros, reference: null } as const
    const added = {
      ...({
        type: "AddNumber",
        numberId: "num_1",
        number: await seal(TO),
        numberTag: "tag",
      } as const),
      ...({ kind: "local", locality: null, region: null, monthlyMicros: 0 } as const),
      sms: true,
      mms: true,
      voice: true,
      paidThrough: null,
      test: true,
    }
    const phones = ["+14155550101", "+14155550102"].map(async (phone) => ({
      phone: await seal(phone),
      name: null,
    }))
    const settings = { ringTo: await Promise.all(phones), ringMode, screenCalls, recordCalls }
    const change = {
      ...({ type: "ChangeSettings", texting: {}, acknowledgesRecording: true } as const),
      numbers: [{ numberId: "num_1", settings }] as const,
      keyId: null,
      personId: null,
    }
    await runner?.execute(PRICES, { type: "OpenPriceBook", prices: DEFAULT_BOOK }, cause)
    await runner?.execute(ledgerOf(COMPANY), opened, cause)
    if (fundsMicros > 0) await runner?.execute(ledgerOf(COMPANY), funds, cause)
    await runner?.execute(phoneOf(COMPANY), added, cause)
    await runner?.execute(phoneOf(COMPANY), change, cause)
    this.world.isFree = true
    for (const phase of begun) await this.#begin(phase)
    this.world.isFree = false
  }

  async #begin(phase: History["begun"][number]): Promise<void> {
    await this.#call()
    await this.#doAll()
    const answers = [{ does: "answer" }, { does: "press", digits: "1" }, { does: "hear" }] as const
    const deeds = phase === "talking" ? answers : [{ does: "hang_up" } as const]
    if (phase === "ringing") return
    for (const deed of deeds) {
      for (const leg of phase === "talking" ? [1, 0] : [1, 2]) {
        await this.#onLeg(this.#calls, leg, deed)
        await this.#doAll()
      }
    }
  }

  /** Everything that is due is done, and everything that is said is told. */
  async #doAll(): Promise<void> {
    const { world } = this
    for (;;) {
      while (world.events.length > 0) await world.deliver(0, 0, null)
      const [row] = world.due()
      if (row === undefined) return
      world.work(row, 0, null)
      await world.finish()
    }
  }

  async step(one: Step): Promise<void> {
    const { world } = this
    switch (one.does) {
      case "call":
        await this.#call()
        break
      case "let":
        await world.let(one.which)
        break
      case "act":
        await this.#act(one.which)
        break
      case "lose":
        // Of a call that is never told nobody knows.
        if (world.events[0]?.is !== "call_came") world.events.shift()
        break
      case "double": {
        const event = world.events[one.which % Math.max(1, world.events.length)]
        if (event !== undefined) world.events.push(event)
        break
      }
      case "tell":
        await world.deliver(one.which, one.by, one.fate)
        break
      case "row": {
        const due = world.due()
        const row = due[one.which % Math.max(1, due.length)]
        if (row !== undefined) world.work(row, one.by, one.fate)
        break
      }
      case "pass":
        world.pass(one.ms)
        break
      case "carrier":
        world.carrierSays = one.says
    }
    await settled()
  }

  /** Everything is done that is left, in its time; the callers who are still there go. */
  async end(): Promise<void> {
    const { world } = this
    world.carrierSays = "ok"
    await world.finish()
    for (let i = 1; i <= this.#calls; i += 1) await this.#onLeg(i, 0, { does: "hang_up" })
    const until = world.now + LAST_MS
    while (world.now < until) {
      await this.#doAll()
      const next = [...world.stored.rows.values()].map(({ dueAt }) => dueAt)
      if (next.length === 0) return
      world.pass(Math.max(1, Math.min(...next) - world.now))
    }
  }

  async #call(): Promise<void> {
    this.#calls += 1
    const { carrier } = this.world
    const from = `+1212555${String(this.#calls % 4).padStart(4, "0")}`
    const ref = `ref-${this.#calls}`
    await carrier.callIn({ companyId: COMPANY, ref, from, to: TO, attestation: null, script: null })
  }

  /** Somebody does something on a leg of a call. */
  async #act(choice: number): Promise<void> {
    const deeds = [
      { does: "answer" },
      { does: "press", digits: "1" },
      { does: "hear" },
      { does: "hang_up" },
    ] as const
    if (this.#calls === 0) return
    const deed = deeds[choice % deeds.length] as (typeof deeds)[number]
    await this.#onLeg(1 + (choice % this.#calls), choice % 3, deed)
  }

  async #onLeg(nth: number, leg: number, deed: Parameters<VoiceProcesses["carrier"]["act"]>[1]) {
    const callId = callIdOfTests(nth)
    const ref = leg === 0 ? `ref-${nth}` : `${callId}.${leg}`
    await this.world.carrier.act({ companyId: COMPANY, callId, leg, ref }, deed)
  }
}

/** The id of the nth call, as its carrier's name makes it. */
const callIdOfTests = (nth: number): CallId => callIdOf(`ref-${nth}`)

/** What is wrong with a bill, from what is stored and nothing else; `seen` counts what happened. */
export async function wrongWith(
  { stored, runners }: VoiceProcesses,
  seen: Map<string, number>,
): Promise<readonly string[]> {
  const wrong: string[] = []
  const calls = new Map<string, Call>()
  const kept = new Map<string, { times: number; micros: number; isOpen: boolean }>()
  for (const { fact, category } of stored.facts) {
    seen.set(fact.type, (seen.get(fact.type) ?? 0) + 1)
    if (category === "call") {
      const event = fact as CallEvent
      calls.set(event.callId, call.evolve(calls.get(event.callId) ?? call.initial(), event))
    }
    if (fact.type === "Charged") {
      const times = (kept.get(fact.chargeId)?.times ?? 0) + 1
      kept.set(fact.chargeId, { times, micros: fact.amountMicros, isOpen: true })
    }
    const ended = fact.type === "ChargesClosed" ? fact.chargeIds : []
    for (const id of ended) Object.assign(kept.get(id) ?? {}, { isOpen: false })
    if (fact.type !== "ChargeGivenBack") continue
    const charge = kept.get(fact.chargeId)
    if (charge !== undefined) charge.micros -= fact.amountMicros
    if (charge !== undefined) charge.isOpen = false
  }
  for (const [id, { times, isOpen, micros }] of kept) {
    if (times > 1) wrong.push(`${id} was charged ${times} times`)
    if (isOpen) wrong.push(`${id} is open`)
    if (micros !== 0 && micros !== PRICE) wrong.push(`${id} keeps ${micros}`)
  }
  for (const [callId, { call: live }] of calls) {
    if (live === null) continue
    if (live.endedAt === null || live.goneAt === null) wrong.push(`${callId} is ${live.phase}`)
    const spoken = Math.min(spokenMinutes(live), (live.refused ?? Infinity) - 1)
    const paid = [...kept].filter(([id, { micros }]) => id.startsWith(`${callId}:`) && micros > 0)
    if (paid.length !== spoken) wrong.push(`${callId} keeps ${paid.length} minutes of ${spoken}`)
    seen.set(`outcome ${live.outcome}`, (seen.get(`outcome ${live.outcome}`) ?? 0) + 1)
  }
  const slots = await runners[0]?.readLatest(callSlotsOf(COMPANY), callsWithSlot)
  if (slots?.length !== 0) wrong.push(`slots of ${String(slots)}`)
  return wrong
}
