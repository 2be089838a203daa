/** The test's server of EventStoreDB with a journal: what it acknowledged is there after a kill. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import { Journal } from "../support/eventstoredb-server/journal.ts"
import { EventLog } from "../support/eventstoredb-server/log.ts"

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
  const first = new EventLog(new Journal(path))
  first.append("one", "no_stream", [event("a"), event("b")])
  first.appendInTransaction("two", [event("c")])
  first.append("one", 1, [event("d")])
  const second = new EventLog(new Journal(path))
  expect(second.records).toEqual(first.records)
  expect(second.append("one", 1, [event("d")])).toEqual(first.append("one", 1, [event("d")]))
  expect(second.append("one", 2, [event("e")])).toEqual(first.append("one", 2, [event("e")]))
})

it("leaves out what was cut off while it was written, and that alone", () => {
  const path = journalPath()
  const log = new EventLog(new Journal(path))
  log.append("one", "no_stream", [event("a")])
  const whole = readFileSync(path, "utf8")
  appendFileSync(path, whole.slice(0, 40))
  const second = new EventLog(new Journal(path))
  expect(second.records).toEqual(log.records)
  expect(readFileSync(path, "utf8")).toBe(whole)
  second.append("one", 0, [event("b")])
  expect(new EventLog(new Journal(path)).records).toEqual(second.records)
})
