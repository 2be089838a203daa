import { readFile } from "node:fs/promises"
import { userInfo } from "node:os"
import { undefinedIfMissing } from "./folder.ts"
import { StartupFault, errorCode } from "../../machine/startup/port.ts"

/**
 * The identity of this process. PostgreSQL refuses to run as root, and initdb needs the name of the
 * user, which a container with an arbitrary user id lacks.
 */
export type ProcessIdentity = "ordinary" | "root" | "nameless"

/** The Linux settings that forbid user namespaces: file, forbidding value, command that allows them. */
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

const IDENTITY_PROBLEMS = {
  root: "PostgreSQL does not run as root",
  nameless: "PostgreSQL needs a user with a name in /etc/passwd",
} as const

/** Reads the identity of this process. */
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
 * The command prefix for PostgreSQL's programs: inside its namespace this process is an ordinary
 * user with a name. Empty if not needed.
 */
export async function namespaceCommand(identity: ProcessIdentity): Promise<readonly string[]> {
  if (identity === "ordinary") return []
  const id = findNamedUserId(
    (await undefinedIfMissing(() => readFile("/etc/passwd", "utf8"))) ?? "",
  )
  return ["unshare", "--user", `--map-user=${id}`, `--map-group=${id}`, "--"]
}

/** The user id for the namespace from the text of `/etc/passwd`: 1000 if it exists, else the lowest. */
export function findNamedUserId(passwd: string): number {
  const ids = passwd
    .split("\n")
    .map((line) => Number(line.split(":")[2]))
    .filter((id) => Number.isSafeInteger(id) && id > 0)
  return ids.length === 0 || ids.includes(1000) ? 1000 : Math.min(...ids)
}

/** The fault for a machine without user namespaces, with the setting that forbids them. */
export async function namespaceFault(
  identity: "root" | "nameless",
  cause: unknown,
): Promise<StartupFault> {
  const problem = IDENTITY_PROBLEMS[identity]
  if (process.platform !== "linux") {
    return new StartupFault(`${problem}. Start as an ordinary user, or set DATABASE_URL.`, cause)
  }
  if (errorCode(cause) === "ENOENT") {
    return new StartupFault(
      `${problem}, and the program unshare is missing. Start as an ordinary user, ` +
        `install util-linux, or set DATABASE_URL.`,
      cause,
    )
  }
  const switches = await Promise.all(
    SWITCHES.map(async ([file, forbids, remedy]) =>
      (await readSwitch(file)) === forbids ? remedy : undefined,
    ),
  )
  const remedy =
    switches.find((found) => found !== undefined) ??
    `${SWITCHES[1][2]}, in Docker --security-opt seccomp=unconfined`
  return new StartupFault(
    `${problem}, and this machine does not allow the user namespace that would work around it. ` +
      `Start as an ordinary user, allow user namespaces (${remedy}), or set DATABASE_URL.`,
    cause,
  )
}

async function readSwitch(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim()
  } catch (error) {
    // Each setting exists on some systems only, and some containers hide them all.
    if (["ENOENT", "EACCES", "EPERM"].includes(errorCode(error) ?? "")) return undefined
    throw error
  }
}
