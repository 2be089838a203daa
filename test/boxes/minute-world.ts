/**
 * Processes with hosts of boxes of their own, on one store in memory. Before each thing that a process
 * asks for it waits for its turn, so that a test says who goes on next, who dies there, and what
 * happens meanwhile.
 */
import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import { openMemoryLocks } from "../../adapters/locks/memory.ts"
import type { BuiltInMachine } from "../../adapters/providers/boxhost/built-in.ts"
import { openBuiltInBoxHost } from "../../adapters/providers/boxhost/built-in.ts"
import type { Box, BoxHost } from "../../adapters/providers/boxhost/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import { openRunner } from "../../src/frame/writer/run.ts"
import { plainSealing } from "../simulation/sealing.ts"
import { asksForCharges, kyselyAnswering } from "../simulation/sql.ts"
import { virtualPacer } from "../writer/pacer.ts"
import type { Row } from "./minute-store.ts"
import { MinuteStore } from "./minute-store.ts"

/** When every history begins. */
export const NOON = Date.UTC(2026, 10, 23, 12)

/** Where somebody dies: at the how manieth turn, and whether what they asked for is done then. */
export interface Fate {
  readonly at: number
  readonly isDone: boolean
}

/** Each turn takes a moment: no two are at one instant of a clock that is as fine as a machine's. */
const MOMENT_MS = 0.001

/** Somebody died, as a process does: nothing of it goes on. */
class Died extends Error {
  override readonly name = "Died"
}

/** What a process of the real thing is told, and what its caller or its row tries again. */
const PASSING = new Set(["Died", "OutcomeUnknown", "Unavailable", "DeadlinePassed"])

interface Process {
  readonly runner: Runner
  readonly host: BoxHost
  readonly machine: BuiltInMachine
}

type Turn = <T>(act: () => Promise<T>) => Promise<T>

/** How the hosts of boxes answer. */
export type HostSays = "ok" | "unavailable" | "silent"

/** The world of a history. */
export class MinuteWorld {
  readonly stored = new MinuteStore()
  readonly processes: readonly Process[]
  /** What went wrong that nothing may cause. */
  readonly faults: unknown[] = []
  now = NOON
  hosts: HostSays = "ok"
  isCloneFailing = false
  /** Whether nobody waits for a turn any more. */
  isFree = false
  readonly #pacer = virtualPacer()
  readonly #waiting: { readonly process: number; readonly go: () => void }[] = []
  readonly #inHand = new Set<Promise<void>>()

  constructor(count: number) {
    const locks = openMemoryLocks(this.#pacer)
    const checkpoints = openMemoryCheckpoints()
    const { store } = this.stored
    const clock = { now: () => this.now }
    const machines = Array.from({ length: count }, (): BuiltInMachine => new Map())
    this.processes = Array.from({ length: count }, (_, i) => {
      // The first two are on one machine.
      const which = Math.max(0, i - 1)
      const [machine, hostId] = [machines[which] as BuiltInMachine, `simulator:${which}`]
      const pacer = this.#pacer
      const warn = (message: string, error: unknown) => {
        this.faults.push(new Error(message, { cause: error }))
      }
      const runner = openRunner({ store, checkpoints, locks, clock, pacer, warn })
      return { runner, machine, host: openBuiltInBoxHost({ clock, pacer, machine, hostId }) }
    })
  }

  /** Lets time pass, of the ledger and of the machines. */
  pass(ms: number): void {
    this.now += ms
    this.#pacer.pass(ms)
  }

  /** Has a process do something; it goes on as it gets its turns. Resolves when it is over. */
  async begin(
    process: number,
    fate: Fate | null,
    act: (ports: Ports) => Promise<unknown>,
  ): Promise<void> {
    const doing = act(this.#portsOf(process, this.#turnOf(process, fate))).then(
      () => undefined,
      (error: unknown) => {
        if (!isPassing(error)) this.faults.push(error)
      },
    )
    this.#inHand.add(doing)
    await doing
    this.#inHand.delete(doing)
  }

  /** Has a process do a row. A row whose process dies is there as before. */
  work(row: Row, process: number, fate: Fate | null): void {
    void this.begin(process, fate, async (ports) => {
      row.tries += 1
      const { item, tries, isHandedOver } = row
      const { kind, name, subject, companyId } = item
      const taken = { workId: row.item.name, kind, name, subject, companyId, tries, isHandedOver }
      const { signal } = new AbortController()
      const asked = { ...taken, signal, payload: row.reaction.payload.parse(item.payload) }
      const handOver = async () => {
        row.isHandedOver = true
        return true
      }
      const own = { ...ports, work: { ...ports.work, handOver } }
      const result = await row.reaction.perform(own, asked as never)
      this.stored.settle(row, result, this.now)
    })
  }

  /** Gives somebody who waits for it their turn. */
  async let(which: number): Promise<void> {
    this.#waiting.splice(which % Math.max(1, this.#waiting.length), 1)[0]?.go()
    await settled()
  }

  /** Gives a process its turn; false where it waits for none. */
  async letOf(process: number): Promise<boolean> {
    const which = this.#waiting.findIndex((one) => one.process === process)
    if (which >= 0) await this.let(which)
    return which >= 0
  }

  /**
   * Everybody goes on until nothing is in hand.
   *
   * @throws the first fault: a row that goes wrong is due as before, and would be done for ever
   */
  async finish(): Promise<void> {
    this.isFree = true
    for (const { go } of this.#waiting.splice(0)) go()
    while (this.#inHand.size > 0) await Promise.all(this.#inHand)
    if (this.faults.length > 0) throw this.faults[0]
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
    const { runner, host } = this.processes[process] as Process
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
      projector: { waitFor: () => turn(async () => true) },
      readAll: kyselyAnswering(async (query) => {
        if (!asksForCharges(query)) {
          throw new Error(`no such question is answered here: ${query.sql}`)
        }
        const row = charges.get(String(query.parameters[1]))
        return turn(async () => (row === undefined ? [] : [row]))
      }),
      counts: { add: () => undefined },
      log: { info: () => undefined },
      // Nobody asks what was done in a box.
      journal: { of: () => ({ add: () => turn(async () => undefined) }) },
      // Nobody has a name here.
      readAs: async () => null,
      sealing: plainSealing,
      closeCharge: async (companyId: CompanyId, chargeId: ChargeId) => {
        const command = { type: "CloseCharges" as const, chargeIds: [chargeId] }
        await own.execute(ledgerOf(companyId), command, causedBy("close-charges"))
      },
      keepRefusal: () => undefined,
      baseUrl: () => "http://ledger.test",
      boxHost: this.#hostOf(host, turn),
      repositories: { has: async () => true },
      companyCode: {
        find: async () => ({ tips: new Map([["main", "c".repeat(40)]]), defaultBranch: "main" }),
        pack: async function* () {},
      },
      boxCode: {
        bring: () => turn(async () => (this.isCloneFailing ? "fatal: told to fail" : null)),
      },
    }
    return ports as unknown as Ports
  }

  #hostOf(host: BoxHost, turn: Turn): BoxHost {
    const asked: Turn = (act) =>
      turn(async () => {
        if (this.hosts === "unavailable") throw new ProviderUnavailable("told to be away")
        const done = await act()
        if (this.hosts === "silent") throw new ProviderSilent("told to be silent")
        return done
      })
    const boxOf = (box: Box): Box => ({
      ...box,
      hello: () => asked(() => box.hello()),
      extend: (leaseMs) => asked(() => box.extend(leaseMs)),
      stop: () => asked(() => box.stop()),
    })
    return {
      hostId: host.hostId,
      hasRoom: (size) => asked(() => host.hasRoom(size)),
      start: (plan) => asked(async () => boxOf(await host.start(plan))),
      find: (boxId) =>
        asked(async () => {
          const box = await host.find(boxId)
          return box === null ? null : boxOf(box)
        }),
      list: () => asked(() => host.list()),
      sandboxes: () => asked(() => host.sandboxes()),
      removeVolume: (path) => asked(() => host.removeVolume(path)),
    }
  }
}

/** Whether an error is one that may happen, or a doubt because of one. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error && PASSING.has(error.name))) return false
  return error.cause === undefined || isPassing(error.cause)
}

/** Resolves once everybody has come to their next turn. */
export async function settled(): Promise<void> {
  await new Promise(setImmediate)
}
