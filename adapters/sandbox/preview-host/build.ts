/** Building a commit: in a sandbox of its own, of which nothing is left but what was asked for. */
import { ProviderUnavailable } from "../../providers/outside.ts"
import type { Box, BoxHost, Ran } from "../boxhost/port.ts"
import { BoxGone, BoxRefused, WORKSPACE } from "../boxhost/port.ts"
import type { BuildPlan, Built, Recipe } from "./port.ts"

/** Unpacks the commit on its input. */
const UNPACK = `exec tar -x -f - 2>&1`

/**
 * Runs what installs (`$1`) and what builds (`$2`; empty: nothing), and writes what they write. On the
 * error output stands which of them was begun last, and in a line of its own what it failed with.
 */
const BUILD = `step() {
  [ -n "$2" ] || return 0
  echo "$1" >&2
  sh -c "$2" 2>&1 < /dev/null
  code=$?
  [ "$code" = 0 ] || { echo "$code" >&2; exit 1; }
}
step install "$1"
step build "$2"`

/** How PACK ends where there is nothing to pack. */
const PACKED = {
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
const PACK = `kill -KILL -1 2> /dev/null
[ ! -L "$1" ] || exit ${PACKED.link}
[ -e "$1" ] || exit ${PACKED.missing}
cd -- "$1" 2> /dev/null || exit ${PACKED.noFolder}
f=$(mktemp) || exit ${PACKED.full}
trap 'rm -f -- "$f" "$f.code"' EXIT
{ tar -c -f - . ; echo "$?" > "$f.code"; } | head -c "$(($2 + 1))" > "$f" || exit ${PACKED.full}
size=$(stat -c %s -- "$f") || exit ${PACKED.unread}
[ "$size" -le "$2" ] || exit ${PACKED.tooLarge}
# A file that changed meanwhile is 1.
code=$(cat "$f.code")
[ "\${code:-2}" -le 1 ] || exit ${PACKED.unread}
rm -f -- "$f.code"
trap - EXIT
printf '%s %s' "$size" "$f"`

const MINUTE_MS = 60_000
/** What installs and what builds have so long together. */
const BUILD_MS = 10 * MINUTE_MS
/** Files go in and out for so long each. */
const FILES_MS = 5 * MINUTE_MS
/** Longer than all of that: a build whose program died ends by itself. */
const LEASE_MS = 25 * MINUTE_MS
const MEBIBYTE = 1024 * 1024
/** A tar archive of what was built has so much at most. */
const MOST_BYTES = 500_000_000
const MOST_SAID = 64 * 1024

/** Reads a file that a sandbox said to have so many bytes, and takes it away. */
export type ReadOut = (box: Box, path: string, bytes: number) => AsyncIterable<Uint8Array>

/** What builds are made with. */
export interface Builder {
  readonly boxHost: BoxHost
  readonly readOut: ReadOut
  /** What installs and what builds have so long together, milliseconds; default ten minutes. */
  readonly buildMs?: number
}

/** It could not be built; the message is a sentence for people. */
class CannotBuild extends Error {
  override readonly name = "CannotBuild"
}

/**
 * Builds a commit and has it kept.
 *
 * @throws ProviderUnavailable where its sandbox is taken away; the reason of the plan's signal; what
 * `keep` throws
 */
export async function buildCommit<T>(
  builder: Builder,
  plan: BuildPlan,
  keep: (built: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<Built<T>> {
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
  box: Box,
  { buildMs = BUILD_MS, readOut }: Builder,
  { files, recipe }: BuildPlan,
  keep: (built: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<Built<T>> {
  let log: Buffer = Buffer.alloc(0)
  try {
    await unpack(box, files)
    const ran = await runSteps(box, recipe, buildMs)
    log = Buffer.from(ran.stdout)
    const fault = faultOf(ran, buildMs)
    if (fault !== null) throw new CannotBuild(fault)
    const { bytes, path } = await packed(box, recipe)
    return { ok: true, log, kept: await keep(readOut(box, path, bytes)) }
  } catch (error) {
    if (error instanceof CannotBuild) return { ok: false, log, why: error.message }
    throw error
  }
}

async function unpack(box: Box, stdin: BuildPlan["files"]): Promise<void> {
  const options = { stdin, timeoutMs: FILES_MS, mostBytes: MOST_SAID, activity: false }
  const { exitCode, isTimedOut, stdout } = await box.run(["sh", "-c", UNPACK], options)
  if (isTimedOut) throw new CannotBuild("The commit's files took too long to be unpacked.")
  if (exitCode !== 0) {
    throw new CannotBuild(`The commit's files could not be unpacked: ${lastLine(stdout)}`)
  }
}

async function runSteps(box: Box, recipe: Recipe, timeoutMs: number): Promise<Ran> {
  const { build, env: environment, install, root } = recipe
  try {
    return await box.run(["sh", "-c", BUILD, "sh", install ?? "", build ?? ""], {
      cwd: root,
      environment,
      timeoutMs,
      mostBytes: MEBIBYTE,
      keeps: "ends",
      activity: false,
    })
  } catch (error) {
    if (!(error instanceof BoxRefused)) throw error
    const isMissing = error.why === "folder"
    throw new CannotBuild(isMissing ? `The commit has no folder ${root}.` : error.message)
  }
}

/** Why what was run did not build anything; null where it may have. */
function faultOf({ exitCode, isTimedOut, stderr }: Ran, buildMs: number): string | null {
  const said = Buffer.from(stderr).toString("utf8")
  const name = /^build$/m.test(said) ? "The build" : "What installs"
  if (isTimedOut) {
    const most = buildMs === BUILD_MS ? "ten minutes" : `${buildMs} ms`
    return `${name} took longer than installing and building may together: ${most}.`
  }
  if (exitCode === 0) return null
  const code = /^(\d{1,3})$/m.exec(said)?.[1] ?? String(exitCode)
  if (code === "137") {
    return `${name} ended with 137: it was killed, as what takes more than 2 GiB of memory or 4 GiB of files is.`
  }
  return `${name} ended with ${code}.`
}

const FAULTS: Readonly<Record<number, (folder: string) => string>> = {
  [PACKED.missing]: (folder) => `The build left no folder ${folder}.`,
  [PACKED.link]: (folder) => `The build made ${folder} a link: it must be a folder.`,
  [PACKED.noFolder]: (folder) => `The build left ${folder} as no folder that can be read.`,
  [PACKED.tooLarge]: (folder) =>
    `There is more in ${folder} than a preview may have: ${MOST_BYTES / 1_000_000} MB.`,
  [PACKED.full]: () => "The build left no room on its disk, of 4 GiB, to pack what it made.",
  126: () => "The build left so many processes running that nothing else could begin.",
}

async function packed(
  box: Box,
  { root, serves }: Recipe,
): Promise<{ readonly bytes: number; readonly path: string }> {
  const folder = serves.kind === "static" ? joined(root, serves.folder) : root
  const args = [`${WORKSPACE}/${folder}`, String(MOST_BYTES)]
  const ran = await box.run(["sh", "-c", PACK, "sh", ...args], {
    cwd: "/",
    timeoutMs: FILES_MS,
    mostBytes: MOST_SAID,
    activity: false,
  })
  if (ran.isTimedOut) throw new CannotBuild("What was built took too long to be packed.")
  if (ran.exitCode !== 0) {
    const says = FAULTS[ran.exitCode]?.(folder === "." ? "its root" : folder)
    throw new CannotBuild(says ?? `What was built cannot be read: ${lastLine(ran.stderr)}`)
  }
  const [, size = "", path] = /^(\d{1,15}) (\/.*)$/s.exec(textOf(ran.stdout)) ?? []
  if (path === undefined) throw new CannotBuild("What was built cannot be read.")
  return { path, bytes: Number(size) }
}

/** A path below another; `.` is the same place. */
function joined(root: string, folder: string): string {
  return [root, folder].filter((name) => name !== ".").join("/") || "."
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8")

/** The last that a program said, for people: in one line, of printable characters. */
function lastLine(bytes: Uint8Array): string {
  const [last = ""] = textOf(bytes).trim().split("\n").slice(-1)
  return last.replaceAll(/\p{C}/gu, "?").slice(0, 300)
}
