/** Checks of the machine: programs, port and disk. */
import { freeBytes, portFault, tryProgram } from "../../../adapters/machine/machine.ts"
import type { DoctorFinding } from "../../frame/operator/cli/doctor-finding.ts"
import { okFinding } from "../../frame/operator/cli/doctor-finding.ts"
import type { Config } from "../settings/config.ts"

const MEBIBYTE = 1024 * 1024
/** Below this a busy day may fill the disk. */
const LOW_DISK_BYTES = 2_048 * MEBIBYTE
/** Below this PostgreSQL may not be able to write its log. */
const CRITICAL_DISK_BYTES = 128 * MEBIBYTE
const MIN_NODE_VERSION = "22.18"
const MIN_GIT_VERSION = "2.34"

/**
 * Checks the machine. @param servedAt the address of this installation's server; null if none runs
 */
export async function machineFindings(
  config: Config,
  servedAt: string | null,
): Promise<readonly DoctorFinding[]> {
  const isShared = config.databaseUrl !== null
  return [
    nodeFinding(process.versions.node),
    gitFinding(await tryProgram("git", ["--version"])),
    await programFinding(
      "bwrap",
      "boxes on this machine need it, and git is sandboxed with it: install bubblewrap",
    ),
    await namespaceFinding(!isShared && process.getuid?.() === 0),
    await portFinding(config, servedAt),
    await diskFinding(config.dataDir),
  ]
}

/** Whether this Node version can run the program. */
export function nodeFinding(version: string): DoctorFinding {
  if (isAtLeast(MIN_NODE_VERSION, version)) return okFinding("node", version)
  const fix = `start with npm, which brings its own Node, or install Node ${MIN_NODE_VERSION} or later`
  return { check: "node", state: "wrong", says: version, fix }
}

/** Whether this git can serve repositories. @param ran the result of `git --version` */
export function gitFinding(ran: Awaited<ReturnType<typeof tryProgram>>): DoctorFinding {
  const [check, needed] = ["git", "only companies' code needs it: install git"]
  if (!("line" in ran)) return { check, state: "missing", says: ran.fault, fix: needed }
  if (isAtLeast(MIN_GIT_VERSION, ran.line)) return okFinding(check, ran.line)
  return { check, state: "missing", says: ran.line, fix: `${needed} ${MIN_GIT_VERSION} or later` }
}

/** Whether the first version in a text is this one or later. */
function isAtLeast(oldest: string, text: string): boolean {
  const named = /\d+\.\d+/.exec(text)?.[0] ?? "0.0"
  return oldest.localeCompare(named, "en", { numeric: true }) <= 0
}

async function programFinding(name: string, fix: string): Promise<DoctorFinding> {
  const ran = await tryProgram(name, ["--version"])
  return "line" in ran
    ? okFinding(name, ran.line)
    : { check: name, state: "missing", says: ran.fault, fix }
}

async function namespaceFinding(isNeeded: boolean): Promise<DoctorFinding> {
  const check = "user namespaces"
  const ran = await tryProgram("unshare", ["--user", "--map-root-user", "true"])
  if ("line" in ran) return okFinding(check, "available")
  const fix = "allow them (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces>0)"
  return isNeeded
    ? { check, state: "wrong", says: ran.fault, fix: `${fix}, or start as an ordinary user` }
    : {
        check,
        state: "missing",
        says: ran.fault,
        fix: `only boxes on this machine need them: ${fix}`,
      }
}

async function portFinding(
  { host, port }: Config,
  servedAt: string | null,
): Promise<DoctorFinding> {
  const check = "port"
  const address = `${host}:${port}`
  if (servedAt !== null) return okFinding(check, `a server of this installation is at ${servedAt}`)
  if (port === 0) return okFinding(check, "a free port is chosen at the start")
  const fault = await portFault(host, port)
  if (fault === null) return okFinding(check, `${address} is free`)
  const fixes: Readonly<Record<string, string>> = {
    EADDRINUSE: "stop the program that uses it, or set PORT to another port",
    EACCES: "set PORT to 1024 or more",
  }
  const fix = fixes[fault] ?? "set HOST to an address of this machine"
  return { check, state: "wrong", says: `${address}: ${fault}`, fix }
}

async function diskFinding(dataDir: string): Promise<DoctorFinding> {
  return diskSpaceFinding(await freeBytes(dataDir), dataDir)
}

/** The finding for this much free space in the data folder. */
export function diskSpaceFinding(bytes: number, dataDir: string): DoctorFinding {
  const says = `${Math.floor(bytes / MEBIBYTE)} MiB free for ${dataDir}`
  if (bytes >= LOW_DISK_BYTES) return okFinding("disk", says)
  const fix = "free some space, or set LEDGER_DATA_DIR to a larger disk"
  return { check: "disk", state: bytes < CRITICAL_DISK_BYTES ? "wrong" : "scarce", says, fix }
}
