import { readFile } from "node:fs/promises"
import { userInfo } from "node:os"
import { undefinedIfMissing } from "./folder.ts"
import { StartupFault, errorCode } from "../../machine/startup/port.ts"

/**
 * Who this process is, as far as PostgreSQL minds: it refuses root, and making a cluster asks for
 * the name of the user's id, which a container started with any id at all does not have.
 */
export type ProcessIdentity = "ordinary" | "root" | "nameless"

/** The switches by which a Linux forbids user namespaces: file, forbidding value, way out. */
const SWITCHES = [
  ["/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"],
  [
    "/proc/sys/kernel/unprivileged_userns_clone",
    "0",
    "sysctl -w kernel.unprivileged_userns_clone=1",
  ],
  [
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "1",
    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
  ],
] as const

/** What keeps PostgreSQL from running, told to the operator. */
const IDENTITY_PROBLEMS = {
  root: "PostgreSQL does not run as root",
  nameless: "PostgreSQL needs a user with a name in /etc/passwd",
} as const

/** The identity of this process. */
export function readProcessIdentity(): ProcessIdentity {
  if (process.geteuid?.() === 0) return "root"
  try {
    userInfo()
    return "ordinary"
  } catch (error) {
    if (errorCode(error) === "ERR_SYSTEM_ERROR") return "nameless"
    throw error
  }
}

/**
 * The command that goes before a program of PostgreSQL's: inside this namespace the files of this
 * process belong to an ordinary user with a name. Empty where there is no need for it.
 */
export async function namespaceCommand(identity: ProcessIdentity): Promise<readonly string[]> {
  if (identity === "ordinary") return []
  const id = findNamedUserId(
    (await undefinedIfMissing(() => readFile("/etc/passwd", "utf8"))) ?? "",
  )
  return ["unshare", "--user", `--map-user=${id}`, `--map-group=${id}`, "--"]
}

/** The id to appear as, out of the text of `/etc/passwd`: 1000 when it is there, else the least. */
export function findNamedUserId(passwd: string): number {
  const ids = passwd
    .split("\n")
    .map((line) => Number(line.split(":")[2]))
    .filter((id) => Number.isSafeInteger(id) && id > 0)
  return ids.length === 0 || ids.includes(1000) ? 1000 : Math.min(...ids)
}

/** The sentence for a machine that gives no user namespace, with this machine's switch. */
export async function namespaceFault(
  identity: "root" | "nameless",
  cause: unknown,
): Promise<StartupFault> {
  const trouble = IDENTITY_PROBLEMS[identity]
  if (process.platform !== "linux") {
    return new StartupFault(`${trouble}: start as an ordinary user, or set DATABASE_URL.`, cause)
  }
  if (errorCode(cause) === "ENOENT") {
    return new StartupFault(
      `${trouble} and the program unshare is missing: start as an ordinary user, ` +
        `install util-linux, or set DATABASE_URL.`,
      cause,
    )
  }
  const switches = await Promise.all(
    SWITCHES.map(async ([file, forbids, way]) =>
      (await readSwitch(file)) === forbids ? way : undefined,
    ),
  )
  const way =
    switches.find((found) => found !== undefined) ??
    `${SWITCHES[1][2]}, in Docker --security-opt seccomp=unconfined`
  return new StartupFault(
    `${trouble} and this machine gives it no user namespace to hide that in: ` +
      `start as an ordinary user, allow user namespaces (${way}), or set DATABASE_URL.`,
    cause,
  )
}

async function readSwitch(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim()
  } catch (error) {
    // Each switch exists on some systems only, and some containers hide them all.
    if (["ENOENT", "EACCES", "EPERM"].includes(errorCode(error) ?? "")) return undefined
    throw error
  }
}
