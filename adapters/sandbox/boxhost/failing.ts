/**
 * Hosts of boxes, the real one too, that fail when they are told to (`simulator set boxhost full`): for
 * tests, and to look at what people then see.
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../../providers/outside.ts"
import type { COMMON_OUTCOMES, Simulator, Simulators } from "../../providers/simulators/port.ts"
import { BRING, RECORD } from "./code-scripts.ts"
import type { Box, BoxHost, Ran } from "./port.ts"
import { BoxGone } from "./port.ts"

/**
 * What they can be told to do. `full`, `down`: there is no room for a box; `clone-fails`: code goes
 * neither in nor out; `lost`: a box ends as soon as somebody looks for it or asks something of it.
 */
export const BOXHOST = {
  name: "boxhost",
  outcomes: ["full", "down", "clone-fails", "lost"],
} as const satisfies Simulator

type Outcome = (typeof BOXHOST)["outcomes"][number] | (typeof COMMON_OUTCOMES)[number]

const SLOW_MS = 2_000

/** What it works with. */
export interface FailingBoxHostPorts {
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** What a call is about: an outcome that is about something else waits for its turn. */
type About = "room" | "start" | "box" | "code"

/** The same host; its calls, and those of its boxes, fail where they were told to. */
export function failingBoxHost(host: BoxHost, ports: FailingBoxHostPorts): BoxHost {
  const told = toldBy(ports)
  const failing = (box: Box) => failingBox(box, told)
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
    list: () => told("start", () => host.list()),
    sandboxes: () => told("start", () => host.sandboxes()),
    removeVolume: (path) => told("start", () => host.removeVolume(path)),
  }
}

type Told = <T>(about: About, act: (outcome: Outcome) => Promise<T>) => Promise<T>

function toldBy({ simulators, pacer }: FailingBoxHostPorts): Told {
  return async (about, act) => {
    const outcome = await outcomeFor(simulators, about)
    if (outcome === "unavailable") throw new ProviderUnavailable("the host of boxes answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_MS)
    const done = await act(outcome)
    if (outcome === "silent") throw new ProviderSilent("the host of boxes did not answer")
    return done
  }
}

/** What is done now. It is counted only where it is done: a failing clone is not used up before one. */
async function outcomeFor(simulators: Simulators, about: About): Promise<Outcome> {
  const all = await simulators.list()
  const set = all.find(({ name }) => name === BOXHOST.name)
  return set === undefined || !fits(set.outcome, about) ? "ok" : simulators.next(BOXHOST)
}

function fits(outcome: string, about: About): boolean {
  if (outcome === "full" || outcome === "down") return about === "room"
  if (outcome === "clone-fails") return about === "code"
  if (outcome === "lost") return about === "box" || about === "code"
  return true
}

function failingBox(box: Box, told: Told): Box {
  const inBox = <T>(act: () => Promise<T>) =>
    told("box", (outcome) => (outcome === "lost" ? lose(box) : act()))
  return {
    boxId: box.boxId,
    hello: () => inBox(() => box.hello()),
    extend: (leaseMs) => inBox(() => box.extend(leaseMs)),
    run: (argv, options) => {
      if (!isCode(argv)) return inBox(() => box.run(argv, options))
      return told("code", async (outcome) => {
        if (outcome === "clone-fails") return CODE_FAILED
        return outcome === "lost" ? lose(box) : box.run(argv, options)
      })
    },
    shell: (command, options) => inBox(() => box.shell(command, options)),
    spawn: (command, cwd) => inBox(() => box.spawn(command, cwd)),
    processes: () => inBox(() => box.processes()),
    logs: (processId) => inBox(() => box.logs(processId)),
    stopProcess: (processId) => inBox(() => box.stopProcess(processId)),
    dial: (port) => inBox(() => box.dial(port)),
    stop: () => told("start", () => box.stop()),
  }
}

/** @throws BoxGone, once the box is */
async function lose(box: Box): Promise<never> {
  await box.stop()
  throw new BoxGone(`${box.boxId} was lost`)
}

const isCode = (argv: readonly string[]): boolean => argv[2] === BRING || argv[2] === RECORD

const CODE_FAILED: Ran = {
  exitCode: 128,
  stdout: new Uint8Array(),
  stderr: Buffer.from("fatal: git was told to fail\n"),
  isCut: { stdout: false, stderr: false },
  isTimedOut: false,
}
