/** The systemd unit, its verification by systemd, and the program's notification. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { expect, it, onTestFinished, vi } from "vitest"
import { notifySystemdReady } from "../../adapters/machine/machine.ts"
import { PACKAGE_MANIFEST, SETTING_NAMES, projectText } from "./project-files.ts"

const UNIT = projectText("deploy/systemd/company-ledger.service")
const BOXES = projectText("deploy/systemd/company-ledger.service.d/boxes.conf")

const valuesOf = (unit: string, key: string): readonly string[] =>
  [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, value = ""]) => value)

const isInstalled = (program: string): boolean =>
  spawnSync(program, ["--version"]).error === undefined

it("starts the command of the package, with known settings", () => {
  const [started = ""] = valuesOf(UNIT, "ExecStart")
  expect(started).toMatch(
    new RegExp(`/company-ledger/${PACKAGE_MANIFEST.bin["company-ledger"]} start$`),
  )
  const names = valuesOf(UNIT, "Environment").map((one) => one.split("=")[0] ?? "")
  expect(names).toContain("LEDGER_DATA_DIR")
  expect(names.filter((name) => !SETTING_NAMES.has(name))).toEqual([])
  expect(valuesOf(UNIT, "Environment")).toContain(
    `LEDGER_DATA_DIR=/var/lib/${valuesOf(UNIT, "StateDirectory")[0]}`,
  )
})

it("does not limit a start, which may rebuild read models", () => {
  expect(valuesOf(UNIT, "TimeoutStartSec")).toEqual(["infinity"])
  expect(valuesOf(BOXES, "TimeoutStartSec")).toEqual([])
})

it("gives a stop more than the ten seconds of the program", () => {
  expect(Number(valuesOf(UNIT, "TimeoutStopSec")[0])).toBeGreaterThan(10)
})

it("allows boxes only with the drop-in, and they outlive a stop", () => {
  expect(valuesOf(UNIT, "NoNewPrivileges")).toEqual(["yes"])
  expect(valuesOf(BOXES, "KillMode")).toEqual(["process"])
  expect(valuesOf(BOXES, "Delegate")).toEqual(["yes"])
  expect(valuesOf(BOXES, "NoNewPrivileges")).toEqual(["no"])
})

it.for([
  ["the unit", ""],
  ["the unit with boxes", BOXES],
] as const)("%s is valid", ([, dropIn], ctx) => {
  ctx.skip(!isInstalled("systemd-analyze"), "systemd-analyze is not installed")
  const folder = mkdtempSync(join(tmpdir(), "ledger-unit-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, "company-ledger.service")
  // The paths of programs depend on the machine.
  const unit = UNIT.replace("/usr/bin/node", process.execPath).replace(/^Documentation=.*\n/m, "")
  writeFileSync(file, unit)
  mkdirSync(`${file}.d`)
  writeFileSync(join(`${file}.d`, "boxes.conf"), dropIn)
  const args = ["verify", "--man=no", "--recursive-errors=no", file]
  const verified = spawnSync("systemd-analyze", args, { encoding: "utf8" })
  const messages = verified.stderr.split("\n").filter((line) => line.includes("company-ledger"))
  expect(messages).toEqual([])
})

/** Listens for notifications like systemd, and prints them. */
const LISTENER = `
import os, socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
print("listening", flush=True)
print(listener.recv(4096).decode(), flush=True)
listener.recv(4096)
`

it("is notified when the program is ready", async (ctx) => {
  const missing = ["python3", "systemd-notify"].filter((program) => !isInstalled(program))
  ctx.skip(missing.length > 0, `not installed: ${missing.join(", ")}`)
  const folder = mkdtempSync(join(tmpdir(), "ledger-notify-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const socket = join(folder, "notify")
  const listener = spawn("python3", ["-c", LISTENER, socket])
  const printed: string[] = []
  const lines = createInterface({ input: listener.stdout })
  lines.on("line", (line) => printed.push(line))
  await once(lines, "line")
  vi.stubEnv("NOTIFY_SOCKET", socket)
  await notifySystemdReady()
  await once(listener, "exit")
  expect(printed).toEqual(["listening", expect.stringContaining("READY=1")])
})

it("is not notified without NOTIFY_SOCKET", async () => {
  // The next file of this process needs PATH before its first test.
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv("NOTIFY_SOCKET", "")
  vi.stubEnv("PATH", "")
  await expect(notifySystemdReady()).resolves.toBeUndefined()
})
