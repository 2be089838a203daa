/** The operations on boxes, their metrics, and their activity log. */
import { describe, expect, it } from "vitest"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { boxOperations } from "../../src/boxes/operate/boxes.ts"
import { advance, makeKey } from "../support/world.ts"
import { BOXES_PATH, makeBoxCompany, ownBoxWorld, startBoxAndWait } from "./box-world.ts"
import type { SealedText } from "../../domain/kernel/ids.ts"
import type { Company, World } from "../support/world.ts"

const PLAIN = { isTTY: false, columns: 200 }

const one = await ownBoxWorld()
const { world } = one
const company = await makeBoxCompany(one)

function shown(name: string, result: object): string {
  const { render } = boxOperations.find((operation) => operation.name === name) ?? {}
  if (render === undefined) throw new Error(`${name} has no rendering`)
  return render(result, PLAIN)
}

describe("box list", () => {
  it("has one line per box, the newest first, including ended ones", async () => {
    const { companyId } = company
    const none = await world.operate("box list", { company: companyId })
    expect(shown("box list", none)).toBe("No boxes.\n")
    const first = await startBoxAndWait(world, company, { label: "Fix it" })
    await world.call(company.key, "POST", `${BOXES_PATH}/${first}/stop`)
    await world.operate("clock advance", { duration: "1s" })
    const second = await startBoxAndWait(world, company)
    const listed = await world.operate("box list", { company: companyId })
    expect(listed.boxes).toMatchObject([
      { id: second, status: "running", companyId, personId: company.ownerId },
      { id: first, status: "stopped", stopReason: "stopped", keyId: company.keyId },
    ])
    const [head, ...lines] = shown("box list", listed).trimEnd().split("\n")
    expect(head?.split(/ {2,}/)).toEqual([
      "id",
      "size",
      "status",
      "stop reason",
      "created at",
      "minutes",
      "dollars",
      "label",
    ])
    expect(lines.map((line) => line.split(/ {2,}/).filter((cell) => cell !== "-"))).toEqual([
      [second, "small", "running", expect.stringMatching(/Z$/), "1", "0.002"],
      [first, "small", "stopped", "stopped", expect.stringMatching(/Z$/), "1", "0.002", "Fix it"],
    ])
    const newest = await world.operate("box list", { company: companyId, limit: 1 })
    expect(newest.boxes).toMatchObject([{ id: second }])
    await world.operate("box stop", { boxId: second })
    await world.operate("wait")
  })
})

describe("box show and box stop", () => {
  it("show a box with its machine, and stop it without a key or person", async () => {
    const boxId = await startBoxAndWait(world, company)
    const { companyId } = company
    expect(await world.operate("box show", { boxId })).toMatchObject({
      id: boxId,
      companyId,
      status: "running",
      machine: { isBusy: false, network: "slirp", leaseLeftMs: expect.any(Number) as number },
    })
    const stopped = { id: boxId, status: "stopped", stopReason: "stopped" }
    expect(await world.operate("box stop", { boxId })).toMatchObject(stopped)
    expect(await world.operate("box stop", { boxId })).toMatchObject(stopped)
    await world.operate("wait")
    const after = await world.operate("box show", { boxId })
    expect(after).toMatchObject({ ...stopped, machine: null })
  })

  it("fail for an unknown box", async () => {
    for (const name of ["box show", "box stop"]) {
      for (const boxId of ["nonsense", "box_4Zb0x7", company.companyId]) {
        await expect(world.operate(name, { boxId })).rejects.toThrow(`There is no box ${boxId}.`)
      }
    }
  })
})

describe("box sweep", () => {
  it("ends machines without a box and no others, and counts them in the metrics", async () => {
    const running = await startBoxAndWait(world, company)
    const boxId: BoxId = `box_${"0".repeat(22)}`
    await world.ports.boxHost.start({
      boxId,
      companyId: company.companyId,
      size: "small",
      leaseMs: 60_000,
      environment: {},
    })
    expect(await world.operate("box sweep")).toEqual({ machines: 1, ended: [boxId] })
    expect(await world.operate("box sweep")).toEqual({ machines: 1, ended: [] })
    expect(await world.ports.boxHost.listBoxes()).toEqual([running])
    const { body } = await world.call(null, "GET", "/metrics")
    const lines = body.split("\n").filter((line: string) => line.startsWith("ledger_box"))
    expect(lines.toSorted()).toEqual([
      "ledger_box_orphans_total 1",
      "ledger_box_start_seconds_total 0",
      'ledger_box_starts_total{result="made"} 4',
      'ledger_boxes{status="running"} 1',
      'ledger_boxes{status="stopped"} 3',
    ])
    await world.call(company.key, "DELETE", `${BOXES_PATH}/${running}`)
  })
})

const eventsOf = async ({ key }: Pick<Company, "key">, boxId: BoxId) =>
  (await world.call(key, "GET", `${BOXES_PATH}/${boxId}/events`)).body.events
const exec = ({ key }: Pick<Company, "key">, boxId: BoxId, command: string) =>
  world.call(key, "POST", `${BOXES_PATH}/${boxId}/exec`, { body: { command } })

const entriesOf = ({ companyId }: Company, boxId: BoxId) =>
  world.ports.activityLog
    .of<{ readonly detail: SealedText | null }>({
      slice: "boxes",
      kind: "activity",
      maxEntries: 200,
    })
    .newest(companyId, boxId, 200)

describe("the activity of a box", () => {
  it("has every change with its key and result", async () => {
    const own = await makeBoxCompany(one)
    const boxId = await startBoxAndWait(world, own)
    const { ownerId: person } = own
    const other = await makeKey(world, own, { person })
    const url = `${BOXES_PATH}/${boxId}`
    const done: readonly (readonly [Parameters<World["call"]>[1], string, object?])[] = [
      ["POST", "/exec", { command: "exit 3" }],
      ["POST", "/exec", { command: "sleep 60", timeoutMs: 1_000 }],
      ["POST", "/processes", { command: "serve 3000" }],
      ["DELETE", "/processes/proc_1"],
      ["PUT", "/files/content", { path: "a", content: "äb" }],
      ["PUT", "/files/content", { path: "/workspace", content: "a" }],
      ["DELETE", "/files/content?path=a"],
      ["DELETE", "/files/content?path=a"],
      ["POST", "/previews", { port: 3_000 }],
      ["POST", "/previews", { port: 3_000 }],
      ["DELETE", "/previews/3000"],
      ["POST", "/push", { message: "More" }],
      // Reading leaves no entry.
      ["GET", "/files"],
      ["GET", "/files/content?path=README.md"],
      ["GET", "/processes"],
      ["GET", "/processes/proc_1/logs"],
      ["GET", "/events"],
      ["GET", ""],
    ]
    for (const [method, path, body] of done) {
      await world.call(own.key, method, url + path, body === undefined ? {} : { body })
    }
    await world.call(other.key, "POST", `${url}/stop`)
    const events = await eventsOf(own, boxId)
    const rows = events.map(({ action, detail, result, apiKeyId }: Record<string, string>) => [
      action,
      detail,
      result,
      apiKeyId === own.keyId ? "own" : apiKeyId,
    ])
    expect(rows.toReversed()).toEqual([
      ["start", null, "started", "own"],
      ["exec", "exit 3", "exit 3", "own"],
      ["exec", "sleep 60", "timed out", "own"],
      ["start_process", "serve 3000", "process proc_1", "own"],
      ["stop_process", "proc_1", "stopped", "own"],
      ["write_file", "a", "3 bytes", "own"],
      ["write_file", "/workspace", "folder", "own"],
      ["delete_file", "a", "deleted", "own"],
      ["delete_file", "a", "missing", "own"],
      ["open_preview", "3000", "open", "own"],
      ["close_preview", "3000", "closed", "own"],
      ["push", "More", "nothing", "own"],
      ["stop", null, "stopped", other.keyId],
    ])
    // A second stop leaves no entry.
    await world.call(own.key, "POST", `${url}/stop`)
    expect(await eventsOf(own, boxId)).toHaveLength(events.length)
  })

  it("has the newest 200 entries, with details of at most 1,000 characters", async () => {
    const own = await makeBoxCompany(one)
    const boxId = await startBoxAndWait(world, own)
    for (let i = 0; i < 203; i += 1) await exec(own, boxId, `echo ${i}`)
    const long = `echo ${"\u{1f600}".repeat(2_000)}`
    await exec(own, boxId, long)
    const events = await eventsOf(own, boxId)
    expect(events).toHaveLength(200)
    expect([events[1].detail, events[199].detail]).toEqual(["echo 202", "echo 4"])
    const { detail } = events[0]
    expect(detail.isWellFormed() && long.startsWith(detail.slice(0, -1))).toBe(true)
    expect([[...detail].length, detail.at(-1)]).toEqual([1_000, "…"])
  })

  it("is sealed in the store, and unreadable after the company's erasure", async () => {
    const own = await makeBoxCompany(one)
    const boxId = await startBoxAndWait(world, own)
    await exec(own, boxId, "echo hidden-word")
    const [entry] = await entriesOf(own, boxId)
    const sealed = entry?.content.detail ?? ("" as SealedText)
    expect(JSON.stringify(entry)).not.toContain("hidden-word")
    const { sealing } = world.ports
    expect(await sealing.unseal(own.companyId, sealed)).toBe("echo hidden-word")
    await world.operate("company delete", { company: own.companyId })
    await advance(world, "15d")
    expect(await entriesOf(own, boxId)).toEqual([])
    expect(await sealing.unseal(own.companyId, sealed)).toBeNull()
  })
})
