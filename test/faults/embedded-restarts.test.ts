/** When the embedded PostgreSQL is restarted, and when the program gives up. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import type {
  EmbeddedPostgres,
  EmbeddedPostgresExit,
} from "../../adapters/postgres/embedded/start-embedded.ts"
import { superviseEmbedded } from "../../src/bootstrap/open/host-environment.ts"
import { EventLogFile, EventLog } from "../support/eventstoredb-server/log.ts"
import { newSignal } from "../support/signal.ts"

const log = { info: () => undefined, warn: () => undefined }

/** The signal of a program that is not stopped. */
const { signal: running } = new AbortController()

/** PostgreSQL servers that end when a test says so; each has the next port. */
function postgresOn(ports: readonly number[]) {
  const started: { readonly die: () => void; readonly stops: () => number }[] = []
  const { notify, until } = newSignal()
  const start = async (): Promise<EmbeddedPostgres> => {
    const port = ports[started.length]
    if (port === undefined) throw new Error("the disk is gone")
    const exit = Promise.withResolvers<EmbeddedPostgresExit>()
    let stops = 0
    started.push({
      die: () => exit.resolve({ isRequested: false, lastLines: ["PANIC"] }),
      stops: () => stops,
    })
    // The caller that started it continues first.
    setImmediate(notify)
    return {
      url: `postgres://127.0.0.1:${port}/ledger`,
      port,
      pid: 1,
      version: "18.4",
      exited: exit.promise,
      stop: async () => {
        stops += 1
        exit.resolve({ isRequested: true, lastLines: [] })
      },
    }
  }
  const dieInTurn = async (count: number): Promise<void> => {
    for (let died = 0; died < count; died += 1) {
      await until(() => started.length > died)
      started[died]?.die()
    }
  }
  return { started, start, until, dieInTurn }
}

it("restarts it at the same address, and stops the running one", async () => {
  const { started, start, until, dieInTurn } = postgresOn([5, 5, 5])
  let elapsed = 0
  const supervised = await superviseEmbedded(start, log, () => (elapsed += 60_000), running)
  await dieInTurn(2)
  await until(() => started.length === 3)
  await supervised.stop()
  expect(started.map(({ stops }) => stops() > 0)).toEqual([false, false, true])
})

it("stops a server whose start is in progress", async () => {
  const { started, start, dieInTurn } = postgresOn([5, 5])
  const gate = Promise.withResolvers<void>()
  const again = Promise.withResolvers<void>()
  const slowStart = async () => {
    if (started.length > 0) {
      again.resolve()
      await gate.promise
    }
    return start()
  }
  const supervised = await superviseEmbedded(slowStart, log, () => 0, running)
  await dieInTurn(1)
  await again.promise
  const stopping = supervised.stop()
  gate.resolve()
  await stopping
  expect(started.map(({ stops }) => stops() > 0)).toEqual([true, true])
})

it("gives up if it cannot be started, and says why it ended", async () => {
  const { start, dieInTurn } = postgresOn([5])
  const supervised = await superviseEmbedded(start, log, () => 0, running)
  await dieInTurn(1)
  expect(await supervised.lost).toMatch(/ended by itself:\nPANIC\n.*the disk is gone/)
})

it("gives up if it restarts at another address, which the connections do not use", async () => {
  const { start, dieInTurn } = postgresOn([5, 6])
  const supervised = await superviseEmbedded(start, log, () => 0, running)
  await dieInTurn(1)
  expect(await supervised.lost).toMatch(/on another port/)
})

it.each([
  ["gives up after it ended five times in a row within two seconds of its start", 1_999, 5],
  ["continues if it runs for two seconds or longer", 2_000, 6],
])("%s", async (_name, livesMs, starts) => {
  const { started, start, until } = postgresOn([5, 5, 5, 5, 5, 5])
  let elapsed = 0
  const supervised = await superviseEmbedded(start, log, () => elapsed, running)
  for (let died = 0; died < 5; died += 1) {
    await until(() => started.length > died)
    elapsed += livesMs
    started[died]?.die()
  }
  if (starts === 5) expect(await supervised.lost).toBe("PostgreSQL ended by itself:\nPANIC")
  await until(() => started.length >= starts)
  await supervised.stop()
  expect(started).toHaveLength(starts)
})

it("does not restart it once the program is stopping", async () => {
  const { started, start, dieInTurn } = postgresOn([5, 5])
  const stop = new AbortController()
  const supervised = await superviseEmbedded(start, log, () => 0, stop.signal)
  stop.abort()
  await dieInTurn(1)
  expect(await supervised.lost).toMatch(/ended by itself:\nPANIC\nIt is not restarted/)
  await supervised.stop()
  expect(started).toHaveLength(1)
})

it("aborts a restart in progress when the program stops", async () => {
  const { start, dieInTurn } = postgresOn([5])
  const stop = new AbortController()
  const { signal } = stop
  const slowStart = async (again: boolean) => {
    if (!again) return start()
    queueMicrotask(() => stop.abort())
    return new Promise<never>((_, fail) => {
      signal.addEventListener("abort", () => fail(signal.reason as Error))
    })
  }
  const supervised = await superviseEmbedded(slowStart, log, () => 0, signal)
  await dieInTurn(1)
  expect(await supervised.lost).toMatch(/PANIC\nIt is not restarted/)
  await supervised.stop()
})

function logPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "journal-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, "journal")
}

const event = (id: string) => {
  const contentType = "application/json"
  return {
    id,
    type: "Tested",
    contentType,
    data: Buffer.from('{"ü":1}'),
    metadata: Buffer.of(0, 255),
  }
}

it("reloads the records of an event log at the same positions, and appends after them", () => {
  const path = logPath()
  const first = new EventLog(new EventLogFile(path))
  first.append("one", "no_stream", [event("a"), event("b")])
  first.appendInTransaction("two", [event("c")])
  first.append("one", 1, [event("d")])
  const second = new EventLog(new EventLogFile(path))
  expect(second.records).toEqual(first.records)
  expect(second.append("one", 1, [event("d")])).toEqual(first.append("one", 1, [event("d")]))
  expect(second.append("one", 2, [event("e")])).toEqual(first.append("one", 2, [event("e")]))
})

it("discards only a record that was truncated while it was written", () => {
  const path = logPath()
  const first = new EventLog(new EventLogFile(path))
  first.append("one", "no_stream", [event("a")])
  const complete = readFileSync(path, "utf8")
  appendFileSync(path, complete.slice(0, 40))
  const second = new EventLog(new EventLogFile(path))
  expect(second.records).toEqual(first.records)
  expect(readFileSync(path, "utf8")).toBe(complete)
  second.append("one", 0, [event("b")])
  expect(new EventLog(new EventLogFile(path)).records).toEqual(second.records)
})
