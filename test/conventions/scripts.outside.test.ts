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

/** Writes a file into the folder with a modification time in seconds. */
function write(path: string, text: string, seconds: number): void {
  mkdirSync(join(folder, "node_modules"), { recursive: true })
  writeFileSync(join(folder, path), text)
  utimesSync(join(folder, path), seconds, seconds)
}

describe("isInstallNeeded", () => {
  const lock = "package-lock.json"
  const record = "node_modules/.package-lock.json"
  const stamp = "node_modules/.stamp"

  it("is false without a lock file", () => {
    expect(isInstallNeeded(folder)).toBe(false)
  })

  it("is true without node_modules", () => {
    writeFileSync(join(folder, lock), "{}")
    expect(isInstallNeeded(folder)).toBe(true)
  })

  it("is true after an interrupted install", () => {
    write(lock, "{}", 100)
    write("node_modules/left.js", "", 200)
    expect(isInstallNeeded(folder)).toBe(true)
  })

  it("is false if npm's record is as new as the lock file", () => {
    write(lock, "{}", 101)
    write(record, "{}", 100)
    expect(isInstallNeeded(folder)).toBe(false)
  })

  it("is true if the lock file is newer than npm's record", () => {
    write(lock, "{}", 200)
    write(record, "{}", 100)
    expect(isInstallNeeded(folder)).toBe(true)
  })

  it("is false if npm's record is newer than the stamp, as after a manual install", () => {
    write(lock, "{}", 300)
    write(stamp, "another lock file", 200)
    write(record, "{}", 300)
    expect(isInstallNeeded(folder)).toBe(false)
  })

  it("is true if the stamp belongs to another lock file", () => {
    write(lock, "{}", 100)
    write(record, "{}", 200)
    write(stamp, "another lock file", 201)
    expect(isInstallNeeded(folder)).toBe(true)
  })
})

describe("withLock", () => {
  const lockOf = (): string => join(folder, "lock")

  /** Leaves a lock of another process. */
  function leave(owner: string, beatAt: Date): void {
    mkdirSync(lockOf())
    writeFileSync(join(lockOf(), "owner"), owner)
    utimesSync(join(lockOf(), "owner"), beatAt, beatAt)
  }

  /** The id of a process that has ended. */
  async function deadPid(): Promise<number> {
    const script = `require("fs").writeFileSync(process.argv[1], String(process.pid))`
    const path = join(folder, "pid")
    await runChild(process.execPath, ["-e", script, path])
    return Number(readFileSync(path, "utf8"))
  }

  it("runs one caller at a time", async () => {
    let running = 0
    const counts: number[] = []
    const work = async (): Promise<void> => {
      running += 1
      counts.push(running)
      await Promise.resolve()
      running -= 1
    }
    await Promise.all([1, 2, 3, 4].map(() => withLock(lockOf(), work)))
    expect(counts).toEqual([1, 1, 1, 1])
    expect(existsSync(lockOf())).toBe(false)
  })

  it("releases the lock if the work fails", async () => {
    const work = (): Promise<void> => Promise.reject(new Error("npm is gone"))
    await expect(withLock(lockOf(), work)).rejects.toThrow("npm is gone")
    expect(existsSync(lockOf())).toBe(false)
  })

  it("takes over the lock of a dead process", async () => {
    leave(`${hostname()} ${await deadPid()}\n`, new Date())
    expect(await withLock(lockOf(), async () => "done")).toBe("done")
    expect(existsSync(lockOf())).toBe(false)
  })

  it("takes over the lock of another machine after a minute without a heartbeat", async () => {
    leave("elsewhere 1\n", new Date(Date.now() - 61_000))
    expect(await withLock(lockOf(), async () => "done")).toBe("done")
  })

  it("waits while one of the lock's processes is alive, and reports that once", async () => {
    leave(`${hostname()} ${await deadPid()} ${process.pid}\n`, new Date())
    let reports = 0
    const onWait = (): void => {
      reports += 1
      rmSync(lockOf(), { recursive: true })
    }
    expect(await withLock(lockOf(), async () => "done", onWait)).toBe("done")
    expect(reports).toBe(1)
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

  it("is the packaged one, then the system's if it is new enough", () => {
    expect(nodeCandidates("packaged", "system", "24.1.0")).toEqual(["packaged", "system"])
    expect(nodeCandidates("packaged", "system", "20.1.0")).toEqual(["packaged"])
    expect(nodeCandidates(null, "system", "22.18.0")).toEqual(["system"])
    expect(nodeCandidates(null, "system", "20.1.0")).toEqual([])
  })

  it("passes the exit code on, or 128 + n for signal n", async () => {
    expect(await runChild(process.execPath, ["-e", "process.exit(7)"])).toBe(7)
    const kill = "process.kill(process.pid, 'SIGKILL')"
    expect(await runChild(process.execPath, ["-e", kill])).toBe(137)
  })
})

describe("the last line of a run", () => {
  it("counts a runner that could not report as a failure", () => {
    expect(lastLine(countsOf(null, 0))).toBe("0 passed, 1 failed, 0 skipped")
  })

  it("counts a runner that failed after its tests passed as a failure", () => {
    const report = JSON.stringify({ passed: 3, failed: 0, skipped: [] })
    expect(lastLine(countsOf(report, 1))).toBe("3 passed, 1 failed, 0 skipped")
    expect(lastLine(countsOf(report, 0))).toBe("3 passed, 0 failed, 0 skipped")
  })

  it("otherwise has the reporter's counts", () => {
    const skipped = [{ name: "a", reason: "no chromium here" }]
    const report = JSON.stringify({ passed: 3, failed: 2, skipped })
    expect(lastLine(countsOf(report, 1))).toBe("3 passed, 2 failed, 1 skipped")
  })
})

describe("npm run test:deep", () => {
  const deepFiles = readTree(["test"], [".ts"])
    .filter(({ path }) => !/^test\/(conventions|support)\//.test(path))
    .filter(({ text }) => /LEDGER_DEEP|\bfailpointLinesToTry\(/.test(text))
    .map(({ path }) => path)

  it("runs exactly the folders with deep suites", () => {
    const folderOf = (path: string) => DEEP_SUITES.find((suite) => path.startsWith(`${suite}/`))
    expect(deepFiles.filter((path) => folderOf(path) === undefined)).toEqual([])
    expect([...new Set(deepFiles.map(folderOf))].toSorted()).toEqual(DEEP_SUITES.toSorted())
  })
})
