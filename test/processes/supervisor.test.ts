/** How many processes there are, how they are begun and watched, and what ends them. */
import { EventEmitter } from "node:events"
import type { ChildProcess } from "node:child_process"
import type { Socket } from "node:net"
import { expect, it, onTestFinished } from "vitest"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import type {
  WorkerMessage,
  SupervisorMessage,
} from "../../src/bootstrap/processes/connection-handoff.ts"
import { WorkerPool, workerCountFor } from "../../src/bootstrap/processes/worker-pool.ts"
import { partialFake } from "../support/partial-fake.ts"

/** A clock that goes on when the test says so. */
function openTestPacer() {
  let now = 0
  const waiting = new Set<{ readonly at: number; readonly over: () => void }>()
  const pacer: Pacer = {
    elapsedMs: () => now,
    pause: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve()
        const one = { at: now + ms, over: resolve }
        waiting.add(one)
        return signal?.addEventListener("abort", () => {
          waiting.delete(one)
          resolve()
        })
      }),
  }
  const pass = async (ms: number): Promise<void> => {
    const until = now + ms
    await settled()
    for (;;) {
      const [next] = [...waiting].filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)
      if (next === undefined) break
      waiting.delete(next)
      now = next.at
      next.over()
      await settled()
    }
    now = until
    await settled()
  }
  return { pacer, pass }
}

/** Everything that follows at once has followed. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** A process that does what a test says. */
class PlayedProcess extends EventEmitter {
  readonly heard: SupervisorMessage["is"][] = []
  readonly pid: number | undefined
  connected = true
  answers = true
  killedBy: NodeJS.Signals | null = null

  constructor(pid: number | undefined) {
    super()
    this.pid = pid
    this.connected = pid !== undefined
  }

  readonly send = (message: SupervisorMessage): boolean => {
    this.heard.push(message.is)
    if (message.is === "ask" && this.answers) this.say({ is: "answer" })
    return true
  }
  readonly kill = (signal: NodeJS.Signals): boolean => {
    this.killedBy = signal
    this.ends(signal)
    return true
  }
  readonly say = (said: WorkerMessage) => void this.emit("message", said)
  readonly begin = (): void => {
    this.say({ is: "begun" })
    this.say({ is: "ready" })
  }
  readonly ends = (signal: NodeJS.Signals | null = null): void => {
    this.connected = false
    this.emit("exit", signal === null ? 0 : null, signal)
  }
}

interface Stage {
  readonly crew: WorkerPool
  readonly forked: readonly PlayedProcess[]
  /** The newest. */
  readonly last: () => PlayedProcess
  readonly pass: (ms: number) => Promise<void>
  readonly warnings: readonly string[]
  readonly stop: AbortController
  /** What a fork comes to from now on. */
  forks: () => PlayedProcess
}

function openStage(count: number): Stage {
  const { pacer, pass } = openTestPacer()
  const forked: PlayedProcess[] = []
  const warnings: string[] = []
  const stop = new AbortController()
  const fork = () => {
    const one = stage.forks()
    forked.push(one)
    return partialFake<ChildProcess>(one)
  }
  const log = { info: () => undefined, warn: (message: string) => void warnings.push(message) }
  const assignmentOf = (number: number, isAgain: boolean) =>
    ({ is: "seat", number, isAgain }) as ReturnType<
      ConstructorParameters<typeof WorkerPool>[0]["assignmentOf"]
    >
  const exits = process.listeners("exit")
  const crew = new WorkerPool({ count, pacer, log, signal: stop.signal, fork, assignmentOf })
  onTestFinished(() => {
    for (const one of process.listeners("exit")) if (!exits.includes(one)) process.off("exit", one)
  })
  const stage: Stage = {
    crew,
    forked,
    pass,
    warnings,
    stop,
    last: () => forked.at(-1) as PlayedProcess,
    forks: () => new PlayedProcess(forked.length + 1),
  }
  return stage
}

/** The same with all of them serving. */
async function openServing(count: number): Promise<Stage> {
  const stage = openStage(count)
  const started = stage.crew.start()
  for (let number = 1; number <= count; number++) {
    await settled()
    stage.forked[number - 1]?.begin()
  }
  expect(await started).toBe(true)
  return stage
}

/** Hands a connection that is for one process; answers who was sent it. */
async function handTo({ crew, forked }: Stage, number: number): Promise<number | null> {
  const before = forked.map(({ heard }) => heard.length)
  const beginning = { name: "any", workerNumber: null, head: Buffer.from("") }
  const socket = partialFake<Socket>({ destroyed: false, destroy: () => undefined })
  void crew.routeConnection({ ...beginning, workerNumber: number }, socket)
  await settled()
  const to = forked.findIndex(({ heard }, i) => heard.slice(before[i]).includes("connection"))
  if (to !== -1) forked[to]?.say({ is: "taken" })
  return to === -1 ? null : to + 1
}

it("starts the first before the others", async () => {
  const { crew, forked } = openStage(3)
  const started = crew.start()
  await settled()
  expect(forked.map(({ heard }) => heard)).toEqual([["seat"]])
  forked[0]?.say({ is: "ready" })
  await settled()
  expect(forked).toHaveLength(3)
  for (const one of forked.slice(1)) one.say({ is: "ready" })
  expect(await started).toBe(true)
})

it("ends a start at once where all are to stop, starts none any more, and waits for those there are", async () => {
  const { crew, forked, stop } = openStage(3)
  const started = crew.start()
  await settled()
  forked[0]?.say({ is: "begun" })
  stop.abort()
  expect(await started).toBe(false)
  const stopped = crew.stop(5_000)
  const [first] = forked
  expect(first?.heard).toEqual(["seat", "stop"])
  // It was just done with its start.
  first?.say({ is: "ready" })
  await settled()
  expect(forked).toHaveLength(1)
  first?.ends()
  expect(await stopped).toEqual([])
})

it("ends at once where all are to stop who has opened nothing yet", async () => {
  const { crew, forked, stop } = openStage(3)
  const started = crew.start()
  await settled()
  forked[0]?.begin()
  await settled()
  stop.abort()
  expect(await started).toBe(false)
  const stopped = crew.stop(5_000)
  expect(forked.map(({ killedBy }) => killedBy)).toEqual([null, "SIGKILL", "SIGKILL"])
  expect(forked[0]?.heard.at(-1)).toBe("stop")
  forked[0]?.ends()
  expect(await stopped).toEqual([])
})

it("starts none again that ends while all are to stop", async () => {
  const stage = await openServing(2)
  stage.stop.abort()
  stage.forked[0]?.ends("SIGKILL")
  await stage.pass(60_000)
  expect(stage.forked).toHaveLength(2)
  expect(stage.warnings).toEqual([])
})

it("ends by force who has not stopped in time, and says who that was", async () => {
  const { crew, forked, pass } = await openServing(2)
  const stopped = crew.stop(5_000)
  forked[0]?.ends()
  await pass(5_000)
  expect(await stopped).toEqual(["process 2"])
  expect(forked.map(({ killedBy }) => killedBy)).toEqual([null, "SIGKILL"])
})

it("ends and starts again one that does not answer for a minute, and says so", async () => {
  const { forked, pass, warnings, last } = await openServing(2)
  await pass(600_000)
  expect(warnings).toEqual([])
  const hung = forked[1] as PlayedProcess
  hung.answers = false
  await pass(50_000)
  expect(hung.killedBy).toBe(null)
  await pass(20_000)
  expect(hung.killedBy).toBe("SIGKILL")
  expect(warnings).toEqual([
    "process 2 does not respond and is killed",
    "process 2 ended by SIGKILL and is restarted",
  ])
  expect(forked).toHaveLength(3)
  expect(last().heard).toEqual(["seat"])
  expect(forked[0]?.killedBy).toBe(null)
})

it("gives connections to the others while one does not answer, and to it again once it does", async () => {
  const stage = await openServing(2)
  const slow = stage.forked[1] as PlayedProcess
  expect(await handTo(stage, 2)).toBe(2)
  slow.answers = false
  await stage.pass(20_000)
  // Its own state is told by nobody else.
  expect(await handTo(stage, 2)).toBe(null)
  slow.answers = true
  slow.say({ is: "answer" })
  expect(await handTo(stage, 2)).toBe(2)
  await stage.pass(600_000)
  expect(slow.killedBy).toBe(null)
})

it("has a connection wait where none serves, however often one ends before it does", async () => {
  const stage = await openServing(1)
  stage.last().ends("SIGKILL")
  await stage.pass(1_000)
  expect(await handTo(stage, 1)).toBe(null)
  stage.last().ends("SIGKILL")
  await stage.pass(1_000)
  expect(stage.forked).toHaveLength(3)
  stage.last().begin()
  await settled()
  expect(stage.last().heard).toContain("connection")
})

it("asks none that has not come to serve: a start may take long", async () => {
  const { crew, forked, pass } = openStage(1)
  const started = crew.start()
  await pass(600_000)
  expect(forked[0]?.heard).toEqual(["seat"])
  forked[0]?.say({ is: "ready" })
  expect(await started).toBe(true)
})

it("starts again one that could not be forked, as often as it takes, and goes on to serve", async () => {
  const stage = await openServing(2)
  let isLost = false
  void stage.crew.lost.then(() => (isLost = true))
  const forks = stage.forks
  stage.forks = () => {
    const none = new PlayedProcess(undefined)
    setImmediate(() => none.emit("error", new Error("spawn EAGAIN")))
    // The word to it fails as well.
    setImmediate(() => none.emit("error", new Error("channel closed")))
    return none
  }
  stage.forked[1]?.ends("SIGKILL")
  await settled()
  for (let i = 0; i < 10; i++) await stage.pass(2_000)
  stage.forks = () => {
    throw new Error("spawn ENOMEM")
  }
  for (let i = 0; i < 10; i++) await stage.pass(2_000)
  expect(stage.warnings).toContain("process 2 could not be started (spawn EAGAIN) and is restarted")
  expect(stage.warnings.at(-1)).toMatch(/^process 2 could not be started .*ENOMEM/)
  expect(isLost).toBe(false)
  expect(await handTo(stage, 1)).toBe(1)
  stage.forks = forks
  await stage.pass(2_000)
  stage.last().say({ is: "ready" })
  expect(await handTo(stage, 2)).toBe(stage.forked.length)
})

it("does not start where the first cannot be forked", async () => {
  const stage = openStage(2)
  stage.forks = () => {
    throw new Error("spawn ENOMEM")
  }
  await expect(stage.crew.start()).rejects.toMatchObject({
    name: "StartupFault",
    message: "process 1 could not be started (Error: spawn ENOMEM) before it served.",
  })
})

it("gives up where one ends five times in a row as soon as it is there", async () => {
  const { crew, pass, last } = await openServing(1)
  for (let i = 0; i < 5; i++) {
    last().ends("SIGSEGV")
    await pass(1_000)
    last().say({ is: "ready" })
    await settled()
  }
  expect(await crew.lost).toBe("process 1 ended by SIGSEGV")
})

it.each([
  [1, 1, 1],
  [2, 1, 2],
  [3, 1, 3],
  [8, 4, 8],
])("of %d cores PostgreSQL has half where it is the program's own", (cores, own, elsewhere) => {
  expect(workerCountFor(cores, { databaseUrl: null })).toBe(own)
  expect(workerCountFor(cores, { databaseUrl: "postgres://db.test/ledger" })).toBe(elsewhere)
})
