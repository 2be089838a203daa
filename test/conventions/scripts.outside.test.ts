import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { isInstallNeeded, withLock } from "../../bin/install.mjs"
import { nodeCandidates, isAtLeast, runChild } from "../../bin/node.mjs"
import { countsOf, DEEP_SUITES, lastLine } from "../../bin/suite.mjs"
import { readTree } from "./source-tree.ts"

let folder = ""

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "scripts-"))
})

afterEach(() => rmSync(folder, { recursive: true }))

/** Writes a file of the folder as if at a second of the clock. */
function write(path: string, text: string, seconds: number): void {
  mkdirSync(join(folder, "node_modules"), { recursive: true })
  writeFileSync(join(folder, path), text)
  utimesSync(join(folder, path), seconds, seconds)
}

describe("isInstallNeeded", () => {
  const lock = "package-lock.json"
  const record = "node_modules/.package-lock.json"
  const stamp = "node_modules/.stamp"

  it("asks for nothing without a lock file", () => {
    expect(isInstallNeeded(folder)).toBe(false)
  })

  it("asks for an install without node_modules", () => {
    writeFileSync(join(folder, lock), "{}")
    expect(isInstallNeeded(folder)).toBe(true)
  })

  it("asks for an install after one that was cut short", () => {
    write(lock, "{}", 100)
    write("node_modules/left.js", "", 200)
    expect(isInstallNeeded(folder)).toBe(true)
  })

  it("believes npm's record when it is as new as the lock file", () => {
    write(lock, "{}", 101)
    write(record, "{}", 100)
    expect(isInstallNeeded(folder)).toBe(false)
  })

  it("asks for an install when the lock file is newer than npm's record", () => {
    write(lock, "{}", 200)
    write(record, "{}", 100)
    expect(isInstallNeeded(folder)).toBe(true)
  })

  it("believes a record that npm wrote after the stamp, by hand", () => {
    write(lock, "{}", 300)
    write(stamp, "another lock file", 200)
    write(record, "{}", 300)
    expect(isInstallNeeded(folder)).toBe(false)
  })

  it("asks for an install when the stamp is another lock file's", () => {
    write(lock, "{}", 100)
    write(record, "{}", 200)
    write(stamp, "another lock file", 201)
    expect(isInstallNeeded(folder)).toBe(true)
  })
})

describe("withLock", () => {
  const lockOf = (): string => join(folder, "lock")

  /** A lock that somebody else left. */
  function leave(owner: string, beatAt: Date): void {
    mkdirSync(lockOf())
    writeFileSync(join(lockOf(), "owner"), owner)
    utimesSync(join(lockOf(), "owner"), beatAt, beatAt)
  }

  /** A process id that nobody has: one of a process that has ended. */
  async function deadPid(): Promise<number> {
    const script = `require("fs").writeFileSync(process.argv[1], String(process.pid))`
    const path = join(folder, "pid")
    await runChild(process.execPath, ["-e", script, path])
    return Number(readFileSync(path, "utf8"))
  }

  it("lets one in at a time, whoever comes", async () => {
    let inside = 0
    const most: number[] = []
    const work = async (): Promise<void> => {
      inside += 1
      most.push(inside)
      await Promise.resolve()
      inside -= 1
    }
    await Promise.all([1, 2, 3, 4].map(() => withLock(lockOf(), work)))
    expect(most).toEqual([1, 1, 1, 1])
    expect(existsSync(lockOf())).toBe(false)
  })

  it("gives the lock back when the work fails", async () => {
    const work = (): Promise<void> => Promise.reject(new Error("npm is gone"))
    await expect(withLock(lockOf(), work)).rejects.toThrow("npm is gone")
    expect(existsSync(lockOf())).toBe(false)
  })

  it("takes over from a process that is gone", async () => {
    leave(`${hostname()} ${await deadPid()}\n`, new Date())
    expect(await withLock(lockOf(), async () => "done")).toBe("done")
    expect(existsSync(lockOf())).toBe(false)
  })

  it("takes over from a machine that gave no sign of life for a minute", async () => {
    leave("elsewhere 1\n", new Date(Date.now() - 61_000))
    expect(await withLock(lockOf(), async () => "done")).toBe("done")
  })

  it("waits while one of its processes lives, and says so once", async () => {
    leave(`${hostname()} ${await deadPid()} ${process.pid}\n`, new Date())
    let told = 0
    const onWait = (): void => {
      told += 1
      rmSync(lockOf(), { recursive: true })
    }
    expect(await withLock(lockOf(), async () => "done", onWait)).toBe("done")
    expect(told).toBe(1)
  })
})

describe("the Node that runs the program", () => {
  it.for([
    ["22.17.9", false],
    ["22.18.0", true],
    ["20.20.2", false],
    ["24.0.0", true],
  ] as const)("compares %s with 22.18", ([version, answer]) => {
    expect(isAtLeast(version, [22, 18])).toBe(answer)
  })

  it("is the one that came with the packages, then the system's if it is new enough", () => {
    expect(nodeCandidates("brought", "own", "24.1.0")).toEqual(["brought", "own"])
    expect(nodeCandidates("brought", "own", "20.1.0")).toEqual(["brought"])
    expect(nodeCandidates(null, "own", "22.18.0")).toEqual(["own"])
    expect(nodeCandidates(null, "own", "20.1.0")).toEqual([])
  })

  it("hands on the exit code, and 128 + n for signal n", async () => {
    expect(await runChild(process.execPath, ["-e", "process.exit(7)"])).toBe(7)
    const kill = "process.kill(process.pid, 'SIGKILL')"
    expect(await runChild(process.execPath, ["-e", kill])).toBe(137)
  })
})

describe("the last line of a run", () => {
  it("counts a runner that could not report as a failure", () => {
    expect(lastLine(countsOf(null, 0))).toBe("0 passed, 1 failed, 0 skipped")
  })

  it("counts a runner that broke after its tests passed as a failure", () => {
    const report = JSON.stringify({ passed: 3, failed: 0, skipped: [] })
    expect(lastLine(countsOf(report, 1))).toBe("3 passed, 1 failed, 0 skipped")
    expect(lastLine(countsOf(report, 0))).toBe("3 passed, 0 failed, 0 skipped")
  })

  it("leaves the reporter's counts as they are otherwise", () => {
    const skipped = [{ name: "a", reason: "no chromium here" }]
    const report = JSON.stringify({ passed: 3, failed: 2, skipped })
    expect(lastLine(countsOf(report, 1))).toBe("3 passed, 2 failed, 1 skipped")
  })
})

describe("npm run test:deep", () => {
  const goesDeep = readTree(["test"], [".ts"])
    .filter(({ path }) => !/^test\/(conventions|support)\//.test(path))
    .filter(({ text }) => /LEDGER_DEEP|\bfailpointLinesToTry\(/.test(text))
    .map(({ path }) => path)

  it("runs every suite that can go deep, and no folder without one", () => {
    const folderOf = (path: string) => DEEP_SUITES.find((suite) => path.startsWith(`${suite}/`))
    expect(goesDeep.filter((path) => folderOf(path) === undefined)).toEqual([])
    expect([...new Set(goesDeep.map(folderOf))].toSorted()).toEqual(DEEP_SUITES.toSorted())
  })
})
