/** The worker pool: how many processes run, and how they are started, watched and stopped. */
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

/** A pacer whose time advances only by `pass`. */
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

/** Resolves once all immediate reactions have run. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** A child process that a test controls. */
class FakeProcess extends EventEmitter {
  readonly received: SupervisorMessage["type"][] = []
  readonly pid: number | undefined
  connected = true
  isResponding = true
  killSignal: NodeJS.Signals | null = null

  constructor(pid: number | undefined) {
    super()
    this.pid = pid
    this.connected = pid !== undefined
  }

  readonly send = (message: SupervisorMessage): boolean => {
    this.received.push(message.type)
    if (message.type === "ping" && this.isResponding) this.emitMessage({ type: "pong" })
    return true
  }
  readonly kill = (signal: NodeJS.Signals): boolean => {
    this.killSignal = signal
    this.exit(signal)
    return true
  }
  readonly emitMessage = (message: WorkerMessage) => void this.emit("message", message)
  readonly becomeReady = (): void => {
    this.emitMessage({ type: "loaded" })
    this.emitMessage({ type: "ready" })
  }
  readonly exit = (signal: NodeJS.Signals | null = null): void => {
    this.connected = false
    this.emit("exit", signal === null ? 0 : null, signal)
  }
}

interface PoolFixture {
  readonly pool: WorkerPool
  readonly forked: readonly FakeProcess[]
  /** The process that was forked last. */
  readonly last: () => FakeProcess
  readonly pass: (ms: number) => Promise<void>
  readonly warnings: readonly string[]
  readonly stop: AbortController
  /** Creates the process of each fork from now on; may throw. */
  forks: () => FakeProcess
}

function openPoolFixture(count: number): PoolFixture {
  const { pacer, pass } = openTestPacer()
  const forked: FakeProcess[] = []
  const warnings: string[] = []
  const stop = new AbortController()
  const fork = () => {
    const one = fixture.forks()
    forked.push(one)
    return partialFake<ChildProcess>(one)
  }
  const log = { info: () => undefined, warn: (message: string) => void warnings.push(message) }
  const assignmentOf = (number: number, isRestart: boolean) =>
    ({ type: "assignment", number, isRestart }) as ReturnType<
      ConstructorParameters<typeof WorkerPool>[0]["assignmentOf"]
    >
  const exits = process.listeners("exit")
  const pool = new WorkerPool({ count, pacer, log, signal: stop.signal, fork, assignmentOf })
  onTestFinished(() => {
    for (const one of process.listeners("exit")) if (!exits.includes(one)) process.off("exit", one)
  })
  const fixture: PoolFixture = {
    pool,
    forked,
    pass,
    warnings,
    stop,
    last: () => forked.at(-1) as FakeProcess,
    forks: () => new FakeProcess(forked.length + 1),
  }
  return fixture
}

async function openServing(count: number): Promise<PoolFixture> {
  const fixture = openPoolFixture(count)
  const started = fixture.pool.start()
  for (let number = 1; number <= count; number++) {
    await settled()
    fixture.forked[number - 1]?.becomeReady()
  }
  expect(await started).toBe(true)
  return fixture
}

/** Routes a connection to this process. @returns the process that received it; null for none */
async function routeTo({ pool, forked }: PoolFixture, number: number): Promise<number | null> {
  const before = forked.map(({ received }) => received.length)
  const start = { name: "any", workerNumber: null, head: Buffer.from("") }
  const socket = partialFake<Socket>({ destroyed: false, destroy: () => undefined })
  void pool.routeConnection({ ...start, workerNumber: number }, socket)
  await settled()
  const to = forked.findIndex(({ received }, i) => received.slice(before[i]).includes("connection"))
  if (to !== -1) forked[to]?.emitMessage({ type: "received" })
  return to === -1 ? null : to + 1
}

it("starts the first process before the others", async () => {
  const { pool, forked } = openPoolFixture(3)
  const started = pool.start()
  await settled()
  expect(forked.map(({ received }) => received)).toEqual([["assignment"]])
  forked[0]?.emitMessage({ type: "ready" })
  await settled()
  expect(forked).toHaveLength(3)
  for (const one of forked.slice(1)) one.emitMessage({ type: "ready" })
  expect(await started).toBe(true)
})

it("aborts the start on a stop, starts no more processes, and waits for the running ones", async () => {
  const { pool, forked, stop } = openPoolFixture(3)
  const started = pool.start()
  await settled()
  forked[0]?.emitMessage({ type: "loaded" })
  stop.abort()
  expect(await started).toBe(false)
  const stopped = pool.stop(5_000)
  const [first] = forked
  expect(first?.received).toEqual(["assignment", "stop"])
  // It finished its start at this moment.
  first?.emitMessage({ type: "ready" })
  await settled()
  expect(forked).toHaveLength(1)
  first?.exit()
  expect(await stopped).toEqual([])
})

it("kills processes that have not begun yet immediately on a stop", async () => {
  const { pool, forked, stop } = openPoolFixture(3)
  const started = pool.start()
  await settled()
  forked[0]?.becomeReady()
  await settled()
  stop.abort()
  expect(await started).toBe(false)
  const stopped = pool.stop(5_000)
  expect(forked.map(({ killSignal }) => killSignal)).toEqual([null, "SIGKILL", "SIGKILL"])
  expect(forked[0]?.received.at(-1)).toBe("stop")
  forked[0]?.exit()
  expect(await stopped).toEqual([])
})

it("does not restart a process that ends during a stop", async () => {
  const fixture = await openServing(2)
  fixture.stop.abort()
  fixture.forked[0]?.exit("SIGKILL")
  await fixture.pass(60_000)
  expect(fixture.forked).toHaveLength(2)
  expect(fixture.warnings).toEqual([])
})

it("kills processes that did not stop in time, and names them", async () => {
  const { pool, forked, pass } = await openServing(2)
  const stopped = pool.stop(5_000)
  forked[0]?.exit()
  await pass(5_000)
  expect(await stopped).toEqual(["process 2"])
  expect(forked.map(({ killSignal }) => killSignal)).toEqual([null, "SIGKILL"])
})

it("restarts a process that does not respond for a minute, with a warning", async () => {
  const { forked, pass, warnings, last } = await openServing(2)
  await pass(600_000)
  expect(warnings).toEqual([])
  const hung = forked[1] as FakeProcess
  hung.isResponding = false
  await pass(50_000)
  expect(hung.killSignal).toBe(null)
  await pass(20_000)
  expect(hung.killSignal).toBe("SIGKILL")
  expect(warnings).toEqual([
    "process 2 does not respond; killing it",
    "process 2 was ended by SIGKILL; restarting it",
  ])
  expect(forked).toHaveLength(3)
  expect(last().received).toEqual(["assignment"])
  expect(forked[0]?.killSignal).toBe(null)
})

it("routes no connections to a process while it does not respond", async () => {
  const fixture = await openServing(2)
  const slow = fixture.forked[1] as FakeProcess
  expect(await routeTo(fixture, 2)).toBe(2)
  slow.isResponding = false
  await fixture.pass(20_000)
  // No other process can answer for its metrics.
  expect(await routeTo(fixture, 2)).toBe(null)
  slow.isResponding = true
  slow.emitMessage({ type: "pong" })
  expect(await routeTo(fixture, 2)).toBe(2)
  await fixture.pass(600_000)
  expect(slow.killSignal).toBe(null)
})

it("keeps connections waiting until a process serves, even if several die before that", async () => {
  const fixture = await openServing(1)
  fixture.last().exit("SIGKILL")
  await fixture.pass(1_000)
  expect(await routeTo(fixture, 1)).toBe(null)
  fixture.last().exit("SIGKILL")
  await fixture.pass(1_000)
  expect(fixture.forked).toHaveLength(3)
  fixture.last().becomeReady()
  await settled()
  expect(fixture.last().received).toContain("connection")
})

it("does not check processes that do not serve yet, because a start may take long", async () => {
  const { pool, forked, pass } = openPoolFixture(1)
  const started = pool.start()
  await pass(600_000)
  expect(forked[0]?.received).toEqual(["assignment"])
  forked[0]?.emitMessage({ type: "ready" })
  expect(await started).toBe(true)
})

it("retries a failed fork until it succeeds, and serves meanwhile", async () => {
  const fixture = await openServing(2)
  let isLost = false
  void fixture.pool.lost.then(() => (isLost = true))
  const forks = fixture.forks
  fixture.forks = () => {
    const none = new FakeProcess(undefined)
    setImmediate(() => none.emit("error", new Error("spawn EAGAIN")))
    // Sending a message to it fails as well.
    setImmediate(() => none.emit("error", new Error("channel closed")))
    return none
  }
  fixture.forked[1]?.exit("SIGKILL")
  await settled()
  for (let i = 0; i < 10; i++) await fixture.pass(2_000)
  fixture.forks = () => {
    throw new Error("spawn ENOMEM")
  }
  for (let i = 0; i < 10; i++) await fixture.pass(2_000)
  expect(fixture.warnings).toContain("process 2 could not be started (spawn EAGAIN); trying again")
  expect(fixture.warnings.at(-1)).toMatch(/^process 2 could not be started .*ENOMEM/)
  expect(isLost).toBe(false)
  expect(await routeTo(fixture, 1)).toBe(1)
  fixture.forks = forks
  await fixture.pass(2_000)
  fixture.last().emitMessage({ type: "ready" })
  expect(await routeTo(fixture, 2)).toBe(fixture.forked.length)
})

it("fails to start if the first process cannot be forked", async () => {
  const fixture = openPoolFixture(2)
  fixture.forks = () => {
    throw new Error("spawn ENOMEM")
  }
  await expect(fixture.pool.start()).rejects.toMatchObject({
    name: "StartupFault",
    message: "process 1 could not be started (Error: spawn ENOMEM).",
  })
})

it("gives up after a process ends five times in a row right after its start", async () => {
  const { pool, pass, last } = await openServing(1)
  for (let i = 0; i < 5; i++) {
    last().exit("SIGSEGV")
    await pass(1_000)
    last().emitMessage({ type: "ready" })
    await settled()
  }
  expect(await pool.lost).toBe("process 1 was ended by SIGSEGV")
})

it.each([
  [1, 1, 1],
  [2, 1, 2],
  [3, 1, 3],
  [8, 4, 8],
])(
  "uses half of %d cores if the program runs PostgreSQL itself, and all otherwise",
  (cores, own, elsewhere) => {
    expect(workerCountFor(cores, { databaseUrl: null })).toBe(own)
    expect(workerCountFor(cores, { databaseUrl: "postgres://db.test/ledger" })).toBe(elsewhere)
  },
)
