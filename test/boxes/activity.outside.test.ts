/** What was done in a box: by whom, the newest first, and for nobody's eyes once the company is erased. */
import { describe, expect, it } from "vitest"
import type { Sealed } from "../../domain/kernel/ids.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { Company, World } from "../support/world.ts"
import { BOXES, makeBoxCompany, boxWorld, running } from "./boxes-world.ts"
import { makeKey } from "../support/company.ts"
import { advance } from "../support/world.ts"

const one = await boxWorld()
const { world } = one

const eventsOf = async ({ key }: Pick<Company, "key">, boxId: BoxId) =>
  (await world.call(key, "GET", `${BOXES}/${boxId}/events`)).body.events
const exec = ({ key }: Pick<Company, "key">, boxId: BoxId, command: string) =>
  world.call(key, "POST", `${BOXES}/${boxId}/exec`, { body: { command } })

/** As the journal has them. */
const keptOf = ({ companyId }: Company, boxId: BoxId) =>
  world.ports.journal
    .of<{ readonly detail: Sealed | null }>({ slice: "boxes", kind: "activity", most: 200 })
    .newest(companyId, boxId, 200)

describe("the activity of a box", () => {
  it("has all that changes something, with its key and what came of it", async () => {
    const company = await makeBoxCompany(one)
    const boxId = await running(world, company)
    const { ownerId: person } = company
    const other = await makeKey(world, company, { person })
    const url = `${BOXES}/${boxId}`
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
      // Who only looks leaves nothing.
      ["GET", "/files"],
      ["GET", "/files/content?path=README.md"],
      ["GET", "/processes"],
      ["GET", "/processes/proc_1/logs"],
      ["GET", "/events"],
      ["GET", ""],
    ]
    for (const [method, path, body] of done) {
      await world.call(company.key, method, url + path, body === undefined ? {} : { body })
    }
    await world.call(other.key, "POST", `${url}/stop`)
    const events = await eventsOf(company, boxId)
    const shown = events.map(({ action, detail, result, apiKeyId }: Record<string, string>) => [
      action,
      detail,
      result,
      apiKeyId === company.keyId ? "own" : apiKeyId,
    ])
    expect(shown.toReversed()).toEqual([
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
    // Again it stops nothing, and nothing is said of it.
    await world.call(company.key, "POST", `${url}/stop`)
    expect(await eventsOf(company, boxId)).toHaveLength(events.length)
  })

  it("is the newest 200, each detail not longer than what says what it is", async () => {
    const company = await makeBoxCompany(one)
    const boxId = await running(world, company)
    for (let i = 0; i < 203; i += 1) await exec(company, boxId, `echo ${i}`)
    const long = `echo ${"\u{1f600}".repeat(2_000)}`
    await exec(company, boxId, long)
    const events = await eventsOf(company, boxId)
    expect(events).toHaveLength(200)
    expect([events[1].detail, events[199].detail]).toEqual(["echo 202", "echo 4"])
    const { detail } = events[0]
    expect(detail.isWellFormed() && long.startsWith(detail.slice(0, -1))).toBe(true)
    expect([[...detail].length, detail.at(-1)]).toEqual([1_000, "…"])
  })

  it("is sealed where it is kept, and nobody's after the company's erasure", async () => {
    const company = await makeBoxCompany(one)
    const boxId = await running(world, company)
    await exec(company, boxId, "echo hidden-word")
    const [kept] = await keptOf(company, boxId)
    const sealed = kept?.content.detail ?? ("" as Sealed)
    expect(JSON.stringify(kept)).not.toContain("hidden-word")
    const { sealing } = world.ports
    expect(await sealing.open(company.companyId, sealed)).toBe("echo hidden-word")
    await world.operate("company delete", { company: company.companyId })
    await advance(world, "15d")
    expect(await keptOf(company, boxId)).toEqual([])
    expect(await sealing.open(company.companyId, sealed)).toBeNull()
  })
})
