/**
 * Processes that take calls in, on one store in memory and one carrier. Before each thing that a process asks
 * for it waits for its turn, so that a test says who goes on next, who dies there, and what happens meanwhile.
 * What the carrier says waits until somebody delivers it, to whatever process.
 */
import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import { openMemoryLocks } from "../../adapters/locks/memory.ts"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { SimulatedVoice } from "../../adapters/providers/voice/built-in.ts"
import { openBuiltInVoice } from "../../adapters/providers/voice/built-in.ts"
import type { Voice, VoiceEvent } from "../../adapters/providers/voice/port.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { reconciler } from "../../src/frame/effects/reconcile.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import { openRunner } from "../../src/frame/writer/run.ts"
import { callDo } from "../../src/voice/reactions/call-do.ts"
import { callMinute } from "../../src/voice/reactions/call-minute.ts"
import { callTimer, callWatch } from "../../src/voice/reactions/call-timer.ts"
import { freeCallSlot } from "../../src/voice/reactions/free-call-slot.ts"
import { receiveCallEvent } from "../../src/voice/receive.ts"
import { reconciledCall } from "../../src/voice/reconciled-call.ts"
import type { Row } from "../boxes/minute-store.ts"
import { MinuteStore } from "../boxes/minute-store.ts"
import type { Fate } from "../boxes/minute-world.ts"
import { settled } from "../boxes/minute-world.ts"
import { plainSealing } from "../simulation/sealing.ts"
import { kyselyAnswering, lineOf } from "../simulation/sql.ts"
import { virtualPacer } from "../writer/pacer.ts"
import { NOW } from "./call-commands.ts"
import { simulatorsOfTests } from "./simulators-of-tests.ts"

/** The company of every history, and its number. */
export const COMPANY: CompanyId = "co_aaaaaa"
/** What is called. */
export const TO = "+12015550100"

/** What follows from the facts of calls. */
export const REACTIONS: readonly Reaction[] = [
  callDo,
  callTimer,
  callWatch,
  callMinute,
  freeCallSlot,
  reconciler([reconciledCall]),
]
const MOMENT_MS = 0.001
/** What a process of the real thing is told, and what the carrier or its row tries again. */
const PASSING = new Set(["Died", "OutcomeUnknown", "Unavailable", "DeadlinePassed"])

class Died extends Error {
  override readonly name = "Died"
}

type Turn = <T>(act: () => Promise<T>) => Promise<T>

/** The world of a history. */
export class VoiceProcesses {
  readonly stored: MinuteStore
  readonly runners: readonly Runner[]
  readonly carrier: SimulatedVoice
  /** What the carrier said and nobody has taken in. */
  readonly events: VoiceEvent[] = []
  /** What went wrong that nothing may cause. */
  readonly faults: unknown[] = []
  now = NOW
  carrierSays: "ok" | "unavailable" | "silent" = "ok"
  /** Whether nobody waits for a turn any more. */
  isFree = false
  readonly #pacer = virtualPacer()
  readonly #waiting: { readonly process: number; readonly go: () => void }[] = []
  readonly #inHand = new Set<Promise<void>>()

  /** @param reactions what follows from facts; default what does */
  constructor(count: number, reactions: readonly Reaction[] = REACTIONS) {
    this.stored = new MinuteStore(reactions)
    const locks = openMemoryLocks(this.#pacer)
    const checkpoints = openMemoryCheckpoints()
    const clock = { now: () => this.now }
    const { store } = this.stored
    const pacer = this.#pacer
    const warn = (message: string, error: unknown) => {
      this.faults.push(new Error(message, { cause: error }))
    }
    this.runners = Array.from({ length: count }, () =>
      openRunner({ store, checkpoints, locks, clock, pacer, warn }),
    )
    const ports = { ...simulatorsOfTests(), pacer, clock }
    this.carrier = openBuiltInVoice(ports, async (event) => void this.events.push(event))
  }

  /** Lets time pass. */
  pass(ms: number): void {
    this.now += ms
    this.#pacer.pass(ms)
  }

  /** Delivers something that the carrier said; what is not taken in is said again. */
  async deliver(which: number, process: number, fate: Fate | null): Promise<void> {
    const [event] = this.events.splice(which % Math.max(1, this.events.length), 1)
    if (event === undefined) return
    await this.#begin(process, fate, async (ports) => {
      await receiveCallEvent(ports, event, causedBy("test event")).catch((error: unknown) => {
        this.events.push(event)
        throw error
      })
    })
  }

  /** Has a process do a row. A row whose process dies is there as before. */
  work(row: Row, process: number, fate: Fate | null): void {
    void this.#begin(process, fate, async (ports) => {
      row.tries += 1
      const { item, tries, isHandedOver } = row
      const { kind, name, subject, companyId } = item
      const taken = { workId: row.item.name, kind, name, subject, companyId, tries, isHandedOver }
      const { signal } = new AbortController()
      const asked = { ...taken, signal, payload: row.reaction.payload.parse(item.payload) }
      this.stored.settle(row, await row.reaction.perform(ports, asked as never), this.now)
    })
  }

  /** The rows that may be taken now: of one subject the earliest alone. */
  due(): readonly Row[] {
    const subjects = new Set<string>()
    return [...this.stored.rows.values()].filter(({ dueAt, item: { subject } }) => {
      if (dueAt > this.now || subjects.has(subject)) return false
      subjects.add(subject)
      return true
    })
  }

  /** Gives somebody who waits for it their turn. */
  async let(which: number): Promise<void> {
    this.#waiting.splice(which % Math.max(1, this.#waiting.length), 1)[0]?.go()
    await settled()
  }

  /** Everybody goes on until nothing is in hand. @throws the first fault */
  async finish(): Promise<void> {
    this.isFree = true
    for (const { go } of this.#waiting.splice(0)) go()
    while (this.#inHand.size > 0) await Promise.all(this.#inHand)
    if (this.faults.length > 0) throw this.faults[0]
  }

  async #begin(process: number, fate: Fate | null, act: (ports: Ports) => Promise<unknown>) {
    const doing = act(this.#portsOf(process, this.#turnOf(process, fate))).then(
      () => undefined,
      (error: unknown) => {
        if (!isPassing(error)) this.faults.push(error)
      },
    )
    this.#inHand.add(doing)
    void doing.then(() => this.#inHand.delete(doing))
    if (this.isFree) await doing
  }

  #turnOf(process: number, fate: Fate | null): Turn {
    let left = fate?.at ?? Infinity
    return async (act) => {
      if (!this.isFree) await new Promise<void>((go) => this.#waiting.push({ process, go }))
      this.#pacer.pass(MOMENT_MS)
      left -= 1
      if (left < 0 || (left === 0 && fate?.isDone === false)) throw new Died()
      const done = await act()
      if (left <= 0) throw new Died()
      return done
    }
  }

  #portsOf(process: number, turn: Turn): Ports {
    const runner = this.runners[process] as Runner
    const own: Runner = {
      ...runner,
      execute: (...asked) => turn(() => runner.execute(...asked)),
      read: (...asked) => turn(() => runner.read(...asked)),
      readLatest: (...asked) => turn(() => runner.readLatest(...asked)),
    }
    const { store, charges } = this.stored
    const ports = {
      runner: own,
      store: { ...store, head: () => turn(() => store.head()) },
      clock: { now: () => this.now },
      pacer: this.#pacer,
      sealing: plainSealing,
      projector: { waitFor: () => turn(async () => true) },
      readAll: kyselyAnswering((query) => {
        const [first, second] = query.parameters
        if (lineOf(query).includes('from "called_numbers"')) {
          const row = { company_id: COMPANY, number_id: "num_1" }
          return turn(async () => (first === TO ? [row] : []))
        }
        // The read model of calls is as far behind as can be.
        if (lineOf(query).includes('from "calls"')) return turn(async () => [])
        const row = charges.get(String(second))
        return turn(async () => (row === undefined ? [] : [row]))
      }),
      counts: { add: () => undefined },
      log: { info: () => undefined },
      closeCharge: async (companyId: CompanyId, chargeId: ChargeId) => {
        const command = { type: "CloseCharges" as const, chargeIds: [chargeId] }
        await own.execute(ledgerOf(companyId), command, causedBy("close-charges"))
      },
      keepRefusal: () => undefined,
      voice: this.#voiceOf(turn),
    }
    return ports as unknown as Ports
  }

  #voiceOf(turn: Turn): Pick<Voice, "do" | "askCall"> {
    const asked: Turn = (act) =>
      turn(async () => {
        if (this.carrierSays === "unavailable") throw new ProviderUnavailable("told to be away")
        const done = await act()
        if (this.carrierSays === "silent") throw new ProviderSilent("told to be silent")
        return done
      })
    return {
      do: (command, commandId) => asked(() => this.carrier.do(command, commandId)),
      askCall: (ref) => asked(() => this.carrier.askCall(ref)),
    }
  }
}

/** Whether an error is one that may happen, or a doubt because of one. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error && PASSING.has(error.name))) return false
  return error.cause === undefined || isPassing(error.cause)
}
