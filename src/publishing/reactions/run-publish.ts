/**
 * Has a commit become the preview: it is built, kept, started where it is an app, and live. Whoever goes on
 * with one that another process began finds how far it came by its stream; a build has no effect outside of
 * its sandbox, so it is done again from the commit.
 */
import { TooMuchCode } from "../../../adapters/git/port.ts"
import { isOutside } from "../../../adapters/providers/outside.ts"
import type { Recipe } from "../../../adapters/sandbox/preview-host/port.ts"
import { AppFailed } from "../../../adapters/sandbox/preview-host/port.ts"
import { COMPANY_SUBJECT } from "../../../adapters/sealing/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { publishesOf } from "../../../domain/publishing/aggregates.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { PublishCommand } from "../../../domain/publishing/publish-commands.ts"
import type { FailReason } from "../../../domain/publishing/publish-events.ts"
import type { PublishView } from "../../../domain/publishing/publishing.ts"
import { publishOf } from "../../../domain/publishing/publishing.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import type { Work } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import { startPlan } from "../app-plan.ts"
import { BadArtifact, openArtifact, storeArtifact } from "../artifacts.ts"
import { keepLog, printable } from "../build-log.ts"
import { OfPublish, inOrder } from "../of-publish.ts"
import { COMPANY_FILE, MOST_FILE_BYTES, readCompanyFile } from "../company-file.ts"

/** Where no machine can be had for so long, milliseconds, it fails. */
const UNAVAILABLE_FOR_MS = 15 * 60_000
/** So much of the end of what a build wrote is told with its error. */
const ERROR_TAIL = 2_000

const TOO_MUCH = "The commit's files are more than 2 GiB."

/** It failed, for a reason that is told to people. */
class PublishFailed extends Error {
  override readonly name = "PublishFailed"
  readonly reason: FailReason

  constructor(reason: FailReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** A publish that this process has in hand. */
interface InHand {
  readonly ports: Ports
  readonly companyId: CompanyId
  readonly publishId: PublishId
  readonly cause: Cause
  readonly signal: AbortSignal
}

/** Records what it came to, and answers how it stands. */
async function record(
  { ports, companyId, publishId, cause }: Omit<InHand, "signal">,
  command: PublishCommand,
): Promise<PublishView | null> {
  const stream = publishesOf(companyId)
  const { view } = await ports.runner.execute(stream, command, cause, publishOf(publishId))
  return view
}

/** The reaction. */
export const runPublish = reaction<OfPublish>({
  kind: "run-publish",
  payload: OfPublish,
  from: {
    PublishQueued: inOrder,
    PublishRetried: inOrder,
  },
  atOnce: { machine: 2 },
  isLong: true,
  endsWithCompany: true,
  giveUp: async (ports, { companyId, name, payload: { publishId } }) => {
    const giving = { ports, companyId, publishId, cause: causedBy(`run-publish ${name}`) }
    await fail(giving, new PublishFailed("discarded", "An operator gave it up."))
    return null
  },
  perform: async (ports, work) => {
    const { companyId, signal, payload } = work
    const { publishId } = payload
    const cause = causedBy(`run-publish ${work.name}`)
    const inHand = { ports, companyId, publishId, cause, signal }
    try {
      await run(inHand)
    } catch (error) {
      if (signal.aborted) return { result: "let go" }
      if (isOutside(error)) return putOff(inHand, work, error.message)
      if (!(error instanceof PublishFailed)) throw error
      await fail(inHand, error)
    }
    return { result: "done" }
  },
})

/** What it needs is not there now: again later, unless it has waited for long enough. */
async function putOff(inHand: InHand, work: Work<OfPublish>, why: string) {
  const { ports, companyId, publishId } = inHand
  const view = await ports.runner.readLatest(publishesOf(companyId), publishOf(publishId))
  const waitedMs = view === null ? Infinity : ports.clock.now() - view.at
  if (waitedMs < UNAVAILABLE_FOR_MS) return retryLater(work, why)
  await fail(inHand, new PublishFailed("unavailable", "No machine could be had to build it."))
  return { result: "done" } as const
}

async function fail(inHand: Omit<InHand, "signal">, { reason, message }: PublishFailed) {
  const { ports, companyId, publishId } = inHand
  const error = await ports.sealing.seal(companyId, COMPANY_SUBJECT, message)
  await record(inHand, { type: "FailPublish", publishId, reason, error })
}

/** Goes on from where it is. @throws PublishFailed; what the host of previews and the code throw */
async function run(inHand: InHand): Promise<void> {
  const { publishId } = inHand
  const begun = await record(inHand, { type: "StartBuild", publishId })
  if (begun === null || begun.endedAt !== null) return
  if (begun.artifact === null) await build(inHand, begun)
  const { ports, companyId } = inHand
  const artifact = await openArtifact(ports, companyId, publishId)
  if (artifact === null) throw new Error(`what was built of ${publishId} is not there`)
  const isApp = artifact.manifest.recipe.serves.kind === "app"
  if (isApp) await start(inHand)
  const view = await record(inHand, { type: "GoLive", publishId })
  // A later one was live before it.
  if (isApp && view?.status !== "live") await ports.previewHost.end({ companyId, publishId })
}

/** Builds it, and keeps what was built and what the build wrote. @throws PublishFailed */
async function build(inHand: InHand, { commit }: PublishView): Promise<void> {
  const { ports, companyId, publishId, signal } = inHand
  const { recipe, files } = await codeOf(inHand, commit)
  const of = { companyId, publishId }
  const built = await ports.previewHost
    .build({ ...of, recipe, files, signal }, async (tar) => {
      await record(inHand, { type: "FinishBuild", publishId })
      return storeArtifact(ports, { ...of, recipe }, tar)
    })
    .catch((error: unknown) => {
      if (error instanceof BadArtifact) throw new PublishFailed("artifact", error.message)
      if (error instanceof TooMuchCode) throw new PublishFailed("build", TOO_MUCH)
      throw error
    })
  if (!built.ok) {
    await keepLog(ports, of, "build", built.log)
    throw new PublishFailed("build", withTail(built.why, built.log.toString("utf8")))
  }
  const { hash, files: count, bytes, leftOut } = built.kept
  const said = leftOut.map((name) => `left out, for it is no file: ${name}\n`).join("")
  await keepLog(ports, of, "build", Buffer.concat([built.log, Buffer.from(said)]))
  const { kind } = recipe.serves
  const tag = await ports.sealing.tag(companyId, hash)
  await record(inHand, { type: "StoreArtifact", publishId, kind, tag, files: count, bytes })
}

/** A sentence, and the end of what was written. */
function withTail(why: string, log: string): string {
  const tail = printable(log).trimEnd().slice(-ERROR_TAIL)
  return (tail === "" ? why : `${why}\n${tail}`).toWellFormed()
}

/** The files of the commit, and what its company file says. @throws PublishFailed where it is gone */
async function codeOf(
  { ports, companyId, signal }: InHand,
  commit: string,
): Promise<{ readonly recipe: Recipe; readonly files: AsyncIterable<Uint8Array> }> {
  const found = await ports.companyCode.findCommit(companyId, commit)
  const file = await found?.file(COMPANY_FILE, MOST_FILE_BYTES)
  const read = file === undefined || file === null ? null : readCompanyFile(file)
  if (found === null || read === null || "fault" in read) {
    throw new PublishFailed("build", "The commit is not in the company's code any more.")
  }
  return { recipe: read.recipe, files: found.files(signal) }
}

/** Starts a version of an app, beside the one that is live. @throws PublishFailed */
async function start(inHand: InHand): Promise<void> {
  const { ports, companyId, publishId } = inHand
  const version = { companyId, publishId }
  try {
    const said = await ports.previewHost.start(await startPlan(ports, version, true))
    if (said !== "") await keepLog(ports, version, "start", Buffer.from(said))
  } catch (error) {
    if (!(error instanceof AppFailed)) throw error
    // Its sandbox forgets it.
    await keepLog(ports, version, "start", Buffer.from(error.log))
    await ports.previewHost.end(version)
    throw new PublishFailed("start", withTail(error.message, error.log))
  }
}
