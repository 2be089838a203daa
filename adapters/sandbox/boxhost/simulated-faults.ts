/**
 * Hosts of boxes, the real one too, that fail when they are told to (`simulator set boxhost full`): for
 * tests, and to look at what people then see.
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../../providers/provider-errors.ts"
import type { COMMON_OUTCOMES, Simulator, Simulators } from "../../providers/simulators/port.ts"
import { CHECKOUT_SCRIPT, COMMIT_SCRIPT } from "./code-scripts.ts"
import type { BoxHandle, BoxHost, CommandResult } from "./port.ts"
import { BoxGone } from "./port.ts"

/**
 * What they can be told to do. `full`, `down`: there is no room for a box; `clone-fails`: code goes
 * neither in nor out; `lost`: a box ends as soon as somebody looks for it or asks something of it.
 */
export const BOX_HOST_SIMULATOR = {
  name: "boxhost",
  outcomes: ["full", "down", "clone-fails", "lost"],
} as const satisfies Simulator

type BoxHostOutcome =
  (typeof BOX_HOST_SIMULATOR)["outcomes"][number] | (typeof COMMON_OUTCOMES)[number]

const SLOW_DELAY_MS = 2_000

/** What it works with. */
export interface BoxHostFaultPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** What a call is about: an outcome that is about something else waits for its turn. */
type CallScope = "room" | "start" | "box" | "code"

/** The same host; its calls, and those of its boxes, fail where they were told to. */
export function simulateBoxHostFaults(host: BoxHost, ports: BoxHostFaultPorts): BoxHost {
  const told = createOutcomeRunner(ports)
  const failing = (box: BoxHandle) => simulateBoxFaults(box, told)
  return {
    hostId: host.hostId,
    hasRoom: (size) =>
      told("room", async (outcome) => {
        if (outcome === "full" || outcome === "down") return false
        return host.hasRoom(size)
      }),
    start: (plan) => told("start", async () => failing(await host.start(plan))),
    find: (boxId) =>
      told("box", async (outcome) => {
        const box = await host.find(boxId)
        if (box === null || outcome !== "lost") return box === null ? null : failing(box)
        await box.stop()
        return null
      }),
    listBoxes: () => told("start", () => host.listBoxes()),
    listSandboxes: () => told("start", () => host.listSandboxes()),
    removeVolume: (path) => told("start", () => host.removeVolume(path)),
  }
}

type WithOutcome = <T>(about: CallScope, act: (outcome: BoxHostOutcome) => Promise<T>) => Promise<T>

function createOutcomeRunner({ simulators, pacer }: BoxHostFaultPorts): WithOutcome {
  return async (about, act) => {
    const outcome = await nextOutcomeFor(simulators, about)
    if (outcome === "unavailable") throw new ProviderUnavailable("the host of boxes answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    const done = await act(outcome)
    if (outcome === "silent") throw new ProviderOutcomeUnknown("the host of boxes did not answer")
    return done
  }
}

/** What is done now. It is counted only where it is done: a failing clone is not used up before one. */
async function nextOutcomeFor(simulators: Simulators, about: CallScope): Promise<BoxHostOutcome> {
  const all = await simulators.list()
  const set = all.find(({ name }) => name === BOX_HOST_SIMULATOR.name)
  return set === undefined || !appliesTo(set.outcome, about)
    ? "ok"
    : simulators.nextOutcome(BOX_HOST_SIMULATOR)
}

function appliesTo(outcome: string, about: CallScope): boolean {
  if (outcome === "full" || outcome === "down") return about === "room"
  if (outcome === "clone-fails") return about === "code"
  if (outcome === "lost") return about === "box" || about === "code"
  return true
}

function simulateBoxFaults(box: BoxHandle, told: WithOutcome): BoxHandle {
  const inBox = <T>(act: () => Promise<T>) =>
    told("box", (outcome) => (outcome === "lost" ? loseBox(box) : act()))
  return {
    boxId: box.boxId,
    readHealth: () => inBox(() => box.readHealth()),
    extend: (leaseMs) => inBox(() => box.extend(leaseMs)),
    run: (argv, options) => {
      if (!isCodeScript(argv)) return inBox(() => box.run(argv, options))
      return told("code", async (outcome) => {
        if (outcome === "clone-fails") return FAILED_CODE_RESULT
        return outcome === "lost" ? loseBox(box) : box.run(argv, options)
      })
    },
    runShell: (command, options) => inBox(() => box.runShell(command, options)),
    spawn: (command, cwd) => inBox(() => box.spawn(command, cwd)),
    listProcesses: () => inBox(() => box.listProcesses()),
    readLogs: (processId) => inBox(() => box.readLogs(processId)),
    stopProcess: (processId) => inBox(() => box.stopProcess(processId)),
    connectToPort: (port) => inBox(() => box.connectToPort(port)),
    stop: () => told("start", () => box.stop()),
  }
}

/** @throws BoxGone, once the box is */
async function loseBox(box: BoxHandle): Promise<never> {
  await box.stop()
  throw new BoxGone(`${box.boxId} was lost`)
}

const isCodeScript = (argv: readonly string[]): boolean =>
  argv[2] === CHECKOUT_SCRIPT || argv[2] === COMMIT_SCRIPT

const FAILED_CODE_RESULT: CommandResult = {
  exitCode: 128,
  stdout: new Uint8Array(),
  stderr: Buffer.from("fatal: git was told to fail\n"),
  isTruncated: { stdout: false, stderr: false },
  isTimedOut: false,
}
