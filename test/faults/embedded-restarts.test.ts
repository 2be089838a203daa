/** When the embedded PostgreSQL is started again, and when that is given up. */
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

/** Of a program that nobody stops. */
const { signal: running } = new AbortController()

/** PostgreSQLs that end when they are told to; each has the next of the ports. */
function postgresOn(ports: readonly number[]) {
  const started: { readonly dies: () => void; readonly stops: () => number }[] = []
  const { notify, until } = newSignal()
  const start = async (): Promise<EmbeddedPostgres> => {
    const port = ports[started.length]
    if (port === undefined) throw new Error("the disk is gone")
    const exit = Promise.withResolvers<EmbeddedPostgresExit>()
    let stops = 0
    started.push({
      dies: () => exit.resolve({ isRequested: false, lastLines: ["PANIC"] }),
      stops: () => stops,
    })
    // Who started it goes on first.
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
      started[died]?.dies()
    }
  }
  return { started, start, until, dieInTurn }
}

it("starts it again at the same address, and stops the one that runs", async () => {
  const { started, start, until, dieInTurn } = postgresOn([5, 5, 5])
  let elapsed = 0
  const kept = await superviseEmbedded(start, log, () => (elapsed += 60_000), running)
  await dieInTurn(2)
  await until(() => started.length === 3)
  await kept.stop()
  expect(started.map(({ stops }) => stops() > 0)).toEqual([false, false, true])
})

it("ends the one that is just being started where it is stopped meanwhile", async () => {
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
  const kept = await superviseEmbedded(slowStart, log, () => 0, running)
  await dieInTurn(1)
  await again.promise
  const stopping = kept.stop()
  gate.resolve()
  await stopping
  expect(started.map(({ stops }) => stops() > 0)).toEqual([true, true])
})

it("gives up where it cannot be started, and says why it ended", async () => {
  const { start, dieInTurn } = postgresOn([5])
  const kept = await superviseEmbedded(start, log, () => 0, running)
  await dieInTurn(1)
  expect(await kept.lost).toMatch(/ended by itself:\nPANIC\n.*the disk is gone/)
})

it("gives up where it comes back at another address, which nobody here knows", async () => {
  const { start, dieInTurn } = postgresOn([5, 6])
  const kept = await superviseEmbedded(start, log, () => 0, running)
  await dieInTurn(1)
  expect(await kept.lost).toMatch(/on another port/)
})

it.each([
  ["gives up after the fifth ending in a row that comes within two seconds", 1_999, 5],
  ["goes on where it lives longer than that", 2_000, 6],
])("%s", async (_name, livesMs, starts) => {
  const { started, start, until } = postgresOn([5, 5, 5, 5, 5, 5])
  let elapsed = 0
  const kept = await superviseEmbedded(start, log, () => elapsed, running)
  for (let died = 0; died < 5; died += 1) {
    await until(() => started.length > died)
    elapsed += livesMs
    started[died]?.dies()
  }
  if (starts === 5) expect(await kept.lost).toBe("PostgreSQL ended by itself:\nPANIC")
  await until(() => started.length >= starts)
  await kept.stop()
  expect(started).toHaveLength(starts)
})

it("starts none any more once the program is to stop", async () => {
  const { started, start, dieInTurn } = postgresOn([5, 5])
  const stop = new AbortController()
  const kept = await superviseEmbedded(start, log, () => 0, stop.signal)
  stop.abort()
  await dieInTurn(1)
  expect(await kept.lost).toMatch(/ended by itself:\nPANIC\nIt is not restarted/)
  await kept.stop()
  expect(started).toHaveLength(1)
})

it("gives up the start that is under way then", async () => {
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
  const kept = await superviseEmbedded(slowStart, log, () => 0, signal)
  await dieInTurn(1)
  expect(await kept.lost).toMatch(/PANIC\nIt is not restarted/)
  await kept.stop()
})

function journalPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "journal-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, "journal")
}

const event = (id: string) => {
  const contentType = "application/json"
  return {
    id,
    type: "Told",
    contentType,
    data: Buffer.from('{"ü":1}'),
    metadata: Buffer.of(0, 255),
  }
}

it("has the same records at the same places, and goes on behind them", () => {
  const path = journalPath()
  const first = new EventLog(new EventLogFile(path))
  first.append("one", "no_stream", [event("a"), event("b")])
  first.appendInTransaction("two", [event("c")])
  first.append("one", 1, [event("d")])
  const second = new EventLog(new EventLogFile(path))
  expect(second.records).toEqual(first.records)
  expect(second.append("one", 1, [event("d")])).toEqual(first.append("one", 1, [event("d")]))
  expect(second.append("one", 2, [event("e")])).toEqual(first.append("one", 2, [event("e")]))
})

it("leaves out what was cut off while it was written, and that alone", () => {
  const path = journalPath()
  const first = new EventLog(new EventLogFile(path))
  first.append("one", "no_stream", [event("a")])
  const whole = readFileSync(path, "utf8")
  appendFileSync(path, whole.slice(0, 40))
  const second = new EventLog(new EventLogFile(path))
  expect(second.records).toEqual(first.records)
  expect(readFileSync(path, "utf8")).toBe(whole)
  second.append("one", 0, [event("b")])
  expect(new EventLog(new EventLogFile(path)).records).toEqual(second.records)
})
