/**
 * `POST /api/v1/publish/preview`: the publish and its charge, the job that builds it and takes it live, and the
 * route. A process that continues another one's job finds the progress in the stream. Only the sandbox sees a
 * build's effects, so an interrupted build starts again from the commit.
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
import { paidResource } from "../frame/effects/paid-resource.ts"
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

// The publish and its charge (docs/decisions/publishing.md).

const FAILED = { amountMicros: null, reason: "the publish failed" }
const REPLACED = { amountMicros: null, reason: "a later publish went live before it" }

/** Publishes as paid resources. A publish that an operator retries is free: its charge is refunded. */
const publish = paidResource({
  prefix: "pub",
  aggregate: PUBLISH_AGGREGATE,
  resolve: (companyId, resource) => {
    const id = parsePublishId(resource)
    return id === null ? null : { id, stream: publishStreamOf(companyId) }
  },
  view: (id) => (state) => (isPublishAbandoned(id)(state) ? "abandoned" : publishOf(id)(state)),
  status: ({ chargeId, endedAt, isFree, status, wasLive }) => {
    const refunded = isFree || status === "failed" ? FAILED : REPLACED
    const end = wasLive && !isFree ? "settled" : refunded
    return { chargeId, charge: endedAt === null && !isFree ? "pending" : end, isVoid: false }
  },
  abandonCommand: (publishId) => ({ type: "AbandonPublish" as const, publishId }),
  neverBegunReason: "the publish was never queued",
})

/** Settles or refunds the charge of a publish. */
const settleCharge = reaction({
  kind: "settle-publish-charge",
  payload: PublishPayload,
  on: { PublishLive: publishJob(), PublishFailed: publishJob(), PublishReplaced: publishJob() },
  discard: "never",
  perform: async (ports, { companyId, name, payload: { publishId } }) => {
    const view = await ports.runner.readLatest(publishStreamOf(companyId), publishOf(publishId))
    await publish.settle(ports, companyId, view, causedBy(`settle-publish-charge ${name}`))
    return { result: "done" }
  },
})

// Building, and going live.

/** A publish fails if no machine is available for this long, milliseconds. */
const UNAVAILABLE_FOR_MS = 15 * 60_000
/** Characters of the end of the build log in an error. */
const ERROR_TAIL = 2_000

const TOO_MUCH = "The commit's files are larger than 2 GiB, the limit."

/** The publish failed; the message tells people why. */
class PublishFailed extends Error {
  override readonly name = "PublishFailed"
  readonly reason: PublishFailReason

  constructor(reason: PublishFailReason, message: string) {
    super(message)
    this.reason = reason
  }
}

interface PublishRun {
  readonly ports: Ports
  readonly companyId: CompanyId
  readonly publishId: PublishId
  readonly cause: Cause
  readonly signal: AbortSignal
}

/** Records an outcome; returns the new state. */
async function recordOutcome(
  { ports, companyId, publishId, cause }: Omit<PublishRun, "signal">,
  command: PublishCommand,
): Promise<PublishView | null> {
  const stream = publishStreamOf(companyId)
  const { view } = await ports.runner.execute(stream, command, cause, publishOf(publishId))
  return view
}

/** Builds a publish and takes it live. */
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
    const run = { ports, companyId, publishId, cause: causedBy(`run-publish ${name}`) }
    await recordFailure(run, new PublishFailed("discarded", "An operator discarded it."))
    return null
  },
  perform: async (ports, work) => {
    const { companyId, signal, payload } = work
    const { publishId } = payload
    const cause = causedBy(`run-publish ${work.name}`)
    const run = { ports, companyId, publishId, cause, signal }
    try {
      await continuePublish(run)
    } catch (error) {
      if (signal.aborted) return { result: "released" }
      if (isProviderError(error)) return retryOrFail(run, work, error.message)
      if (!(error instanceof PublishFailed)) throw error
      await recordFailure(run, error)
    }
    return { result: "done" }
  },
})

/** Retries later if a machine is unavailable; fails the publish after `UNAVAILABLE_FOR_MS`. */
async function retryOrFail(run: PublishRun, work: Job<PublishPayload>, reason: string) {
  const { ports, companyId, publishId } = run
  const view = await ports.runner.readLatest(publishStreamOf(companyId), publishOf(publishId))
  const waitedMs = view === null ? Infinity : ports.clock.now() - view.at
  if (waitedMs < UNAVAILABLE_FOR_MS) return retryWithBackoff(work, reason)
  await recordFailure(
    run,
    new PublishFailed("unavailable", "No machine was available for the build."),
  )
  return { result: "done" } as const
}

async function recordFailure(run: Omit<PublishRun, "signal">, { reason, message }: PublishFailed) {
  const { ports, companyId, publishId } = run
  const error = await ports.sealing.seal(companyId, COMPANY_SUBJECT, message)
  await recordOutcome(run, { type: "FailPublish", publishId, reason, error })
}

/** Continues from the recorded state. @throws PublishFailed; the errors of the preview host and the code */
async function continuePublish(run: PublishRun): Promise<void> {
  const { publishId } = run
  const view = await recordOutcome(run, { type: "StartBuild", publishId })
  if (view === null || view.endedAt !== null) return
  if (view.artifact === null) await build(run, view)
  const { ports, companyId } = run
  const artifact = await openArtifact(ports, companyId, publishId)
  if (artifact === null) throw new Error(`the artifact of ${publishId} is missing`)
  const isApp = artifact.manifest.recipe.serves.kind === "app"
  if (isApp) await startApp(run)
  const outcome = await recordOutcome(run, { type: "GoLive", publishId })
  // A later publish went live first.
  if (isApp && outcome?.status !== "live")
    await ports.previewHost.removeVersion({ companyId, publishId })
}

/** Builds the commit, and stores the artifact and the log. @throws PublishFailed */
async function build(run: PublishRun, { commit }: PublishView): Promise<void> {
  const { ports, companyId, publishId, signal } = run
  const { recipe, files } = await commitFilesOf(run, commit)
  const of = { companyId, publishId }
  const built = await ports.previewHost
    .build({ ...of, recipe, files, signal }, async (tar) => {
      await recordOutcome(run, { type: "FinishBuild", publishId })
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
  const notes = leftOut.map((name) => `skipped, because it is not a file: ${name}\n`).join("")
  await storeLog(ports, of, "build", Buffer.concat([built.log, Buffer.from(notes)]))
  const { kind } = recipe.serves
  const tag = await ports.sealing.tag(companyId, hash)
  await recordOutcome(run, { type: "StoreArtifact", publishId, kind, tag, files: count, bytes })
}

function withLogTail(sentence: string, log: string): string {
  const tail = toPrintableText(log).trimEnd().slice(-ERROR_TAIL)
  return (tail === "" ? sentence : `${sentence}\n${tail}`).toWellFormed()
}

/** The files and the recipe of the commit. @throws PublishFailed if the commit is gone */
async function commitFilesOf(
  { ports, companyId, signal }: PublishRun,
  commit: string,
): Promise<{ readonly recipe: Recipe; readonly files: AsyncIterable<Uint8Array> }> {
  const found = await ports.companyCode.findCommit(companyId, commit)
  const file = await found?.file(COMPANY_FILE, MAX_COMPANY_FILE_BYTES)
  const read = file === undefined || file === null ? null : parseCompanyFile(file)
  if (found === null || read === null || "fault" in read) {
    throw new PublishFailed("build", "The commit is no longer in the company's code.")
  }
  return { recipe: read.recipe, files: found.files(signal) }
}

/** Starts a version of an app, next to the live one. @throws PublishFailed */
async function startApp(run: PublishRun): Promise<void> {
  const { ports, companyId, publishId } = run
  const version = { companyId, publishId }
  try {
    const log = await ports.previewHost.start(await appPlanOf(ports, version, true))
    if (log !== "") await storeLog(ports, version, "start", Buffer.from(log))
  } catch (error) {
    if (!(error instanceof AppStartFailed)) throw error
    // The sandbox does not keep the log.
    await storeLog(ports, version, "start", Buffer.from(error.log))
    await ports.previewHost.removeVersion(version)
    throw new PublishFailed("start", withLogTail(error.message, error.log))
  }
}

// The route.

const PublishPreview = z.strictObject({
  commit: z
    .string()
    .regex(/^[0-9a-f]{40}$/, "Must be a full commit id: 40 lowercase hexadecimal digits.")
    .describe("Full id of a commit that is in a branch or tag of the company's code"),
})

interface PublishRequest {
  readonly companyId: CompanyId
  readonly keyId: KeyId
  readonly personId: PersonId
  readonly commit: string
}

const NO_PERSON = "Use a person's own key: the app key cannot publish."

/** Checks that the commit exists, then that its company file names this company (docs/decisions/publishing.md). */
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
    const fault = "is missing, is not a file, or is larger than 64 KiB"
    return { refusal: badCompanyFile(fault) }
  }
  const read = parseCompanyFile(bytes)
  if ("fault" in read) return { refusal: badCompanyFile(read.fault) }
  const name = await companyName(ports, companyId)
  const isNamed = [name, companyId].some((known) => sameName(known, read.company))
  return isNamed ? null : { refusal: badCompanyFile("does not name this company") }
}

/** Compares company names, without case and outer spaces. */
const sameName = (a: string, b: string): boolean =>
  a.trim().toLowerCase() === b.trim().toLowerCase()

/** Whether a publish can start now. @throws ProviderUnavailable, ProviderOutcomeUnknown */
async function isPublishingOn(
  { previewHost, runner }: Pick<Ports, "previewHost" | "runner">,
  companyId: CompanyId,
): Promise<boolean> {
  return (
    (await runner.readLatest(PUBLISHING_SWITCHES_STREAM, isPublishingEnabled(companyId))) &&
    (await previewHost.canBuild())
  )
}

/** The reply to a publish request, independent of later changes. */
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
  specGap: "The specification does not show the method: POST, because the route creates something.",

  paidResource: publish,
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
