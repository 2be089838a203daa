/** The systemd unit, as systemd reads it, and what the program says to it. */
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

it("starts the command of the package, and sets what the program reads", () => {
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

it("lets a start take as long as read models take to be built anew", () => {
  expect(valuesOf(UNIT, "TimeoutStartSec")).toEqual(["infinity"])
  expect(valuesOf(BOXES, "TimeoutStartSec")).toEqual([])
})

it("gives a stop more than the ten seconds of the program", () => {
  expect(Number(valuesOf(UNIT, "TimeoutStopSec")[0])).toBeGreaterThan(10)
})

it("lets boxes be, and outlive a stop, where they are allowed", () => {
  expect(valuesOf(UNIT, "NoNewPrivileges")).toEqual(["yes"])
  expect(valuesOf(BOXES, "KillMode")).toEqual(["process"])
  expect(valuesOf(BOXES, "Delegate")).toEqual(["yes"])
  expect(valuesOf(BOXES, "NoNewPrivileges")).toEqual(["no"])
})

it.for([
  ["the unit", ""],
  ["the unit with boxes", BOXES],
] as const)("%s is as systemd takes it", ([, dropIn], ctx) => {
  ctx.skip(!isInstalled("systemd-analyze"), "systemd-analyze is not installed")
  const folder = mkdtempSync(join(tmpdir(), "ledger-unit-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, "company-ledger.service")
  // Whether its programs are there is a matter of the machine.
  const unit = UNIT.replace("/usr/bin/node", process.execPath).replace(/^Documentation=.*\n/m, "")
  writeFileSync(file, unit)
  mkdirSync(`${file}.d`)
  writeFileSync(join(`${file}.d`, "boxes.conf"), dropIn)
  const words = ["verify", "--man=no", "--recursive-errors=no", file]
  const verified = spawnSync("systemd-analyze", words, { encoding: "utf8" })
  const own = verified.stderr.split("\n").filter((line) => line.includes("company-ledger"))
  expect(own).toEqual([])
})

/** Says, by systemd's protocol, what it was told: it listens as systemd does. */
const LISTENER = `
import os, socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
print("listening", flush=True)
print(listener.recv(4096).decode(), flush=True)
listener.recv(4096)
`

it("hears that the program serves", async (ctx) => {
  const missing = ["python3", "systemd-notify"].filter((program) => !isInstalled(program))
  ctx.skip(missing.length > 0, `not installed: ${missing.join(", ")}`)
  const folder = mkdtempSync(join(tmpdir(), "ledger-notify-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const socket = join(folder, "notify")
  const listener = spawn("python3", ["-c", LISTENER, socket])
  const heard: string[] = []
  const lines = createInterface({ input: listener.stdout })
  lines.on("line", (line) => heard.push(line))
  await once(lines, "line")
  vi.stubEnv("NOTIFY_SOCKET", socket)
  await notifySystemdReady()
  await once(listener, "exit")
  expect(heard).toEqual(["listening", expect.stringContaining("READY=1")])
})

it("is not told anything where it does not ask", async () => {
  // The next file of this process looks for its programs before its first test.
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv("NOTIFY_SOCKET", "")
  vi.stubEnv("PATH", "")
  await expect(notifySystemdReady()).resolves.toBeUndefined()
})
