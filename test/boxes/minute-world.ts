/** Interleaved processes with box hosts, funded companies, and requests for boxes. */
import type { SimulatedBoxes } from "../../adapters/sandbox/boxhost/simulator.ts"
import { openSimulatedBoxHost } from "../../adapters/sandbox/boxhost/simulator.ts"
import type { BoxHandle, BoxHost } from "../../adapters/sandbox/boxhost/port.ts"
import type { AccessCommand } from "../../domain/access/access.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { PERMISSIONS } from "../../domain/access/permissions.ts"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { PRICES_STREAM, ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { DEFAULT_PRICE_BOOK } from "../../domain/charging/price-book.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import {
  endBoxMachine,
  releaseBoxSlot,
  stopCompanyBoxes,
} from "../../src/boxes/reactions/end-box.ts"
import { chargeBoxMinutes } from "../../src/boxes/reactions/charge-box-minutes.ts"
import { startBox } from "../../src/boxes/start-box.ts"
import type { AnyReply, Caller, Seed } from "../../src/frame/routes/declare/route.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { reconciler } from "../../src/frame/effects/reconcile.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import { EMPTY_REQUEST_PARTS } from "../simulation/requests.ts"
import { plainSealing } from "../simulation/plain-sealing.ts"
import type { RunInTurn } from "./interleaving.ts"
import { InterleavedProcesses } from "./interleaving.ts"
import { partialFake } from "../support/partial-fake.ts"

const REACTIONS: readonly Reaction[] = [
  ...startBox.paid.jobs,
  chargeBoxMinutes,
  endBoxMachine,
  releaseBoxSlot,
  stopCompanyBoxes,
  reconciler([startBox.paid.reconciled]),
]

/** The processes of a history, with their box hosts. */
export class MinuteWorld extends InterleavedProcesses {
  readonly machines: readonly SimulatedBoxes[]
  readonly #hosts: readonly BoxHost[]
  isCloneFailing = false

  constructor(count: number) {
    super(count, REACTIONS)
    const { clock, pacer } = this
    const machines = Array.from({ length: count }, (): SimulatedBoxes => new Map())
    // The first two processes share a machine.
    const numbers = machines.map((_, i) => Math.max(0, i - 1))
    this.machines = numbers.map((which) => machines[which] as SimulatedBoxes)
    this.#hosts = this.machines.map((boxes, i) =>
      openSimulatedBoxHost({ clock, pacer, boxes, hostId: `simulator:${numbers[i]}` }),
    )
  }

  protected override ownPorts(process: number, turn: RunInTurn) {
    return {
      // No history reads the activity of a box.
      activityLog: { of: () => ({ add: () => turn(async () => undefined) }) },
      // No person has a name here.
      readAs: async () => null,
      baseUrl: () => "http://ledger.test",
      boxHost: this.#hostOf(this.#hosts[process] as BoxHost, turn),
      repositories: { has: async () => true },
      companyCode: {
        find: async () => ({ tips: new Map([["main", "c".repeat(40)]]), defaultBranch: "main" }),
        pack: async function* () {},
      },
      boxCode: {
        checkOut: () =>
          turn(async () => (this.isCloneFailing ? "fatal: git is set to fail" : null)),
      },
    }
  }

  #hostOf(host: BoxHost, turn: RunInTurn): BoxHost {
    const call = this.providerTurn(turn)
    const boxOf = (box: BoxHandle): BoxHandle => ({
      ...box,
      readHealth: () => call(() => box.readHealth()),
      extend: (leaseMs) => call(() => box.extend(leaseMs)),
      stop: () => call(() => box.stop()),
    })
    return {
      hostId: host.hostId,
      hasRoom: (size) => call(() => host.hasRoom(size)),
      start: (plan) => call(async () => boxOf(await host.start(plan))),
      find: (boxId) =>
        call(async () => {
          const box = await host.find(boxId)
          return box === null ? null : boxOf(box)
        }),
      listBoxes: () => call(() => host.listBoxes()),
      listSandboxes: () => call(() => host.listSandboxes()),
      removeVolume: (path) => call(() => host.removeVolume(path)),
    }
  }
}

export const BOX_STARTER = { keyId: "key_aaaaaaaa", personId: "per_1" } as const

const CAUSE = causedBy("test")

export interface BoxStartOptions {
  readonly size: "small" | "medium" | "large" | "xlarge"
  readonly maxMinutes: number
  readonly idleMinutes: number
  readonly budget: number | null
}

/** Opens the price book. */
export async function openTestPriceBook({ runners }: MinuteWorld): Promise<void> {
  await runners[0]?.execute(
    PRICES_STREAM,
    { type: "OpenPriceBook", prices: DEFAULT_PRICE_BOOK },
    CAUSE,
  )
}

/** Opens a company with a key that may start boxes. */
export async function openFundedCompany(
  world: MinuteWorld,
  companyId: CompanyId,
  plan: "29" | "329",
  fundsMicros: number,
): Promise<void> {
  const sealed = (text: string) => plainSealing.seal(companyId, "company", text)
  const name = await sealed("company")
  await changeAccess(world, companyId, {
    type: "OpenCompany",
    companyId,
    name,
    plan,
    pays: "prepaid",
  })
  const person = {
    personId: BOX_STARTER.personId,
    name,
    email: name,
    emailTag: "tag",
    role: "developer",
  }
  const added = { ...person, permissions: PERMISSIONS, type: "AddPerson" } as const
  await changeAccess(world, companyId, { ...added, role: "developer" })
  const operations = ["sandbox.start", "sandbox.read"] as const
  const key = { ...BOX_STARTER, keyHash: "ab12", operations, label: null }
  await changeAccess(world, companyId, { type: "CreateKey", ...key })
  await changeLedger(world, companyId, {
    type: "OpenLedger",
    prepaidOnly: true,
    creditLineMicros: 0,
  })
  await changeLedger(world, companyId, addFundsCommand(fundsMicros))
}

/** Changes people and keys immediately, without a turn. */
export async function changeAccess(
  world: MinuteWorld,
  companyId: CompanyId,
  command: AccessCommand,
) {
  await world.runners[0]?.execute(accessStreamOf(companyId), command, CAUSE)
}

/** Changes money and limits immediately, without a turn; ignores refusals of a deleted company. */
export async function changeLedger(
  world: MinuteWorld,
  companyId: CompanyId,
  command: LedgerCommand,
) {
  const [runner] = world.runners as [Runner]
  const made = await runner.execute(ledgerStreamOf(companyId), command, CAUSE)
  if (made.accepted || IGNORED_REFUSALS.has(made.refusal.code)) return
  throw new Error(`${command.type} was refused: ${made.refusal.code}`)
}

const IGNORED_REFUSALS = new Set(["ledger_closed", "no_such_limit"])

/** Adds funds. */
export function addFundsCommand(amountMicros: number): LedgerCommand {
  return { type: "AddFunds", amountMicros, reference: null }
}

/** Sets a company's weekly limit; null removes it. */
export function setWeekLimitCommand(amountMicros: number | null): LedgerCommand {
  const name = { holder: "company", holderId: null, class: "general" } as const
  if (amountMicros === null) return { type: "RemoveLimit", ...name }
  const limit = { period: "week", amountMicros, remindersMicros: [], leaveKeysOut: false } as const
  return { type: "SetLimit", ...name, ...limit }
}

/** A request to start a box, with its current attempt as an idempotency claim stores it. */
export interface StartRequest {
  readonly name: string
  readonly options: BoxStartOptions
  attempt: number
}

/** Starts a box through the route; `isAgain` if the same request may have begun before. */
export async function requestBoxStart(
  ports: Ports,
  companyId: CompanyId,
  request: StartRequest,
  isAgain: boolean,
): Promise<AnyReply> {
  const { name, options } = request
  const key = {
    ...BOX_STARTER,
    keyHash: "ab12",
    operations: new Set([]),
    status: "active",
  } as const
  const person = { personId: BOX_STARTER.personId }
  const spender = { via: "own_key", ...BOX_STARTER } as const
  const caller = partialFake<Caller>({ companyId, key, person, spender, requestId: name })
  const seedOf = (attempt: number): Seed => ({
    parts: [companyId, name, String(attempt)],
    isKeyed: true,
    next: async () => seedOf((request.attempt += 1)),
  })
  const body = { ...options, branch: "main", label: null }
  const input = { ...EMPTY_REQUEST_PARTS, body, seed: seedOf(request.attempt) }
  if (!isAgain) return startBox.handle(ports, caller, input)
  const { resume } = startBox
  if (resume === undefined) throw new Error("the route of a start has no resume")
  const found = await resume(ports, caller, input)
  if ("reply" in found) return found.reply
  return startBox.handle(ports, caller, { ...EMPTY_REQUEST_PARTS, body, seed: found.seed })
}

/** Stops a box, and deletes it with `deletes`. */
export async function requestBoxStop(
  ports: Ports,
  companyId: CompanyId,
  boxId: BoxId,
  deletes: boolean,
) {
  const stream = boxStreamOf(companyId, boxId)
  const stopping = { type: "StopBox", boxId, reason: "stopped", ...BOX_STARTER } as const
  await ports.runner.execute(stream, stopping, CAUSE)
  if (!deletes) return
  await ports.runner.execute(stream, { type: "DeleteBox", boxId, ...BOX_STARTER }, CAUSE)
}
