/**
 * `POST /api/v1/publish/preview`, from top to bottom: what a publish is and what its charge comes to, the job
 * that builds it and has it go live, and the route.
 *
 * A process that continues what another one began finds in the stream how far it came. A build has no effect
 * outside its sandbox, so it is repeated from the commit.
 */
import { TooManyFiles } from "../../adapters/git/port.ts"
import { isProviderError } from "../../adapters/providers/provider-errors.ts"
import type { Recipe } from "../../adapters/sandbox/preview-host/port.ts"
import { AppStartFailed } from "../../adapters/sandbox/preview-host/port.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import {
  PUBLISH_AGGREGATE,
  PUBLISHING_SWITCHES_STREAM,
  publishStreamOf,
} from "../../domain/publishing/aggregates.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import { parsePublishId } from "../../domain/publishing/ids.ts"
import type { PublishCommand } from "../../domain/publishing/publish-commands.ts"
import type { PublishFailReason } from "../../domain/publishing/publish-events.ts"
import { isPublishAbandoned, publishOf } from "../../domain/publishing/publishing.ts"
import type { PublishView } from "../../domain/publishing/publishing.ts"
import { isPublishingEnabled } from "../../domain/publishing/publishing-switches.ts"
import { retryWithBackoff } from "../frame/effects/effect-times.ts"
import { companyName } from "../frame/effects/mail-people.ts"
import { paidThing } from "../frame/effects/paid-thing.ts"
import { paidRoute } from "../frame/effects/paid-route.ts"
import { unitPrice } from "../frame/effects/price.ts"
import type { Job } from "../frame/effects/reaction.ts"
import { reaction } from "../frame/effects/reaction.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { previewSiteOf } from "./preview-site.ts"
import { appPlanOf } from "./app-plan.ts"
import { BadArtifact, openArtifact, storeArtifact } from "./artifacts.ts"
import { storeLog, toPrintableText } from "./publish-logs.ts"
import {
  BAD_COMPANY_FILE,
  COMMIT_NOT_FOUND,
  badCompanyFile,
  publishingUnavailable,
} from "./publish-errors.ts"
import { COMPANY_FILE, MAX_COMPANY_FILE_BYTES, parseCompanyFile } from "./company-file.ts"
import { PublishPayload, orderedPublishJob, publishJob } from "./publish-jobs.ts"
import type { PublishReplyBody } from "./publish-reply.ts"
import { PublishReply, publishReply } from "./publish-reply.ts"
import { PUBLISH_ROUTE } from "./publish-routes.ts"
import { z } from "zod"

// What a publish is, and what its charge comes to (decisions.md §10).

const FAILED = { amountMicros: null, reason: "the publish failed" }
const REPLACED = { amountMicros: null, reason: "a later publish went live before it" }

/** Publishes. One that an operator queued again is free: its charge is refunded, whatever it comes to then. */
const publish = paidThing({
  prefix: "pub",
  aggregate: PUBLISH_AGGREGATE,
  resolve: (companyId, resource) => {
    const id = parsePublishId(resource)
    return id === null ? null : { id, stream: publishStreamOf(companyId) }
  },
  view: (id) => (state) => (isPublishAbandoned(id)(state) ? "abandoned" : publishOf(id)(state)),
  status: ({ chargeId, endedAt, isFree, status, wasLive }) => {
    const back = isFree || status === "failed" ? FAILED : REPLACED
    const end = wasLive && !isFree ? "settled" : back
    return { chargeId, charge: endedAt === null && !isFree ? "pending" : end, isVoid: false }
  },
  abandonCommand: (publishId) => ({ type: "AbandonPublish" as const, publishId }),
  neverBegunReason: "the publish was never queued",
})

/** Ends the charge of a publish. */
const settleCharge = reaction({
  kind: "settle-publish-charge",
  payload: PublishPayload,
  on: { PublishLive: publishJob(), PublishFailed: publishJob(), PublishReplaced: publishJob() },
  discard: "owed",
  perform: async (ports, { companyId, name, payload: { publishId } }) => {
    const view = await ports.runner.readLatest(publishStreamOf(companyId), publishOf(publishId))
    await publish.settle(ports, companyId, view, causedBy(`settle-publish-charge ${name}`))
    return { result: "done" }
  },
})

// Building it, and having it go live.

/** Where no machine can be had for so long, milliseconds, it fails. */
const UNAVAILABLE_FOR_MS = 15 * 60_000
/** So much of the end of what a build wrote is told with its error. */
const ERROR_TAIL = 2_000

const TOO_MUCH = "The commit's files are more than 2 GiB."

/** It failed, for a reason that is told to people. */
class PublishFailed extends Error {
  override readonly name = "PublishFailed"
  readonly reason: PublishFailReason

  constructor(reason: PublishFailReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** A publish that this process has in hand. */
interface PublishRun {
  readonly ports: Ports
  readonly companyId: CompanyId
  readonly publishId: PublishId
  readonly cause: Cause
  readonly signal: AbortSignal
}

/** Records what it came to, and answers how it stands. */
async function recordOutcome(
  { ports, companyId, publishId, cause }: Omit<PublishRun, "signal">,
  command: PublishCommand,
): Promise<PublishView | null> {
  const stream = publishStreamOf(companyId)
  const { view } = await ports.runner.execute(stream, command, cause, publishOf(publishId))
  return view
}

/** The reaction. */
const runPublish = reaction({
  kind: "run-publish",
  payload: PublishPayload,
  on: {
    PublishQueued: orderedPublishJob,
    PublishRetried: orderedPublishJob,
  },
  concurrency: { machine: 2 },
  isLong: true,
  isDiscardedOnErasure: true,
  discard: async (ports, { companyId, name, payload: { publishId } }) => {
    const giving = { ports, companyId, publishId, cause: causedBy(`run-publish ${name}`) }
    await recordFailure(giving, new PublishFailed("discarded", "An operator gave it up."))
    return null
  },
  perform: async (ports, work) => {
    const { companyId, signal, payload } = work
    const { publishId } = payload
    const cause = causedBy(`run-publish ${work.name}`)
    const inHand = { ports, companyId, publishId, cause, signal }
    try {
      await continuePublish(inHand)
    } catch (error) {
      if (signal.aborted) return { result: "let go" }
      if (isProviderError(error)) return retryOrFail(inHand, work, error.message)
      if (!(error instanceof PublishFailed)) throw error
      await recordFailure(inHand, error)
    }
    return { result: "done" }
  },
})

/** What it needs is not there now: again later, unless it has waited for long enough. */
async function retryOrFail(inHand: PublishRun, work: Job<PublishPayload>, why: string) {
  const { ports, companyId, publishId } = inHand
  const view = await ports.runner.readLatest(publishStreamOf(companyId), publishOf(publishId))
  const waitedMs = view === null ? Infinity : ports.clock.now() - view.at
  if (waitedMs < UNAVAILABLE_FOR_MS) return retryWithBackoff(work, why)
  await recordFailure(
    inHand,
    new PublishFailed("unavailable", "No machine could be had to build it."),
  )
  return { result: "done" } as const
}

async function recordFailure(
  inHand: Omit<PublishRun, "signal">,
  { reason, message }: PublishFailed,
) {
  const { ports, companyId, publishId } = inHand
  const error = await ports.sealing.seal(companyId, COMPANY_SUBJECT, message)
  await recordOutcome(inHand, { type: "FailPublish", publishId, reason, error })
}

/** Goes on from where it is. @throws PublishFailed; what the host of previews and the code throw */
async function continuePublish(inHand: PublishRun): Promise<void> {
  const { publishId } = inHand
  const begun = await recordOutcome(inHand, { type: "StartBuild", publishId })
  if (begun === null || begun.endedAt !== null) return
  if (begun.artifact === null) await build(inHand, begun)
  const { ports, companyId } = inHand
  const artifact = await openArtifact(ports, companyId, publishId)
  if (artifact === null) throw new Error(`what was built of ${publishId} is not there`)
  const isApp = artifact.manifest.recipe.serves.kind === "app"
  if (isApp) await startApp(inHand)
  const view = await recordOutcome(inHand, { type: "GoLive", publishId })
  // A later one was live before it.
  if (isApp && view?.status !== "live")
    await ports.previewHost.removeVersion({ companyId, publishId })
}

/** Builds it, and keeps what was built and what the build wrote. @throws PublishFailed */
async function build(inHand: PublishRun, { commit }: PublishView): Promise<void> {
  const { ports, companyId, publishId, signal } = inHand
  const { recipe, files } = await commitFilesOf(inHand, commit)
  const of = { companyId, publishId }
  const built = await ports.previewHost
    .build({ ...of, recipe, files, signal }, async (tar) => {
      await recordOutcome(inHand, { type: "FinishBuild", publishId })
      return storeArtifact(ports, { ...of, recipe }, tar)
    })
    .catch((error: unknown) => {
      if (error instanceof BadArtifact) throw new PublishFailed("artifact", error.message)
      if (error instanceof TooManyFiles) throw new PublishFailed("build", TOO_MUCH)
      throw error
    })
  if (!built.ok) {
    await storeLog(ports, of, "build", built.log)
    throw new PublishFailed("build", withLogTail(built.reason, built.log.toString("utf8")))
  }
  const { hash, files: count, bytes, leftOut } = built.stored
  const said = leftOut.map((name) => `left out, for it is no file: ${name}\n`).join("")
  await storeLog(ports, of, "build", Buffer.concat([built.log, Buffer.from(said)]))
  const { kind } = recipe.serves
  const tag = await ports.sealing.tag(companyId, hash)
  await recordOutcome(inHand, { type: "StoreArtifact", publishId, kind, tag, files: count, bytes })
}

/** A sentence, and the end of what was written. */
function withLogTail(why: string, log: string): string {
  const tail = toPrintableText(log).trimEnd().slice(-ERROR_TAIL)
  return (tail === "" ? why : `${why}\n${tail}`).toWellFormed()
}

/** The files of the commit, and what its company file says. @throws PublishFailed where it is gone */
async function commitFilesOf(
  { ports, companyId, signal }: PublishRun,
  commit: string,
): Promise<{ readonly recipe: Recipe; readonly files: AsyncIterable<Uint8Array> }> {
  const found = await ports.companyCode.findCommit(companyId, commit)
  const file = await found?.file(COMPANY_FILE, MAX_COMPANY_FILE_BYTES)
  const read = file === undefined || file === null ? null : parseCompanyFile(file)
  if (found === null || read === null || "fault" in read) {
    throw new PublishFailed("build", "The commit is not in the company's code any more.")
  }
  return { recipe: read.recipe, files: found.files(signal) }
}

/** Starts a version of an app, beside the one that is live. @throws PublishFailed */
async function startApp(inHand: PublishRun): Promise<void> {
  const { ports, companyId, publishId } = inHand
  const version = { companyId, publishId }
  try {
    const said = await ports.previewHost.start(await appPlanOf(ports, version, true))
    if (said !== "") await storeLog(ports, version, "start", Buffer.from(said))
  } catch (error) {
    if (!(error instanceof AppStartFailed)) throw error
    // Its sandbox forgets it.
    await storeLog(ports, version, "start", Buffer.from(error.log))
    await ports.previewHost.removeVersion(version)
    throw new PublishFailed("start", withLogTail(error.message, error.log))
  }
}

// The request.

const PublishPreview = z.strictObject({
  commit: z
    .string()
    .regex(/^[0-9a-f]{40}$/, "Must be a full commit id: 40 hexadecimal digits in small letters.")
    .describe("The full id of a commit that a branch or a tag of the company's code has"),
})

/** Who publishes what. */
interface PublishRequest {
  readonly companyId: CompanyId
  readonly keyId: KeyId
  readonly personId: PersonId
  readonly commit: string
}

const NO_PERSON = "This takes a person's own key, not the app's shared one."

/** Whether the commit is there, and its company file this company's; in this order (decisions.md §10). */
async function checkCommit(
  ports: Pick<Ports, "companyCode" | "runner" | "sealing">,
  { companyId, commit }: PublishRequest,
): Promise<{ readonly refusal: Refusal } | null> {
  const found = await ports.companyCode.findCommit(companyId, commit)
  if (found === null) {
    return { refusal: refusal(COMMIT_NOT_FOUND, COMMIT_NOT_FOUND.example.message) }
  }
  const bytes = await found.file(COMPANY_FILE, MAX_COMPANY_FILE_BYTES)
  if (bytes === null) {
    const fault = "is missing, is no file, or has more than 64 KiB"
    return { refusal: badCompanyFile(fault) }
  }
  const read = parseCompanyFile(bytes)
  if ("fault" in read) return { refusal: badCompanyFile(read.fault) }
  const name = await companyName(ports, companyId)
  const isNamed = [name, companyId].some((own) => sameName(own, read.company))
  return isNamed ? null : { refusal: badCompanyFile("does not name this company") }
}

/** Whether two names are one, as companies are called. */
const sameName = (a: string, b: string): boolean =>
  a.trim().toLowerCase() === b.trim().toLowerCase()

/** Whether a publish can be begun now. @throws ProviderUnavailable, ProviderOutcomeUnknown */
async function isPublishingOn(
  { previewHost, runner }: Pick<Ports, "previewHost" | "runner">,
  companyId: CompanyId,
): Promise<boolean> {
  return (
    (await runner.readLatest(PUBLISHING_SWITCHES_STREAM, isPublishingEnabled(companyId))) &&
    (await previewHost.canBuild())
  )
}

/** A publish right after it was queued, whatever became of it since. */
async function replyOf(
  ports: Pick<Ports, "baseUrl" | "runner" | "sealing" | "settings">,
  { companyId, commit }: PublishRequest,
  id: string,
  createdAt: number,
): Promise<PublishReplyBody> {
  const { host } = await previewSiteOf(ports, companyId)
  const fields = { id, commit, status: "queued", address: host, error: null } as const
  return publishReply({ ...fields, createdAt, finishedAt: null })
}

/** The route. */
export const publishPreview = paidRoute({
  ...PUBLISH_ROUTE,
  name: "publishPreview",
  method: "POST",
  url: "/api/v1/publish/preview",
  summary: "Publish a commit as the company's preview",
  example: { body: { commit: "0513dde97b76591a4381b0a407c47d97bb6bf944" } },
  operation: "code.publish.preview",
  additionalOperations: ["code.publish.read"],
  permissions: ["Push and upload code"],
  accountRequirement: "card",
  body: PublishPreview,
  reply: PublishReply,
  statuses: [202],
  refusalCodes: [COMMIT_NOT_FOUND, BAD_COMPANY_FILE, "unavailable"],
  specGap: "The specification leaves the verb open: POST, because it makes something.",

  thing: publish,
  jobs: [runPublish, settleCharge],
  refundReason: "the publish could not be queued",
  draft: async (_ports, { companyId, key, person }, { body }) => {
    if (key === null || person === null) return { refusal: refusal("not_allowed", NO_PERSON) }
    return { companyId, keyId: key.keyId, personId: person.personId, commit: body.commit }
  },
  prepare: async (ports, draft) => {
    try {
      const refused = await checkCommit(ports, draft)
      if (refused !== null) return refused
      return (await isPublishingOn(ports, draft.companyId))
        ? {}
        : { refusal: publishingUnavailable() }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return { refusal: publishingUnavailable() }
    }
  },
  price: (ports) => unitPrice(ports, "deploy"),
  command: async (_ports, _caller, { keyId, personId, commit }, { id: publishId, chargeId }) => ({
    type: "QueuePublish" as const,
    publishId,
    chargeId,
    keyId,
    personId,
    commit,
  }),
  answer: async (ports, draft, id, { view }) => ({
    reply: await replyOf(ports, draft, id, view.at),
  }),
})
