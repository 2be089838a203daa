/** Processes with hosts of boxes of their own, their companies, and what is asked of their boxes. */
import type { BuiltInMachine } from "../../adapters/sandbox/boxhost/built-in.ts"
import { openBuiltInBoxHost } from "../../adapters/sandbox/boxhost/built-in.ts"
import type { Box, BoxHost } from "../../adapters/sandbox/boxhost/port.ts"
import type { AccessCommand } from "../../domain/access/access.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import { PERMISSIONS } from "../../domain/access/permissions.ts"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { PRICES, ledgerOf } from "../../domain/charging/aggregates.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { DEFAULT_BOOK } from "../../domain/charging/price-book.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { clearBox, clearSlot, stopBoxes } from "../../src/boxes/reactions/end-box.ts"
import { tickBox } from "../../src/boxes/reactions/tick-box.ts"
import { startBox } from "../../src/boxes/start-box.ts"
import type { AnyReply, Caller, Seed } from "../../src/frame/routes/declare/route.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { reconciler } from "../../src/frame/effects/reconcile.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import { NOTHING_ELSE } from "../simulation/requests.ts"
import { plainSealing } from "../simulation/sealing.ts"
import type { Turn } from "./turns.ts"
import { ProcessesInTurns } from "./turns.ts"
import { partly } from "../support/partly.ts"

const REACTIONS: readonly Reaction[] = [
  ...startBox.paid.jobs,
  tickBox,
  clearBox,
  clearSlot,
  stopBoxes,
  reconciler([startBox.paid.reconciled]),
]

/** The world of a history. */
export class MinuteWorld extends ProcessesInTurns {
  /** Of each process. */
  readonly machines: readonly BuiltInMachine[]
  readonly #hosts: readonly BoxHost[]
  isCloneFailing = false

  constructor(count: number) {
    super(count, REACTIONS)
    const { clock, pacer } = this
    const machines = Array.from({ length: count }, (): BuiltInMachine => new Map())
    // The first two are on one machine.
    const numbers = machines.map((_, i) => Math.max(0, i - 1))
    this.machines = numbers.map((which) => machines[which] as BuiltInMachine)
    this.#hosts = this.machines.map((machine, i) =>
      openBuiltInBoxHost({ clock, pacer, machine, hostId: `simulator:${numbers[i]}` }),
    )
  }

  protected override ownPorts(process: number, turn: Turn) {
    return {
      // Nobody asks what was done in a box.
      journal: { of: () => ({ add: () => turn(async () => undefined) }) },
      // Nobody has a name here.
      readAs: async () => null,
      baseUrl: () => "http://ledger.test",
      boxHost: this.#hostOf(this.#hosts[process] as BoxHost, turn),
      repositories: { has: async () => true },
      companyCode: {
        find: async () => ({ tips: new Map([["main", "c".repeat(40)]]), defaultBranch: "main" }),
        pack: async function* () {},
      },
      boxCode: {
        bring: () => turn(async () => (this.isCloneFailing ? "fatal: told to fail" : null)),
      },
    }
  }

  #hostOf(host: BoxHost, turn: Turn): BoxHost {
    const asked = this.asking(turn)
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

/** Who starts boxes everywhere. */
export const KEY = { keyId: "key_aaaaaaaa", personId: "per_1" } as const

const CAUSE = causedBy("test")

/** What a start asks for. */
export interface Asked {
  readonly size: "small" | "medium" | "large" | "xlarge"
  readonly maxMinutes: number
  readonly idleMinutes: number
  readonly budget: number | null
}

/** Makes the price book. */
export async function openPrices({ runners }: MinuteWorld): Promise<void> {
  await runners[0]?.execute(PRICES, { type: "OpenPriceBook", prices: DEFAULT_BOOK }, CAUSE)
}

/** Makes a company with a key that may start boxes. */
export async function openCompany(
  world: MinuteWorld,
  companyId: CompanyId,
  plan: "29" | "329",
  fundsMicros: number,
): Promise<void> {
  const sealed = (text: string) => plainSealing.seal(companyId, "company", text)
  const name = await sealed("company")
  await change(world, companyId, { type: "OpenCompany", companyId, name, plan, pays: "prepaid" })
  const person = { personId: KEY.personId, name, email: name, emailTag: "tag", role: "developer" }
  const added = { ...person, permissions: PERMISSIONS, type: "AddPerson" } as const
  await change(world, companyId, { ...added, role: "developer" })
  const operations = ["sandbox.start", "sandbox.read"] as const
  const key = { ...KEY, keyHash: "ab12", operations, label: null }
  await change(world, companyId, { type: "CreateKey", ...key })
  await arrange(world, companyId, { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 })
  await arrange(world, companyId, addFunds(fundsMicros))
}

/** Changes people and keys at once, in no turn of anybody's. */
export async function change(world: MinuteWorld, companyId: CompanyId, command: AccessCommand) {
  await world.runners[0]?.execute(accessOf(companyId), command, CAUSE)
}

/** Changes money and limits at once; what a company that was deleted refuses is left. */
export async function arrange(world: MinuteWorld, companyId: CompanyId, command: LedgerCommand) {
  const [runner] = world.runners as [Runner]
  const made = await runner.execute(ledgerOf(companyId), command, CAUSE)
  if (made.accepted || LEFT.has(made.refusal.code)) return
  throw new Error(`${command.type} was refused: ${made.refusal.code}`)
}

const LEFT = new Set(["ledger_closed", "no_such_limit"])

/** Adds funds. */
export function addFunds(amountMicros: number): LedgerCommand {
  return { type: "AddFunds", amountMicros, reference: null }
}

/** Sets the limit of a company's week; null takes it away. */
export function limitWeek(amountMicros: number | null): LedgerCommand {
  const name = { holder: "company", holderId: null, class: "general" } as const
  if (amountMicros === null) return { type: "RemoveLimit", ...name }
  const limit = { period: "week", amountMicros, remindersMicros: [], leaveKeysOut: false } as const
  return { type: "SetLimit", ...name, ...limit }
}

/** A request to start a box; the attempt that it is at is kept, as a claim keeps it. */
export interface StartRequest {
  readonly name: string
  readonly asked: Asked
  attempt: number
}

/** Starts a box by the route's own way; `isAgain` where the same request may have begun before. */
export async function start(
  ports: Ports,
  companyId: CompanyId,
  request: StartRequest,
  isAgain: boolean,
): Promise<AnyReply> {
  const { name, asked } = request
  const key = { ...KEY, keyHash: "ab12", operations: new Set([]), status: "active" } as const
  const person = { personId: KEY.personId }
  const spender = { via: "own_key", ...KEY } as const
  const caller = partly<Caller>({ companyId, key, person, spender, requestId: name })
  const seedOf = (attempt: number): Seed => ({
    parts: [companyId, name, String(attempt)],
    isNamed: true,
    next: async () => seedOf((request.attempt += 1)),
  })
  const body = { ...asked, branch: "main", label: null }
  const input = { ...NOTHING_ELSE, body, seed: seedOf(request.attempt) }
  if (!isAgain) return startBox.handle(ports, caller, input)
  const { resume } = startBox
  if (resume === undefined) throw new Error("a start goes on after a lost answer")
  const found = await resume(ports, caller, input)
  if ("reply" in found) return found.reply
  return startBox.handle(ports, caller, { ...NOTHING_ELSE, body, seed: found.seed })
}

/** Stops a box, and takes it off the list where that is asked for. */
export async function stop(ports: Ports, companyId: CompanyId, boxId: BoxId, deletes: boolean) {
  const stream = boxStreamOf(companyId, boxId)
  const stopping = { type: "StopBox", boxId, reason: "stopped", ...KEY } as const
  await ports.runner.execute(stream, stopping, CAUSE)
  if (!deletes) return
  await ports.runner.execute(stream, { type: "DeleteBox", boxId, ...KEY }, CAUSE)
}
