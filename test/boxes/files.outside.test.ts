/** Files of boxes through the API, with any names and bytes, and requirements of a start. */
import { randomBytes } from "node:crypto"
import { describe, expect, it } from "vitest"
import { makeCompany, spentMicrosOf } from "../support/world.ts"
import {
  BOXES_PATH,
  makeBoxCompany,
  ownSandboxBoxWorld,
  startBoxAndWait,
  requestBox,
} from "./box-world.ts"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { releaseSlot, reserveSlot } from "../../src/boxes/box-slots.ts"
import { writeBundle, git, makeWorkingCopy } from "../code/git.ts"

const one = await ownSandboxBoxWorld()
const { world } = one
const company = await makeBoxCompany(one)
const boxId = await startBoxAndWait(world, company)

const call = (method: "GET" | "PUT" | "DELETE", path: string, body?: object) =>
  world.call(
    company.key,
    method,
    `${BOXES_PATH}/${boxId}/files${path}`,
    body === undefined ? {} : { body },
  )
const queryOf = (params: Readonly<Record<string, string>>) =>
  `?${String(new URLSearchParams(params))}`
const write = (path: string, content: string, more: object = {}) =>
  call("PUT", "/content", { path, content, ...more })
const read = (path: string, more: Readonly<Record<string, string>> = {}) =>
  call("GET", `/content${queryOf({ path, ...more })}`)
const remove = (path: string) => call("DELETE", `/content${queryOf({ path })}`)
const list = (params: Readonly<Record<string, string>> = {}) => call("GET", queryOf(params))
const namesIn = async (params: Readonly<Record<string, string>>): Promise<readonly string[]> =>
  (await list(params)).body.files.map(({ name }: { name: string }) => name)

describe("a file", () => {
  it("is written, read unchanged, replaced and deleted", async () => {
    expect(await write("notes/today.md", "# Hello\n")).toMatchObject({
      status: 200,
      body: { ok: true, path: "notes/today.md" },
    })
    const shown = { path: "notes/today.md", content: "# Hello\n", encoding: "utf-8" }
    expect((await read("notes/today.md")).body).toEqual(shown)
    await write("/workspace/repo/notes/today.md", "")
    expect((await read("notes/../notes/today.md")).body.content).toBe("")
    expect((await remove("notes/today.md")).body).toEqual({ ok: true, path: "notes/today.md" })
    expect(await read("notes/today.md")).toMatchObject({
      status: 404,
      body: { error: "not_found" },
    })
    expect((await remove("notes/today.md")).status).toBe(404)
  })

  it("has the bytes of its base64, and cannot be read as text if they are not UTF-8", async () => {
    const bytes = Buffer.concat([randomBytes(1_000), Buffer.of(0xff, 0xfe, 0x00)])
    const text = bytes.toString("base64")
    const inLines = (end: string) => text.replaceAll(/.{76}/g, (line) => `${line}${end}`) + end
    for (const content of [text, text.replace(/=+$/, ""), inLines("\r\n"), inLines("\n")]) {
      expect((await write("bytes", content, { encoding: "base64" })).status).toBe(200)
      const back = await read("bytes", { encoding: "base64" })
      expect(back.body).toEqual({
        path: "bytes",
        encoding: "base64",
        content: bytes.toString("base64"),
      })
    }
    const latin = Buffer.from("caf\xe9", "latin1").toString("base64")
    await write("latin", latin, { encoding: "base64" })
    expect(await read("latin")).toMatchObject({
      status: 400,
      body: { error: "validation", fields: { encoding: expect.stringContaining("base64") } },
    })
    expect((await read("latin", { encoding: "base64" })).body.content).toBe(latin)
    await write("sign", "what \ufffd stands for\n")
    expect((await read("sign")).body.content).toBe("what \ufffd stands for\n")
    for (const content of ["a", "a===", "a b=", "ab=c", "_-8="]) {
      const refused = await write("bytes", content, { encoding: "base64" })
      expect([content, refused.status, refused.body.fields]).toEqual([
        content,
        400,
        { content: "Must be base64." },
      ])
    }
  })

  it("keeps a byte order mark and its line ends", async () => {
    const text = "\ufeffone\r\ntwo\u2028three\0four"
    await write("marked", text)
    expect((await read("marked")).body.content).toBe(text)
  })

  it.for([
    "with space",
    "-rf",
    "--",
    "quote'\"`$(echo hi)",
    "new\nline",
    "tab\tname",
    "ünï/😀",
    "percent%2F",
    "#hash?query&and=so",
    "\\back\\slash",
    "*",
    "a/./b",
    "x".repeat(255),
  ])("may have the name %j", async (path) => {
    expect((await write(path, path)).body).toEqual({ ok: true, path })
    expect((await read(path)).body).toEqual({ path, content: path, encoding: "utf-8" })
    expect((await remove(path)).body).toEqual({ ok: true, path })
    expect((await read(path)).status).toBe(404)
  })

  it("has at most 5,000,000 characters", async () => {
    const [plain, wide] = ["a".repeat(5_000_000), "\u{1f600}".repeat(2_600_000)]
    for (const content of [plain, wide]) {
      expect((await write("large", content)).status).toBe(200)
      expect((await read("large")).body.content === content).toBe(true)
    }
    const bytes = randomBytes(3_750_000).toString("base64")
    expect((await write("large", bytes, { encoding: "base64" })).status).toBe(200)
    const back = await read("large", { encoding: "base64" })
    expect(back.body.content === bytes).toBe(true)
    const refused = await write("large", `${plain}b`)
    expect(refused).toMatchObject({ status: 400, body: { error: "validation" } })
    expect(Object.keys(refused.body.fields)).toEqual(["content"])
    // A file that a command wrote may be larger; only commands can read it.
    const half = "b".repeat(4_999_999)
    await write("part", half)
    const body = { command: `cat ${"part ".repeat(5)} > whole` }
    await world.call(company.key, "POST", `${BOXES_PATH}/${boxId}/exec`, { body })
    expect(await read("whole")).toMatchObject({ status: 413, body: { error: "too_large" } })
  })

  it.for([
    ["PUT", { content: "a" }, "path"],
    ["PUT", { path: "", content: "a" }, "path"],
    ["PUT", { path: "x".repeat(1_001), content: "a" }, "path"],
    ["PUT", { path: "a\0b", content: "a" }, "path"],
    ["PUT", { path: "a" }, "content"],
    ["PUT", { path: "a", content: "\ud800" }, "content"],
    ["PUT", { path: "a", content: "a", encoding: "latin1" }, "encoding"],
  ] as const)("is rejected outside of the limits: %#", async ([method, body, field]) => {
    const refused = await call(method, "/content", body)
    expect(refused).toMatchObject({ status: 400, body: { error: "validation" } })
    expect(Object.keys(refused.body.fields)).toEqual([field])
  })

  it("cannot be a folder, or be inside of another file", async () => {
    await write("folder/file", "a")
    const refusals = [
      await read("folder"),
      await write("folder", "a"),
      await write("folder/", "a"),
      await remove("folder"),
      await write("folder/file/below", "a"),
      await list({ path: "folder/file" }),
    ]
    for (const { status, body } of refusals) {
      expect([status, body.error, Object.keys(body.fields)]).toEqual([400, "validation", ["path"]])
    }
    expect((await list({ path: "nowhere" })).status).toBe(404)
    expect((await read("x".repeat(1_001))).status).toBe(400)
    expect((await call("GET", "/content")).status).toBe(400)
  })
})

describe("a folder", () => {
  it("is listed by name with types and sizes, and with hidden files only on request", async () => {
    await write("shown/b", "12345")
    await write("shown/.hidden", "")
    await write("shown/a/deep", "")
    await write("shown/B", "")
    const { body } = await list({ path: "shown" })
    expect(body.path).toBe("shown")
    expect(body.files).toEqual([
      {
        name: "B",
        path: "shown/B",
        type: "file",
        size: 0,
        modifiedAt: expect.any(String) as string,
      },
      {
        name: "a",
        path: "shown/a",
        type: "directory",
        size: expect.any(Number) as number,
        modifiedAt: expect.any(String) as string,
      },
      {
        name: "b",
        path: "shown/b",
        type: "file",
        size: 5,
        modifiedAt: expect.any(String) as string,
      },
    ])
    expect(await namesIn({ path: "shown", hidden: "1" })).toEqual([".hidden", "B", "a", "b"])
    expect((await list({ path: "shown", hidden: "0" })).status).toBe(400)
  })

  it("is the repository by default; listed paths can be read", async () => {
    const { body } = await list()
    expect(body.path).toBe("/workspace/repo")
    const readme = body.files.find(({ name }: { name: string }) => name === "README.md")
    expect(readme.path).toBe("/workspace/repo/README.md")
    expect((await read(readme.path)).body.content).toBe("# Hello\n")
    expect((await list({ path: "/" })).body.files).toContainEqual(
      expect.objectContaining({ name: "workspace", path: "/workspace" }),
    )
    expect((await list({ path: "shown/" })).body.files[0].path).toBe("shown/B")
  })
})

describe("a start", () => {
  it("begins a new branch at the default branch, with any name", async () => {
    const own = await makeCompany(world)
    const copy = makeWorkingCopy(one.folder, { "README.md": "# Trunk\n" })
    git(copy, "branch", "-m", "trunk")
    await world.operate("repository import", {
      company: own.companyId,
      file: writeBundle(copy),
    })
    for (const branch of ["trunk", "main"]) {
      const startedId = await startBoxAndWait(world, own, { branch })
      const path = `${BOXES_PATH}/${startedId}/files/content?path=README.md`
      expect((await world.call(own.key, "GET", path)).body.content).toBe("# Trunk\n")
    }
  })

  it("without a commit in the repository fails with clone_failed, and costs nothing", async () => {
    const own = await makeCompany(world)
    await world.operate("repository create", { company: own.companyId })
    expect(await requestBox(world, own)).toMatchObject({
      status: 502,
      body: { error: "clone_failed", message: expect.stringContaining("no commit") },
    })
    expect(await spentMicrosOf(world, own)).toBe(0)
    const { charges } = await world.operate("charge list", { company: own.companyId })
    expect(charges).toEqual([])
  })

  it("takes a slot that a job frees in the meantime", async () => {
    const own = await makeBoxCompany(one)
    const [first] = [await startBoxAndWait(world, own), await startBoxAndWait(world, own)]
    const { ports } = world
    const runner = Object.create(ports.runner) as typeof ports.runner
    const original = ports.runner.execute.bind(ports.runner)
    const execute = async (...args: Parameters<typeof original>) => {
      const done = await original(...args)
      if (!done.accepted) await releaseSlot(ports, own.companyId, first, causedBy("test"))
      return done
    }
    Object.assign(runner, { execute })
    const id: BoxId = `box_${"0".repeat(22)}`
    expect(await reserveSlot({ ...ports, runner }, own.companyId, id, causedBy("test"))).toBeNull()
    for (const box of [first, id]) await releaseSlot(ports, own.companyId, box, causedBy("test"))
  })

  it("takes the slot of a box that was just stopped or deleted, or has ended", async () => {
    const own = await makeBoxCompany(one)
    const { companyId, key } = own
    const boxes = [await startBoxAndWait(world, own), await startBoxAndWait(world, own)] as const
    expect((await requestBox(world, own)).status).toBe(429)
    const ends = [
      () => world.call(key, "POST", `${BOXES_PATH}/${boxes[0]}/stop`),
      () => world.call(key, "DELETE", `${BOXES_PATH}/${boxes[1]}`),
    ]
    const started: BoxId[] = []
    for (const end of ends) {
      expect((await end()).status).toBe(200)
      const next = await requestBox(world, own)
      expect(next.status).toBe(201)
      started.push(next.body.id)
    }
    const [startedId] = started as [BoxId]
    const timeCap = { type: "StopBox", boxId: startedId, reason: "time_cap" } as const
    const command = { ...timeCap, keyId: null, personId: null }
    await world.ports.runner.execute(boxStreamOf(companyId, startedId), command, causedBy("test"))
    expect((await requestBox(world, own)).status).toBe(201)
    expect((await requestBox(world, own)).status).toBe(429)
  })
})
