import { chmod, mkdir, readFile, readdir, stat, symlink, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { openOutFile } from "../../src/frame/operator/cli/out-file.ts"
import { type AdminContext, OperatorRefused } from "../../src/frame/operator/operation.ts"
import { fakeHost, fakeOperation, runTestCommand, testFolder } from "./fake-host.ts"

const RESULT = { lines: 2, fundsChangeMicros: 1_500_000, state: "open", head: "a1" }

const exporting = (work: (context: AdminContext) => Promise<unknown>) =>
  fakeHost([fakeOperation("export billing", work)])

const twoLines = exporting(async ({ send }) => {
  await send("a,b\n")
  await send("1,2\n")
  return RESULT
})

const words = (out: string, ...more: readonly string[]) => [
  "export",
  "billing",
  "--company",
  "acme",
  "--month",
  "2026-11",
  "--format",
  "csv",
  "--out",
  out,
  ...more,
]

describe("export billing --out", () => {
  it("writes the whole file and prints a summary", async () => {
    const folder = await testFolder()
    const path = join(folder, "bill.csv")
    const ran = await runTestCommand(words(path), twoLines)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toContain("funds change: $1.50\n")
    expect(await readFile(path, "utf8")).toBe("a,b\n1,2\n")
    const json = await runTestCommand(words(path, "--json"), twoLines)
    expect(JSON.parse(json.stdout)).toEqual({ ...RESULT, file: path })
    expect(await readdir(folder)).toEqual(["bill.csv"])
  })

  it("replaces the target of a link, and keeps its mode", async () => {
    const folder = await testFolder()
    await mkdir(join(folder, "kept"))
    const path = join(folder, "kept", "bill.csv")
    await writeFile(path, "old")
    await chmod(path, 0o600)
    await symlink(path, join(folder, "link.csv"))
    expect((await runTestCommand(words(join(folder, "link.csv")), twoLines)).code).toBe(0)
    expect(await readFile(path, "utf8")).toBe("a,b\n1,2\n")
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await readdir(folder)).toSorted()).toEqual(["kept", "link.csv"])
  })

  it("removes temporary files of killed commands, and none that may still be in use", async () => {
    const folder = await testFolder()
    const old = ".bill.csv.0123456789ab.tmp"
    const young = ".bill.csv.0123456789ac.tmp"
    const others = [
      ".bill.csv.notes.tmp",
      ".bill.csv.old.0123456789ab.tmp",
      ".other.0123456789ab.tmp",
    ]
    const yesterday = new Date(Date.now() - 86_400_000)
    for (const name of [old, young, ...others]) {
      await writeFile(join(folder, name), "a secret")
      if (name !== young) await utimes(join(folder, name), yesterday, yesterday)
    }
    expect((await runTestCommand(words(join(folder, "bill.csv")), twoLines)).code).toBe(0)
    expect((await readdir(folder)).toSorted()).toEqual(["bill.csv", young, ...others].toSorted())
  })

  it("gives a file with personal data mode 600, even when it replaces another file", async () => {
    const folder = await testFolder()
    const host = fakeHost([fakeOperation("company export", async () => RESULT)])
    for (const mode of [null, 0o644]) {
      const path = join(folder, `acme-${mode}.ndjson`)
      if (mode !== null) await writeFile(path, "old", { mode })
      expect((await runTestCommand(["company", "export", "acme", "--out", path], host)).code).toBe(
        0,
      )
      expect((await stat(path)).mode & 0o777).toBe(0o600)
    }
  })

  it("does not show the file before it is complete", async () => {
    const folder = await testFolder()
    const seen: string[][] = []
    const host = exporting(async ({ send }) => {
      await send("a,b\n")
      seen.push((await readdir(folder)).filter((name) => !name.startsWith(".")))
      return RESULT
    })
    expect((await runTestCommand(words(join(folder, "bill.csv")), host)).code).toBe(0)
    expect(seen).toEqual([[]])
  })

  it.each(["rejection", "fault", "interruption"])(
    "leaves nothing behind after a %s",
    async (end) => {
      const folder = await testFolder()
      const path = join(folder, "bill.csv")
      await writeFile(path, "old")
      const abort = new AbortController()
      const host = exporting(async ({ send }) => {
        await send("half")
        if (end === "rejection") throw new OperatorRefused("conflict", "It changed.")
        if (end === "fault") throw new TypeError("x is undefined")
        abort.abort()
        return RESULT
      })
      const ran = await runTestCommand(words(path), host, abort.signal)
      expect(ran.code).toBe(end === "interruption" ? 130 : 1)
      expect(await readdir(folder)).toEqual(["bill.csv"])
      expect(await readFile(path, "utf8")).toBe("old")
    },
  )

  it("keeps the former file if the interruption comes before the rename", async () => {
    const folder = await testFolder()
    const path = join(folder, "bill.csv")
    await writeFile(path, "old")
    const file = await openOutFile(path)
    await file.write("whole")
    const signal = AbortSignal.abort()
    await expect(file.commit(signal)).rejects.toBe(signal.reason)
    await file.discard()
    expect(await readdir(folder)).toEqual(["bill.csv"])
    expect(await readFile(path, "utf8")).toBe("old")
  })

  it("rejects an unwritable path before it runs the operation", async () => {
    const folder = await testFolder()
    const host = exporting(async () => RESULT)
    for (const out of [folder, join(folder, "gone", "bill.csv"), "/dev/null"]) {
      const ran = await runTestCommand(words(out, "--json"), host)
      expect(ran.code).toBe(1)
      expect(JSON.parse(ran.stdout)).toMatchObject({
        error: "cannot_write",
        message: expect.stringContaining(out),
      })
    }
    expect(host.calls).toEqual([])
  })

  it("shows the system's error, and names a missing folder", async (ctx) => {
    ctx.skip(
      process.platform !== "linux",
      "only Linux has a folder in which no user can create files",
    )
    const host = exporting(async () => RESULT)
    const messageOf = async (out: string) =>
      JSON.parse((await runTestCommand(words(out, "--json"), host)).stdout).message
    expect(await messageOf("/proc/x")).toBe(
      '/proc/x cannot be written: the system says "no such file or directory" (ENOENT).',
    )
    const gone = join(await testFolder(), "gone", "bill.csv")
    expect(await messageOf(gone)).toBe(`${gone} cannot be written: its folder does not exist.`)
  })

  it("writes to standard output for -, and the summary to standard error", async () => {
    const ran = await runTestCommand(words("-"), twoLines)
    expect(ran).toMatchObject({ code: 0, stdout: "a,b\n1,2\n" })
    expect(ran.stderr).toContain("lines: 2\n")
  })
})
