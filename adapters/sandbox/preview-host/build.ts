/** Builds a commit in its own sandbox, of which only the output is kept. */
import { ProviderUnavailable } from "../../providers/provider-errors.ts"
import type { BoxHandle, BoxHost, CommandResult } from "../boxhost/port.ts"
import { BoxGone, BoxRequestRejected, WORKSPACE } from "../boxhost/port.ts"
import type { BuildPlan, BuildResult, Recipe } from "./port.ts"

/** Unpacks the commit from standard input. */
const UNPACK_SCRIPT = `exec tar -x -f - 2>&1`

/**
 * Runs the install command (`$1`) and the build command (`$2`; empty: none), and prints their
 * output. Standard error contains the name of the last step and, on its own line, the exit code of
 * a failed one.
 */
const BUILD_SCRIPT = `step() {
  [ -n "$2" ] || return 0
  echo "$1" >&2
  sh -c "$2" 2>&1 < /dev/null
  code=$?
  [ "$code" = 0 ] || { echo "$code" >&2; exit 1; }
}
step install "$1"
step build "$2"`

const PACK_EXIT_CODES = {
  missing: 20,
  link: 21,
  noFolder: 22,
  tooLarge: 23,
  full: 24,
  unread: 25,
} as const

/**
 * Kills leftover processes and packs the folder `$1` into a file of at most `$2` bytes; prints its
 * size, a space and its path.
 */
const PACK_SCRIPT = `kill -KILL -1 2> /dev/null
[ ! -L "$1" ] || exit ${PACK_EXIT_CODES.link}
[ -e "$1" ] || exit ${PACK_EXIT_CODES.missing}
cd -- "$1" 2> /dev/null || exit ${PACK_EXIT_CODES.noFolder}
f=$(mktemp) || exit ${PACK_EXIT_CODES.full}
trap 'rm -f -- "$f" "$f.code"' EXIT
{ tar -c -f - . ; echo "$?" > "$f.code"; } | head -c "$(($2 + 1))" > "$f" || exit ${PACK_EXIT_CODES.full}
size=$(stat -c %s -- "$f") || exit ${PACK_EXIT_CODES.unread}
[ "$size" -le "$2" ] || exit ${PACK_EXIT_CODES.tooLarge}
# A file that changed meanwhile is 1.
code=$(cat "$f.code")
[ "\${code:-2}" -le 1 ] || exit ${PACK_EXIT_CODES.unread}
rm -f -- "$f.code"
trap - EXIT
printf '%s %s' "$size" "$f"`

const MINUTE_MS = 60_000
/** Timeout of installing and building together. */
const BUILD_TIMEOUT_MS = 10 * MINUTE_MS
const TRANSFER_TIMEOUT_MS = 5 * MINUTE_MS
/** Longer than all steps: a build whose program died ends by itself. */
const LEASE_MS = 25 * MINUTE_MS
const MEBIBYTE = 1024 * 1024
/** Longest tar archive of a build. */
const MAX_ARCHIVE_BYTES = 500_000_000
const MAX_OUTPUT_BYTES = 64 * 1024

/** Reads a file whose size the sandbox reported, and deletes it. */
export type ReadAndDeleteFile = (
  box: BoxHandle,
  path: string,
  bytes: number,
) => AsyncIterable<Uint8Array>

export interface BuilderPorts {
  readonly boxHost: BoxHost
  readonly readAndDelete: ReadAndDeleteFile
  /** Timeout of installing and building together, milliseconds; default ten minutes. */
  readonly buildTimeoutMs?: number
}

/** The build failed; the message is for people. */
class BuildFailed extends Error {
  override readonly name = "BuildFailed"
}

/**
 * Builds a commit and stores the output.
 *
 * @throws ProviderUnavailable if the sandbox is taken away; the reason of the plan's signal; errors
 * of `store`
 */
export async function buildCommit<T>(
  builder: BuilderPorts,
  plan: BuildPlan,
  store: (built: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<BuildResult<T>> {
  const { boxHost } = builder
  const boxId = `build_${plan.publishId.replace("pub_", "")}` as const
  plan.signal.throwIfAborted()
  // A build that a dead program started has no reader for its result.
  await (await boxHost.find(boxId))?.stop()
  const box = await boxHost.start({
    boxId,
    companyId: plan.companyId,
    size: "build",
    leaseMs: LEASE_MS,
    environment: {},
  })
  // The final stop reports its errors.
  const stop = () => void box.stop().catch(() => undefined)
  plan.signal.addEventListener("abort", stop)
  try {
    return await buildIn(box, builder, plan, store)
  } catch (error) {
    plan.signal.throwIfAborted()
    if (error instanceof BoxGone)
      throw new ProviderUnavailable("the build's sandbox ended; publish again")
    throw error
  } finally {
    plan.signal.removeEventListener("abort", stop)
    await box.stop()
  }
}

async function buildIn<T>(
  box: BoxHandle,
  { buildTimeoutMs = BUILD_TIMEOUT_MS, readAndDelete }: BuilderPorts,
  { files, recipe }: BuildPlan,
  store: (built: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<BuildResult<T>> {
  let log: Buffer = Buffer.alloc(0)
  try {
    await unpack(box, files)
    const result = await runSteps(box, recipe, buildTimeoutMs)
    log = Buffer.from(result.stdout)
    const fault = buildFailureOf(result, buildTimeoutMs)
    if (fault !== null) throw new BuildFailed(fault)
    const { bytes, path } = await packOutput(box, recipe)
    return { ok: true, log, stored: await store(readAndDelete(box, path, bytes)) }
  } catch (error) {
    if (error instanceof BuildFailed) return { ok: false, log, reason: error.message }
    throw error
  }
}

async function unpack(box: BoxHandle, stdin: BuildPlan["files"]): Promise<void> {
  const options = {
    stdin,
    timeoutMs: TRANSFER_TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    isActivity: false,
  }
  const { exitCode, isTimedOut, stdout } = await box.run(["sh", "-c", UNPACK_SCRIPT], options)
  if (isTimedOut)
    throw new BuildFailed(
      `Unpacking the commit's files took longer than ${TRANSFER_TIMEOUT_MS / MINUTE_MS} minutes.`,
    )
  if (exitCode !== 0) {
    throw new BuildFailed(`The commit's files could not be unpacked: ${lastLine(stdout)}`)
  }
}

async function runSteps(box: BoxHandle, recipe: Recipe, timeoutMs: number): Promise<CommandResult> {
  const { build, env: environment, install, root } = recipe
  try {
    return await box.run(["sh", "-c", BUILD_SCRIPT, "sh", install ?? "", build ?? ""], {
      cwd: root,
      environment,
      timeoutMs,
      maxOutputBytes: MEBIBYTE,
      keptOutput: "ends",
      isActivity: false,
    })
  } catch (error) {
    if (!(error instanceof BoxRequestRejected)) throw error
    const isMissing = error.reason === "folder"
    throw new BuildFailed(isMissing ? `The commit has no folder ${root}.` : error.message)
  }
}

/** The reason of a failed build; null if it may have succeeded. */
function buildFailureOf(
  { exitCode, isTimedOut, stderr }: CommandResult,
  buildMs: number,
): string | null {
  const progress = Buffer.from(stderr).toString("utf8")
  const name = /^build$/m.test(progress) ? "The build command" : "The install command"
  if (isTimedOut) {
    const limit = buildMs === BUILD_TIMEOUT_MS ? "ten minutes" : `${buildMs} ms`
    return `${name} did not end in time: installing and building together may take ${limit}.`
  }
  if (exitCode === 0) return null
  const code = /^(\d{1,3})$/m.exec(progress)?.[1] ?? String(exitCode)
  if (code === "137") {
    return `${name} exited with code 137: it was killed, probably because it used more than 2 GiB of memory or 4 GiB of files.`
  }
  return `${name} exited with code ${code}.`
}

const PACK_FAILURES: Readonly<Record<number, (folder: string) => string>> = {
  [PACK_EXIT_CODES.missing]: (folder) => `The build created no folder ${folder}.`,
  [PACK_EXIT_CODES.link]: (folder) => `The build created ${folder} as a link; it must be a folder.`,
  [PACK_EXIT_CODES.noFolder]: (folder) => `The build's output ${folder} is not a readable folder.`,
  [PACK_EXIT_CODES.tooLarge]: (folder) =>
    `The folder ${folder} is larger than a preview may be: ${MAX_ARCHIVE_BYTES / 1_000_000} MB.`,
  [PACK_EXIT_CODES.full]: () => "The build's disk of 4 GiB has no room left to pack the output.",
  126: () => "The build left so many processes running that no other could start.",
}

async function packOutput(
  box: BoxHandle,
  { root, serves }: Recipe,
): Promise<{ readonly bytes: number; readonly path: string }> {
  const folder = serves.kind === "static" ? joinPaths(root, serves.folder) : root
  const args = [`${WORKSPACE}/${folder}`, String(MAX_ARCHIVE_BYTES)]
  const result = await box.run(["sh", "-c", PACK_SCRIPT, "sh", ...args], {
    cwd: "/",
    timeoutMs: TRANSFER_TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    isActivity: false,
  })
  if (result.isTimedOut)
    throw new BuildFailed(
      `Packing the build's output took longer than ${TRANSFER_TIMEOUT_MS / MINUTE_MS} minutes.`,
    )
  if (result.exitCode !== 0) {
    const message = PACK_FAILURES[result.exitCode]?.(folder === "." ? "its root" : folder)
    throw new BuildFailed(
      message ?? `The build's output cannot be read: ${lastLine(result.stderr)}`,
    )
  }
  const [, size = "", path] = /^(\d{1,15}) (\/.*)$/s.exec(textOf(result.stdout)) ?? []
  if (path === undefined) throw new BuildFailed("The build's output cannot be read.")
  return { path, bytes: Number(size) }
}

/** Joins a relative path; `.` adds nothing. */
function joinPaths(root: string, folder: string): string {
  return [root, folder].filter((name) => name !== ".").join("/") || "."
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8")

/** The last line of an output for people, in printable characters. */
function lastLine(bytes: Uint8Array): string {
  const [last = ""] = textOf(bytes).trim().split("\n").slice(-1)
  return last.replaceAll(/\p{C}/gu, "?").slice(0, 300)
}
