/**
 * Run in a process of its own: opens the installation in a folder, audits it, and prints the duration, the CPU time and
 * the peak memory.
 */
import { performance } from "node:perf_hooks"
import type { AuditReport } from "../../src/audit/operate/audit.ts"
import { assertMeasurement } from "../benchmark.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"

const { VERIFIED_FOLDER: folder = "", VERIFIED_COMPANY: asked = "" } = process.env
const house = await openBenchInstallation(folder)
await house.waitUntilIdle()
const before = process.cpuUsage()
const begun = performance.now()
const verdict = (await house.operate(
  "audit verify",
  asked === "" ? {} : { company: asked },
)) as AuditReport
const ms = performance.now() - begun
const { user, system } = process.cpuUsage(before)
const broken = verdict.checks.filter(({ ok }) => !ok)
assertMeasurement(broken.length === 0, `the audit found ${JSON.stringify(broken)}`)
const { maxRSS } = process.resourceUsage()
const { events, streams } = verdict
process.stdout.write(
  JSON.stringify({ events, streams, ms, cpuMs: (user + system) / 1_000, bytes: maxRSS * 1_024 }),
)
await house.close()
process.exit()
