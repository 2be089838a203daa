/** What `doctor` finds of the machine: its programs, its port, its disk. */
import { freeBytes, portFault, tryProgram } from "../../../adapters/machine/machine.ts"
import type { Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"
import type { Config } from "../settings/config.ts"

const MEBIBYTE = 1024 * 1024
/** Below this a busy day may fill the disk. */
const SCARCE_BYTES = 2_048 * MEBIBYTE
/** Below this PostgreSQL may not write its next piece of log. */
const TOO_FEW_BYTES = 128 * MEBIBYTE
const OLDEST_NODE = "22.18"
const OLDEST_GIT = "2.34"

/** Looks at the machine. @param servedAt where a server of this installation runs; null where none does */
export async function machineFindings(
  config: Config,
  servedAt: string | null,
): Promise<readonly Finding[]> {
  const isShared = config.databaseUrl !== null
  return [
    nodeFinding(process.versions.node),
    gitFinding(await tryProgram("git", ["--version"])),
    await programFinding(
      "bwrap",
      "boxes on this machine need it, and git runs apart from all else where it is: install bubblewrap",
    ),
    await namespaceFinding(!isShared && process.getuid?.() === 0),
    await portFinding(config, servedAt),
    await diskFinding(config.dataDir),
  ]
}

/** Whether this Node can run the program. */
export function nodeFinding(version: string): Finding {
  if (isAtLeast(OLDEST_NODE, version)) return well("node", version)
  const fix = `start with npm, which brings its own Node, or install Node ${OLDEST_NODE} or newer`
  return { check: "node", state: "wrong", says: version, fix }
}

/** Whether this git can serve repositories. @param ran what `git --version` said, or why it did not run */
export function gitFinding(ran: Awaited<ReturnType<typeof tryProgram>>): Finding {
  const [check, needed] = ["git", "only companies' code needs it: install git"]
  if (!("line" in ran)) return { check, state: "missing", says: ran.fault, fix: needed }
  if (isAtLeast(OLDEST_GIT, ran.line)) return well(check, ran.line)
  return { check, state: "missing", says: ran.line, fix: `${needed} ${OLDEST_GIT} or newer` }
}

/** Whether a text names a version, `MAJOR.MINOR` first, that is this one or newer. */
function isAtLeast(oldest: string, text: string): boolean {
  const named = /\d+\.\d+/.exec(text)?.[0] ?? "0.0"
  return oldest.localeCompare(named, "en", { numeric: true }) <= 0
}

async function programFinding(name: string, fix: string): Promise<Finding> {
  const ran = await tryProgram(name, ["--version"])
  return "line" in ran
    ? well(name, ran.line)
    : { check: name, state: "missing", says: ran.fault, fix }
}

async function namespaceFinding(isNeeded: boolean): Promise<Finding> {
  const check = "user namespaces"
  const ran = await tryProgram("unshare", ["--user", "--map-root-user", "true"])
  if ("line" in ran) return well(check, "given")
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

async function portFinding({ host, port }: Config, servedAt: string | null): Promise<Finding> {
  const check = "port"
  const address = `${host}:${port}`
  if (servedAt !== null) return well(check, `a server of this installation is at ${servedAt}`)
  if (port === 0) return well(check, "a free one is picked")
  const fault = await portFault(host, port)
  if (fault === null) return well(check, `${address} is free`)
  const fixes: Readonly<Record<string, string>> = {
    EADDRINUSE: "stop the program that uses it, or set PORT to another",
    EACCES: "set PORT to 1024 or more",
  }
  const fix = fixes[fault] ?? "set HOST to an address of this machine"
  return { check, state: "wrong", says: `${address}: ${fault}`, fix }
}

async function diskFinding(dataDir: string): Promise<Finding> {
  return diskVerdict(await freeBytes(dataDir), dataDir)
}

/** What so much room on the disk of the data folder means. */
export function diskVerdict(bytes: number, dataDir: string): Finding {
  const says = `${Math.floor(bytes / MEBIBYTE)} MiB free for ${dataDir}`
  if (bytes >= SCARCE_BYTES) return well("disk", says)
  const fix = "make room, or set LEDGER_DATA_DIR to a larger disk"
  return { check: "disk", state: bytes < TOO_FEW_BYTES ? "wrong" : "scarce", says, fix }
}
