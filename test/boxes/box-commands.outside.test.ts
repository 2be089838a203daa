/** Commands in boxes through the API: permissions, states of the box, and limits. */
import { describe, expect, it } from "vitest"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { ApiAnswer, World } from "../support/world.ts"
import {
  BOXES_PATH,
  makeBoxCompany,
  ownSandboxBoxWorld,
  startBoxAndWait,
  getBox,
  requestBox,
} from "./box-world.ts"
import { makeKey } from "../support/company.ts"

const one = await ownSandboxBoxWorld()
const { world } = one
const company = await makeBoxCompany(one)
const boxId = await startBoxAndWait(world, company)

type Method = Parameters<World["call"]>[1]

/** Calls a route of a box, by default as its person. */
const ask = (method: Method, path: string, body?: object, { key, id = boxId } = ownBox()) =>
  world.call(key, method, `${BOXES_PATH}/${id}${path}`, body === undefined ? {} : { body })
const ownBox = (): { readonly key: string; readonly id?: BoxId } => ({ key: company.key })
const exec = (command: string, more: object = {}): Promise<ApiAnswer> =>
  ask("POST", "/exec", { command, ...more })

/** Every route for work in a box. */
const WORK: readonly (readonly [Method, string, object?])[] = [
  ["POST", "/exec", { command: "true" }],
  ["POST", "/processes", { command: "true" }],
  ["GET", "/processes"],
  ["GET", "/processes/proc_1/logs"],
  ["DELETE", "/processes/proc_1"],
  ["GET", "/files"],
  ["GET", "/files/content?path=README.md"],
  ["PUT", "/files/content", { path: "a", content: "b" }],
  ["DELETE", "/files/content?path=nothing"],
  ["POST", "/previews", { port: 3_000 }],
  ["DELETE", "/previews/3000"],
  ["POST", "/push", { message: "More" }],
]

/** The key of another person of the company. */
async function keyOf(role: string): Promise<string> {
  return (await makeKey(world, company, { role })).key
}

const codesOf = async (key: string, id = boxId): Promise<ReadonlySet<string>> => {
  const answers: string[] = []
  for (const [method, path, body] of WORK) {
    const { status, body: answered } = await ask(method, path, body, { key, id })
    answers.push(`${status} ${answered.error}`)
  }
  return new Set(answers)
}

describe("a box's person", () => {
  it("is the only one who may work in it", async () => {
    const [admin, developer] = [await keyOf("admin"), await keyOf("developer")]
    expect(await codesOf(admin)).toEqual(new Set(["403 not_allowed"]))
    expect(await codesOf(developer)).toEqual(new Set(["404 not_found"]))
    const stranger = await makeBoxCompany(one)
    expect(await codesOf(stranger.key)).toEqual(new Set(["404 not_found"]))
    // Refused calls leave no activity.
    const { events } = (await ask("GET", "/events")).body
    expect(events.map(({ action }: { action: string }) => action)).toEqual(["start"])
  })

  it("shares it with owner and admin, who may see, stop and delete it; others get 404", async () => {
    const [admin, developer] = [await keyOf("admin"), await keyOf("developer")]
    const theirs = await startBoxAndWait(world, { key: developer }, { label: "theirs" })
    const others: readonly (readonly [Method, string])[] = [
      ...([["GET", ""] as const, ["GET", "/events"] as const] as const),
      ...([["POST", "/stop"] as const, ["DELETE", ""] as const] as const),
    ]
    for (const [method, path] of others) {
      const refused = await ask(method, path, undefined, { key: developer })
      expect([method, path, refused.status]).toEqual([method, path, 404])
    }
    const idsOf = async (key: string, query: string) => {
      const { body } = await world.call(key, "GET", `${BOXES_PATH}${query}`)
      return new Set(body.boxes.map(({ id }: { id: string }) => id))
    }
    expect(await idsOf(developer, "?all=1")).toEqual(new Set([theirs]))
    expect(await idsOf(admin, "")).toEqual(new Set())
    expect(await idsOf(admin, "?all=1")).toEqual(new Set([theirs, boxId]))
    expect(await idsOf(company.key, "?all=true")).toEqual(new Set([theirs, boxId]))
    expect(await idsOf(company.key, "")).toEqual(new Set([boxId]))
    expect(await getBox(world, { key: admin }, theirs)).toMatchObject({ label: "theirs" })
    expect((await ask("POST", "/stop", undefined, { key: admin, id: theirs })).status).toBe(200)
    const events = await ask("GET", "/events", undefined, { key: company.key, id: theirs })
    expect(events.body.events[0]).toMatchObject({ action: "stop", result: "stopped" })
    const removed = await ask("DELETE", "", undefined, { key: company.key, id: theirs })
    expect(removed.body).toEqual({ ok: true })
    await world.operate("wait")
  })
})

describe("a call to a box", () => {
  it("is rejected before the box runs and after it stopped", async () => {
    await world.operate("simulator set", { name: "boxhost", outcome: "unavailable" })
    const started = await requestBox(world, company)
    expect(started.body.error).toBe("box_unavailable")
    await world.operate("simulator set", { name: "boxhost", outcome: "ok" })
    const { boxHost } = world.ports
    const released = Promise.withResolvers<null>()
    const host: { start: typeof boxHost.start } = boxHost
    const { start } = host
    host.start = async (plan) => {
      await released.promise
      return start(plan)
    }
    const { id } = (await requestBox(world, company)).body
    expect(await codesOf(company.key, id)).toEqual(new Set(["409 box_starting"]))
    host.start = start
    released.resolve(null)
    await world.operate("wait")
    expect((await ask("POST", "/exec", { command: "true" }, { key: company.key, id })).status).toBe(
      200,
    )
    await ask("POST", "/stop", undefined, { key: company.key, id })
    expect(await codesOf(company.key, id)).toEqual(new Set(["409 box_stopped"]))
    await world.operate("wait")
  })

  it("fails if the box stops during a command", async () => {
    const id = await startBoxAndWait(world, company)
    const caller = { key: company.key, id }
    const ran = ask("POST", "/exec", { command: "sleep infinity" }, caller)
    const isBusy = async () => (await (await world.ports.boxHost.find(id))?.readHealth())?.isBusy
    await expect.poll(isBusy).toBe(true)
    await ask("POST", "/stop", undefined, caller)
    expect(await ran).toMatchObject({ status: 409, body: { error: "box_stopped" } })
    const { events } = (await ask("GET", "/events", undefined, caller)).body
    const event = { action: "exec", detail: "sleep infinity", result: "the box ended" }
    expect(events).toContainEqual(expect.objectContaining(event))
    await world.operate("wait")
  })

  it("fails with box_unavailable if the machine is silent, and with box_stopped if it is gone", async () => {
    const id = await startBoxAndWait(world, company)
    const caller = { key: company.key, id }
    for (const outcome of ["unavailable", "silent"]) {
      await world.operate("simulator set", { name: "boxhost", outcome, times: 1 })
      const refused = await ask("POST", "/exec", { command: "true" }, caller)
      expect(refused).toMatchObject({ status: 503, body: { error: "box_unavailable" } })
      expect(refused.headers["retry-after"]).toBe("60")
    }
    await world.operate("simulator set", { name: "boxhost", outcome: "lost", times: 1 })
    expect((await ask("POST", "/exec", { command: "true" }, caller)).body.error).toBe("box_stopped")
    await world.operate("simulator set", { name: "boxhost", outcome: "ok" })
    await ask("POST", "/stop", undefined, caller)
    await world.operate("wait")
  })
})

describe("a command", () => {
  it("returns exit code and output, and runs in the repository or in cwd", async () => {
    expect((await exec("echo hi; pwd")).body).toEqual({
      exitCode: 0,
      success: true,
      stdout: "hi\n/workspace/repo\n",
      stderr: "",
    })
    expect((await exec("exit 7")).body).toMatchObject({ exitCode: 7, success: false })
    const unknown = await exec("nothing-known")
    expect(unknown.body).toMatchObject({ exitCode: 127, stderr: expect.stringContaining("found") })
    await exec("mkdir -p sub/folder")
    for (const cwd of ["sub/folder", "/workspace/repo/sub/folder", "sub/../sub/folder/"]) {
      expect((await exec("pwd", { cwd })).body.stdout).toBe("/workspace/repo/sub/folder\n")
    }
    const nowhere = await exec("pwd", { cwd: "nowhere" })
    expect(nowhere).toMatchObject({ status: 400, body: { error: "validation" } })
  })

  it("is ended at its timeout", async () => {
    const ran = await exec("echo begun; sleep 3600", { timeoutMs: 1_000 })
    expect(ran).toMatchObject({
      status: 200,
      body: { exitCode: 124, success: false, stdout: "begun\n" },
    })
  })

  it.for([
    [{ command: "" }, "command"],
    [{ command: "x".repeat(10_001) }, "command"],
    [{ command: "echo \0" }, "command"],
    [{ command: "echo \ud800" }, "command"],
    [{}, "command"],
    [{ command: "true", timeoutMs: 999 }, "timeoutMs"],
    [{ command: "true", timeoutMs: 600_001 }, "timeoutMs"],
    [{ command: "true", timeoutMs: 1_000.5 }, "timeoutMs"],
    [{ command: "true", cwd: "x".repeat(1_001) }, "cwd"],
    [{ command: "true", cwd: "/no/such/folder" }, "cwd"],
  ] as const)("is rejected outside of the limits: %#", async ([body, field]) => {
    const refused = await ask("POST", "/exec", body)
    expect(refused).toMatchObject({ status: 400, body: { error: "validation" } })
    expect(Object.keys(refused.body.fields)).toEqual([field])
  })

  it("may be as long as the limit, and its output is truncated", async () => {
    const long = `echo ${"\u{1f600}".repeat(9_995)}`
    const result = await exec(long, { timeoutMs: 600_000 })
    expect(result.body.stdout).toBe(`${"\u{1f600}".repeat(9_995)}\n`)
    const content = (text: string) => ask("PUT", "/files/content", { path: "big", content: text })
    const whole = "\u{1f600}".repeat(200_000)
    await content(whole)
    expect((await exec("cat big")).body.stdout === whole).toBe(true)
    for (const more of ["b", "b".repeat(700_000)]) {
      await content(whole + more)
      const characters = [...(await exec("cat big")).body.stdout]
      const says = "\n[truncated: at most 200,000 characters are shown]\n"
      expect([characters.length, characters.slice(-says.length).join("")]).toEqual([200_000, says])
      expect(characters[characters.length - says.length - 1]).toBe("\u{1f600}")
    }
  })
})

describe("a background command", () => {
  it("is listed, writes a log, and ends when it is deleted", async () => {
    const begun = await ask("POST", "/processes", { command: "echo up; sleep 600", cwd: "sub" })
    expect(begun).toMatchObject({
      status: 200,
      body: { command: "echo up; sleep 600", status: "running" },
    })
    const { id, pid } = begun.body
    expect(Object.keys(begun.body).toSorted()).toEqual(["command", "id", "pid", "status"])
    const ended = await ask("POST", "/processes", { command: "exit 3" })
    const logs = async () => (await ask("GET", `/processes/${id}/logs`)).body
    await expect.poll(logs).toEqual({ stdout: "up\n", stderr: "" })
    const listed = async () => (await ask("GET", "/processes")).body.processes
    await expect.poll(listed).toMatchObject([
      { id, pid, status: "running", exitCode: null },
      { id: ended.body.id, status: "exited", exitCode: 3 },
    ])
    expect((await ask("DELETE", `/processes/${id}`)).body).toEqual({ ok: true })
    expect((await ask("DELETE", `/processes/${id}`)).body).toEqual({ ok: true })
    expect(await listed()).toMatchObject([{ id, status: "exited", exitCode: 137 }, {}])
    expect(await logs()).toMatchObject({ stdout: "up\n" })
  })

  it("reports output that is not UTF-8, like a foreground command", async () => {
    const ran = async (command: string) => (await ask("POST", "/exec", { command })).body
    expect(await ran("printf 'caf\\351'")).toEqual({
      exitCode: 0,
      success: true,
      stdout: "caf\ufffd",
      stderr: "",
      replacedBytes: true,
    })
    expect(await ran("echo 'what \ufffd stands for'")).not.toHaveProperty("replacedBytes")
    const { body } = await ask("POST", "/processes", { command: "printf 'caf\\351'" })
    const logs = async () => (await ask("GET", `/processes/${body.id}/logs`)).body
    await expect.poll(logs).toEqual({ stdout: "caf\ufffd", stderr: "", replacedBytes: true })
  })

  it("is rejected with a conflict beyond the limit", async () => {
    const busy = { key: company.key, id: await startBoxAndWait(world, company) }
    for (let i = 0; i < 32; i += 1) {
      const begun = await ask("POST", "/processes", { command: "sleep 600" }, busy)
      expect(begun.status).toBe(200)
    }
    const refused = await ask("POST", "/processes", { command: "sleep 600" }, busy)
    expect(refused).toMatchObject({ status: 409, body: { error: "conflict" } })
    await ask("POST", "/stop", undefined, busy)
  })

  it("is 404 for an unknown process, and 400 outside of the limits", async () => {
    for (const [method, path] of [["GET", "/logs"] as const, ["DELETE", ""] as const]) {
      expect((await ask(method, `/processes/proc_99${path}`)).body.error).toBe("not_found")
    }
    for (const body of [{ command: "" }, { command: "true", cwd: "nowhere" }]) {
      expect((await ask("POST", "/processes", body)).body.error).toBe("validation")
    }
  })
})
