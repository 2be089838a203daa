/** The files of a box that runs the scripts in this machine's shell, and of a simulated box. */
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  listBoxFolder,
  readBoxFile,
  removeBoxFile,
  writeBoxFile,
} from "../../adapters/sandbox/boxhost/box-files.ts"
import type { BoxHandle } from "../../adapters/sandbox/boxhost/port.ts"
import type { ShellBox } from "../support/shell-box.ts"
import { openShellBox } from "../support/shell-box.ts"
import { SAMPLE_BOX_PLAN, openSimulatedBoxes } from "./simulated-boxes.ts"

const MAX_BYTES = 20_000_000

let shell: ShellBox
let simulated: BoxHandle
beforeAll(async () => {
  shell = await openShellBox()
  simulated = await openSimulatedBoxes().host.start(SAMPLE_BOX_PLAN)
})
afterAll(() => shell.clear())

const refused = (reason: string) => ({ ok: false, reason, detail: expect.any(String) })
const namesIn = async (box: BoxHandle, path: string, hidden = true) => {
  const listed = await listBoxFolder(box, path, { hidden })
  return listed.ok ? listed.entries.map(({ name }) => name) : listed
}

const NAMES = [
  "plain",
  "-rf",
  "-",
  "--",
  "a b",
  "a\nb",
  "a\n",
  "a\tb",
  "it's",
  'say "x"',
  "$HOME",
  "`id`",
  "*",
  "\\n",
  "ä",
  "🙂",
  ".hidden",
  "a'; rm -rf ~; '",
  "%s",
  "~",
]

describe.each([
  ["runs the machine's shell", () => shell.box],
  ["is simulated", () => simulated],
] as const)("a box that %s", (_name, boxOf) => {
  it.each(NAMES)("writes, lists, reads and removes a file named %j", async (name) => {
    const box = boxOf()
    const path = `names/${name}`
    const bytes = Buffer.from(`of ${name}`)
    expect(await writeBoxFile(box, path, bytes)).toEqual({ ok: true })
    expect(await namesIn(box, "names")).toEqual([name])
    expect(await readBoxFile(box, path, MAX_BYTES)).toEqual({ ok: true, bytes })
    expect(await removeBoxFile(box, path)).toEqual({ ok: true })
    expect(await namesIn(box, "names")).toEqual([])
  })

  it("accepts a file name in the top folder that looks like an option", async () => {
    const box = boxOf()
    expect(await writeBoxFile(box, "-rf", Buffer.from("x"))).toEqual({ ok: true })
    expect(await readBoxFile(box, "-rf", MAX_BYTES)).toEqual({ ok: true, bytes: Buffer.from("x") })
    expect(await listBoxFolder(box, "-rf", { hidden: false })).toEqual(refused("no-folder"))
    expect(await removeBoxFile(box, "-rf")).toEqual({ ok: true })
    expect(await readBoxFile(box, "-", MAX_BYTES)).toEqual(refused("missing"))
  })

  it("stores bytes unchanged, and replaces all of them", async () => {
    const box = boxOf()
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_none, i) => i % 256))
    for (const content of [bytes, Buffer.alloc(0), bytes.subarray(3)]) {
      expect(await writeBoxFile(box, "bytes", content)).toEqual({ ok: true })
      expect(await readBoxFile(box, "bytes", MAX_BYTES)).toEqual({ ok: true, bytes: content })
    }
  })

  it("lists entries with type and size, and hidden ones only on request", async () => {
    const box = boxOf()
    const before = Date.UTC(2020, 0, 1)
    await writeBoxFile(box, "shown/folder/x", Buffer.from("x"))
    await writeBoxFile(box, "shown/file", Buffer.from("four"))
    await writeBoxFile(box, "shown/.file", Buffer.from(""))
    const listed = await listBoxFolder(box, "shown", { hidden: false })
    const modifiedAt = expect.toSatisfy((ms: number) => Number.isInteger(ms) && ms > before)
    expect(listed).toEqual({
      ok: true,
      isCut: false,
      entries: [
        { name: "file", isReplaced: false, type: "file", size: 4, modifiedAt },
        {
          name: "folder",
          isReplaced: false,
          type: "directory",
          size: expect.any(Number),
          modifiedAt,
        },
      ],
    })
    expect(await namesIn(box, "shown")).toEqual([".file", "file", "folder"])
  })

  it("gives the reason of a rejection", async () => {
    const box = boxOf()
    await writeBoxFile(box, "faults/file", Buffer.from("12345"))
    expect(await readBoxFile(box, "faults", MAX_BYTES)).toEqual(refused("folder"))
    expect(await writeBoxFile(box, "faults", Buffer.from(""))).toEqual(refused("folder"))
    expect(await writeBoxFile(box, "faults/new/", Buffer.from(""))).toEqual(refused("folder"))
    expect(await removeBoxFile(box, "faults")).toEqual(refused("folder"))
    expect(await readBoxFile(box, "faults/none", MAX_BYTES)).toEqual(refused("missing"))
    expect(await readBoxFile(box, "faults/file/x", MAX_BYTES)).toEqual(refused("missing"))
    expect(await removeBoxFile(box, "faults/none")).toEqual(refused("missing"))
    expect(await listBoxFolder(box, "none", { hidden: true })).toEqual(refused("missing"))
    expect(await listBoxFolder(box, "faults/file", { hidden: true })).toEqual(refused("no-folder"))
    expect(await writeBoxFile(box, "faults/file/x", Buffer.from(""))).toEqual(refused("denied"))
    expect(await readBoxFile(box, "faults/file\0", MAX_BYTES)).toEqual(refused("missing"))
    expect(await readBoxFile(box, "faults/file", 4)).toEqual(refused("too-large"))
    expect(await readBoxFile(box, "faults/file", 5)).toMatchObject({ ok: true })
    expect(await namesIn(box, "faults")).toEqual(["file"])
  })

  it("stores and returns a file of 20,000,000 bytes", async () => {
    const box = boxOf()
    const bytes = Buffer.alloc(MAX_BYTES, "0123456789abcdef")
    expect(await writeBoxFile(box, "large", bytes)).toEqual({ ok: true })
    const read = await readBoxFile(box, "large", MAX_BYTES)
    expect(read.ok && bytes.equals(read.bytes)).toBe(true)
    expect(await readBoxFile(box, "large", MAX_BYTES - 1)).toEqual(refused("too-large"))
  })
})

describe("a real file system", () => {
  const at = (name: string) => join(shell.folder, name)

  it("keeps the mode of a replaced file, and creates new files with the box's umask", async () => {
    writeFileSync(at("run.sh"), "old")
    chmodSync(at("run.sh"), 0o750)
    await writeBoxFile(shell.box, "run.sh", Buffer.from("new"))
    expect([statSync(at("run.sh")).mode & 0o777, readFileSync(at("run.sh"), "utf8")]).toEqual([
      0o750,
      "new",
    ])
    await writeBoxFile(shell.box, "fresh", Buffer.from("x"))
    expect(statSync(at("fresh")).mode & 0o777).toBe(0o666 & ~process.umask())
  })

  it("writes through a link, and removes only the link", async () => {
    mkdirSync(at("real"))
    writeFileSync(at("real/target\n"), "old")
    symlinkSync("real/target\n", at("link"))
    expect(await writeBoxFile(shell.box, "link", Buffer.from("new"))).toEqual({ ok: true })
    expect(readFileSync(at("real/target\n"), "utf8")).toBe("new")
    expect(lstatSync(at("link")).isSymbolicLink()).toBe(true)
    symlinkSync("real", at("link-to-folder"))
    expect(await removeBoxFile(shell.box, "link-to-folder")).toEqual({ ok: true })
    expect(await removeBoxFile(shell.box, "link")).toEqual({ ok: true })
    expect(readdirSync(at("real"))).toEqual(["target\n"])
    symlinkSync("nowhere", at("dangling"))
    expect(await readBoxFile(shell.box, "dangling", MAX_BYTES)).toEqual(refused("missing"))
    expect(await removeBoxFile(shell.box, "dangling")).toEqual({ ok: true })
  })

  it("creates a missing repository folder on a write", async () => {
    rmSync(shell.folder, { recursive: true })
    expect(await listBoxFolder(shell.box, "", { hidden: false })).toEqual(refused("missing"))
    expect(await writeBoxFile(shell.box, "a/b", Buffer.from("new"))).toEqual({ ok: true })
    expect(readFileSync(at("a/b"), "utf8")).toBe("new")
  })

  it("rejects pipes and devices", async () => {
    execFileSync("sh", ["-c", 'mkfifo "$1"', "sh", at("pipe")])
    expect(await readBoxFile(shell.box, "pipe", MAX_BYTES)).toEqual(refused("no-file"))
    expect(await writeBoxFile(shell.box, "pipe", Buffer.from("x"))).toEqual(refused("no-file"))
    expect(await removeBoxFile(shell.box, "pipe")).toEqual(refused("no-file"))
    expect(await readBoxFile(shell.box, "/dev/zero", MAX_BYTES)).toEqual(refused("no-file"))
    const listed = await listBoxFolder(shell.box, ".", { hidden: false })
    const types = listed.ok ? listed.entries.map(({ name, type }) => [name, type]) : []
    expect(types).toContainEqual(["pipe", "other"])
  })

  it("leaves only the old file if the input ends early", async () => {
    writeFileSync(at("whole"), "old")
    const torn = {
      ...shell.box,
      run: (argv: readonly string[], options: Parameters<BoxHandle["run"]>[1]) =>
        shell.box.run(argv, { ...options, stdin: (async function* () {})() }),
    }
    expect(await writeBoxFile(torn, "whole", Buffer.from("new"))).toEqual(refused("failed"))
    expect(readFileSync(at("whole"), "utf8")).toBe("old")
    expect(readdirSync(shell.folder).filter((name) => name.startsWith(".write-"))).toEqual([])
  })

  it("lists modification times in milliseconds, even for names with tabs", async () => {
    mkdirSync(at("timed"))
    writeFileSync(at("timed/a\tb\t"), "")
    const seconds = 1_600_000_000.25
    utimesSync(at("timed/a\tb\t"), seconds, seconds)
    const listed = await listBoxFolder(shell.box, "timed", { hidden: false })
    const entry = { name: "a\tb\t", type: "file", size: 0, modifiedAt: seconds * 1_000 }
    expect(listed).toMatchObject({ ok: true, entries: [entry] })
    expect(existsSync(at("timed/a\tb\t"))).toBe(true)
  })

  it("passes on the box's error if a file cannot be written", async () => {
    expect(await writeBoxFile(shell.box, "/proc/nothing/x", Buffer.from("x"))).toMatchObject({
      ok: false,
      reason: "denied",
      detail: expect.stringContaining("/proc/nothing"),
    })
    expect(await writeBoxFile(shell.box, "a".repeat(300), Buffer.from("x"))).toMatchObject({
      ok: false,
      reason: "failed",
      detail: expect.stringContaining("too long"),
    })
  })
})
