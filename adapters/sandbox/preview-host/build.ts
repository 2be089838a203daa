/** Building a commit: in a sandbox of its own, of which nothing is left but what was asked for. */
import { ProviderUnavailable } from "../../providers/provider-errors.ts"
import type { BoxHandle, BoxHost, CommandResult } from "../boxhost/port.ts"
import { BoxGone, BoxRequestRejected, WORKSPACE } from "../boxhost/port.ts"
import type { BuildPlan, BuildResult, Recipe } from "./port.ts"

/** Unpacks the commit on its input. */
const UNPACK_SCRIPT = `exec tar -x -f - 2>&1`

/**
 * Runs what installs (`$1`) and what builds (`$2`; empty: nothing), and writes what they write. On the
 * error output stands which of them was begun last, and in a line of its own what it failed with.
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

/** How PACK ends where there is nothing to pack. */
const PACK_EXIT_CODES = {
  missing: 20,
  link: 21,
  noFolder: 22,
  tooLarge: 23,
  full: 24,
  unread: 25,
} as const

/**
 * Ends whatever the build left running, and packs what is in the folder `$1`, `$2` bytes at most, into a
 * file: writes its size and, behind a space, its path.
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
/** What installs and what builds have so long together. */
const BUILD_TIMEOUT_MS = 10 * MINUTE_MS
/** Files go in and out for so long each. */
const TRANSFER_TIMEOUT_MS = 5 * MINUTE_MS
/** Longer than all of that: a build whose program died ends by itself. */
const LEASE_MS = 25 * MINUTE_MS
const MEBIBYTE = 1024 * 1024
/** A tar archive of what was built has so much at most. */
const MAX_ARCHIVE_BYTES = 500_000_000
const MAX_OUTPUT_BYTES = 64 * 1024

/** Reads a file that a sandbox said to have so many bytes, and takes it away. */
export type ReadAndDeleteFile = (
  box: BoxHandle,
  path: string,
  bytes: number,
) => AsyncIterable<Uint8Array>

/** What builds are made with. */
export interface BuilderPorts {
  readonly boxHost: BoxHost
  readonly readAndDelete: ReadAndDeleteFile
  /** What installs and what builds have so long together, milliseconds; default ten minutes. */
  readonly buildTimeoutMs?: number
}

/** It could not be built; the message is a sentence for people. */
class BuildFailed extends Error {
  override readonly name = "BuildFailed"
}

/**
 * Builds a commit and has it kept.
 *
 * @throws ProviderUnavailable where its sandbox is taken away; the reason of the plan's signal; what
 * `keep` throws
 */
export async function buildCommit<T>(
  builder: BuilderPorts,
  plan: BuildPlan,
  keep: (built: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<BuildResult<T>> {
  const { boxHost } = builder
  const boxId = `build_${plan.publishId.replace("pub_", "")}` as const
  plan.signal.throwIfAborted()
  // Who began it before has died: its build would be answered to nobody.
  await (await boxHost.find(boxId))?.stop()
  const box = await boxHost.start({
    boxId,
    companyId: plan.companyId,
    size: "build",
    leaseMs: LEASE_MS,
    environment: {},
  })
  // What this fails with, the last stop fails with as well.
  const stop = () => void box.stop().catch(() => undefined)
  plan.signal.addEventListener("abort", stop)
  try {
    return await buildIn(box, builder, plan, keep)
  } catch (error) {
    plan.signal.throwIfAborted()
    if (error instanceof BoxGone) throw new ProviderUnavailable("the sandbox of the build ended")
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
  keep: (built: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<BuildResult<T>> {
  let log: Buffer = Buffer.alloc(0)
  try {
    await unpack(box, files)
    const ran = await runSteps(box, recipe, buildTimeoutMs)
    log = Buffer.from(ran.stdout)
    const fault = buildFailureOf(ran, buildTimeoutMs)
    if (fault !== null) throw new BuildFailed(fault)
    const { bytes, path } = await packOutput(box, recipe)
    return { ok: true, log, stored: await keep(readAndDelete(box, path, bytes)) }
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
  if (isTimedOut) throw new BuildFailed("The commit's files took too long to be unpacked.")
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

/** Why what was run did not build anything; null where it may have. */
function buildFailureOf(
  { exitCode, isTimedOut, stderr }: CommandResult,
  buildMs: number,
): string | null {
  const said = Buffer.from(stderr).toString("utf8")
  const name = /^build$/m.test(said) ? "The build" : "What installs"
  if (isTimedOut) {
    const most = buildMs === BUILD_TIMEOUT_MS ? "ten minutes" : `${buildMs} ms`
    return `${name} took longer than installing and building may together: ${most}.`
  }
  if (exitCode === 0) return null
  const code = /^(\d{1,3})$/m.exec(said)?.[1] ?? String(exitCode)
  if (code === "137") {
    return `${name} ended with 137: it was killed, as what takes more than 2 GiB of memory or 4 GiB of files is.`
  }
  return `${name} ended with ${code}.`
}

const PACK_FAILURES: Readonly<Record<number, (folder: string) => string>> = {
  [PACK_EXIT_CODES.missing]: (folder) => `The build left no folder ${folder}.`,
  [PACK_EXIT_CODES.link]: (folder) => `The build made ${folder} a link: it must be a folder.`,
  [PACK_EXIT_CODES.noFolder]: (folder) => `The build left ${folder} as no folder that can be read.`,
  [PACK_EXIT_CODES.tooLarge]: (folder) =>
    `There is more in ${folder} than a preview may have: ${MAX_ARCHIVE_BYTES / 1_000_000} MB.`,
  [PACK_EXIT_CODES.full]: () =>
    "The build left no room on its disk, of 4 GiB, to pack what it made.",
  126: () => "The build left so many processes running that nothing else could begin.",
}

async function packOutput(
  box: BoxHandle,
  { root, serves }: Recipe,
): Promise<{ readonly bytes: number; readonly path: string }> {
  const folder = serves.kind === "static" ? joinPaths(root, serves.folder) : root
  const args = [`${WORKSPACE}/${folder}`, String(MAX_ARCHIVE_BYTES)]
  const ran = await box.run(["sh", "-c", PACK_SCRIPT, "sh", ...args], {
    cwd: "/",
    timeoutMs: TRANSFER_TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    isActivity: false,
  })
  if (ran.isTimedOut) throw new BuildFailed("What was built took too long to be packed.")
  if (ran.exitCode !== 0) {
    const says = PACK_FAILURES[ran.exitCode]?.(folder === "." ? "its root" : folder)
    throw new BuildFailed(says ?? `What was built cannot be read: ${lastLine(ran.stderr)}`)
  }
  const [, size = "", path] = /^(\d{1,15}) (\/.*)$/s.exec(textOf(ran.stdout)) ?? []
  if (path === undefined) throw new BuildFailed("What was built cannot be read.")
  return { path, bytes: Number(size) }
}

/** A path below another; `.` is the same place. */
function joinPaths(root: string, folder: string): string {
  return [root, folder].filter((name) => name !== ".").join("/") || "."
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8")

/** The last that a program said, for people: in one line, of printable characters. */
function lastLine(bytes: Uint8Array): string {
  const [last = ""] = textOf(bytes).trim().split("\n").slice(-1)
  return last.replaceAll(/\p{C}/gu, "?").slice(0, 300)
}
