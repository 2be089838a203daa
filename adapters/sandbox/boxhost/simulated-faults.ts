/**
 * Wraps a box host, also a real one, so that it fails on request (`simulator set boxhost full`),
 * for tests and for trying error messages.
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../../providers/provider-errors.ts"
import type { COMMON_OUTCOMES, Simulator, Simulators } from "../../providers/simulators/port.ts"
import { CHECKOUT_SCRIPT, COMMIT_SCRIPT } from "./code-scripts.ts"
import type { BoxHandle, BoxHost, CommandResult } from "./port.ts"
import { BoxGone } from "./port.ts"

/**
 * The simulator's outcomes. `full`, `down`: no room for a box; `clone-fails`: code transfer fails;
 * `lost`: a box ends when it is looked up or used.
 */
export const BOX_HOST_SIMULATOR = {
  name: "boxhost",
  outcomes: ["full", "down", "clone-fails", "lost"],
} as const satisfies Simulator

type BoxHostOutcome =
  (typeof BOX_HOST_SIMULATOR)["outcomes"][number] | (typeof COMMON_OUTCOMES)[number]

const SLOW_DELAY_MS = 2_000

export interface BoxHostFaultPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** The kind of a call; an outcome for another kind is not used up. */
type CallScope = "room" | "start" | "box" | "code"

/** Wraps the host and its boxes with simulated faults. */
export function simulateBoxHostFaults(host: BoxHost, ports: BoxHostFaultPorts): BoxHost {
  const runWithOutcome = createOutcomeRunner(ports)
  const wrapBox = (box: BoxHandle) => simulateBoxFaults(box, runWithOutcome)
  return {
    hostId: host.hostId,
    hasRoom: (size) =>
      runWithOutcome("room", async (outcome) => {
        if (outcome === "full" || outcome === "down") return false
        return host.hasRoom(size)
      }),
    start: (plan) => runWithOutcome("start", async () => wrapBox(await host.start(plan))),
    find: (boxId) =>
      runWithOutcome("box", async (outcome) => {
        const box = await host.find(boxId)
        if (box === null || outcome !== "lost") return box === null ? null : wrapBox(box)
        await box.stop()
        return null
      }),
    listBoxes: () => runWithOutcome("start", () => host.listBoxes()),
    listSandboxes: () => runWithOutcome("start", () => host.listSandboxes()),
    removeVolume: (path) => runWithOutcome("start", () => host.removeVolume(path)),
  }
}

type WithOutcome = <T>(scope: CallScope, act: (outcome: BoxHostOutcome) => Promise<T>) => Promise<T>

function createOutcomeRunner({ simulators, pacer }: BoxHostFaultPorts): WithOutcome {
  return async (scope, act) => {
    const outcome = await nextOutcomeFor(simulators, scope)
    if (outcome === "unavailable")
      throw new ProviderUnavailable("the simulated box host answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    const result = await act(outcome)
    if (outcome === "silent")
      throw new ProviderOutcomeUnknown("the simulated box host did not answer")
    return result
  }
}

/** Uses up an outcome only for a call that it applies to. */
async function nextOutcomeFor(simulators: Simulators, scope: CallScope): Promise<BoxHostOutcome> {
  const all = await simulators.list()
  const set = all.find(({ name }) => name === BOX_HOST_SIMULATOR.name)
  return set === undefined || !appliesTo(set.outcome, scope)
    ? "ok"
    : simulators.nextOutcome(BOX_HOST_SIMULATOR)
}

function appliesTo(outcome: string, scope: CallScope): boolean {
  if (outcome === "full" || outcome === "down") return scope === "room"
  if (outcome === "clone-fails") return scope === "code"
  if (outcome === "lost") return scope === "box" || scope === "code"
  return true
}

function simulateBoxFaults(box: BoxHandle, runWithOutcome: WithOutcome): BoxHandle {
  const inBox = <T>(act: () => Promise<T>) =>
    runWithOutcome("box", (outcome) => (outcome === "lost" ? loseBox(box) : act()))
  return {
    boxId: box.boxId,
    readHealth: () => inBox(() => box.readHealth()),
    extend: (leaseMs) => inBox(() => box.extend(leaseMs)),
    run: (argv, options) => {
      if (!isCodeScript(argv)) return inBox(() => box.run(argv, options))
      return runWithOutcome("code", async (outcome) => {
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
    stop: () => runWithOutcome("start", () => box.stop()),
  }
}

/** @throws BoxGone after ending the box */
async function loseBox(box: BoxHandle): Promise<never> {
  await box.stop()
  throw new BoxGone(`${box.boxId} was lost`)
}

const isCodeScript = (argv: readonly string[]): boolean =>
  argv[2] === CHECKOUT_SCRIPT || argv[2] === COMMIT_SCRIPT

const FAILED_CODE_RESULT: CommandResult = {
  exitCode: 128,
  stdout: new Uint8Array(),
  stderr: Buffer.from("fatal: git is set to fail\n"),
  isTruncated: { stdout: false, stderr: false },
  isTimedOut: false,
}
