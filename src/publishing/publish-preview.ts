/** `POST /api/v1/publish/preview`: look at the commit, charge, queue, answer; `run-publish.ts` does it. */
import { z } from "zod"
import { isOutside } from "../../adapters/providers/outside.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import { SWITCHES, publishesOf } from "../../domain/publishing/aggregates.ts"
import { MESSAGES } from "../../domain/publishing/publish-commands.ts"
import { isAbandoned, publishOf } from "../../domain/publishing/publishing.ts"
import { isOnFor } from "../../domain/publishing/switches.ts"
import { causeOf } from "../frame/routes/call.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Checked } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { charged } from "../frame/effects/charged.ts"
import { priceOfOne } from "../frame/effects/price-of-one.ts"
import { companyName } from "../frame/effects/mail-people.ts"
import type { Ports } from "../frame/ports.ts"
import { addressOf } from "./address.ts"
import { BAD_COMPANY_FILE, COMMIT_NOT_FOUND, badCompanyFile, unavailable } from "./codes.ts"
import { COMPANY_FILE, MOST_FILE_BYTES, readCompanyFile } from "./company-file.ts"
import type { PublishAnswer } from "./publish-reply.ts"
import { PublishReply, publishAnswer } from "./publish-reply.ts"
import { PUBLISH_PREFIX } from "./reconciled-publish.ts"
import { PUBLISH_ROUTE } from "./see-publishes.ts"

const PublishPreview = z.strictObject({
  commit: z
    .string()
    .regex(/^[0-9a-f]{40}$/, "Must be a full commit id: 40 hexadecimal digits in small letters.")
    .describe("The full id of a commit that a branch or a tag of the company's code has"),
})

/** Who publishes what. */
interface Draft {
  readonly companyId: CompanyId
  readonly keyId: KeyId
  readonly personId: PersonId
  readonly commit: string
}

const NO_PERSON = "This takes a person's own key, not the app's shared one."

/** Whether the commit is there, and its company file this company's; in this order (decisions.md §10). */
async function lookAt(
  ports: Ports,
  { companyId, commit }: Draft,
): Promise<{ readonly refusal: Refusal } | null> {
  const found = await ports.companyCode.findCommit(companyId, commit)
  if (found === null) {
    return { refusal: refusal(COMMIT_NOT_FOUND, COMMIT_NOT_FOUND.example.message) }
  }
  const bytes = await found.file(COMPANY_FILE, MOST_FILE_BYTES)
  if (bytes === null) {
    const fault = "is missing, is no file, or has more than 64 KiB"
    return { refusal: badCompanyFile(fault) }
  }
  const read = readCompanyFile(bytes)
  if ("fault" in read) return { refusal: badCompanyFile(read.fault) }
  const name = await companyName(ports, companyId)
  const isNamed = [name, companyId].some((own) => sameName(own, read.company))
  return isNamed ? null : { refusal: badCompanyFile("does not name this company") }
}

/** Whether two names are one, as companies are called. */
const sameName = (a: string, b: string): boolean =>
  a.trim().toLowerCase() === b.trim().toLowerCase()

/** Whether a publish can be begun now. @throws ProviderUnavailable, ProviderSilent */
async function isOn({ previewHost, runner }: Ports, companyId: CompanyId): Promise<boolean> {
  return (await runner.readLatest(SWITCHES, isOnFor(companyId))) && (await previewHost.isAble())
}

type Input = Checked<z.infer<typeof PublishPreview>>

const preview = charged<Input, Draft, object, PublishAnswer, typeof PUBLISH_PREFIX>({
  prefix: PUBLISH_PREFIX,
  undone: "the publish could not be queued",
  draft: async (_ports, { companyId, key, person }, { body }) => {
    if (key === null || person === null) return { refusal: refusal("not_allowed", NO_PERSON) }
    return { companyId, keyId: key.keyId, personId: person.personId, commit: body.commit }
  },
  prepare: async (ports, draft) => {
    try {
      const refused = await lookAt(ports, draft)
      if (refused !== null) return refused
      return (await isOn(ports, draft.companyId)) ? {} : { refusal: unavailable() }
    } catch (error) {
      if (!isOutside(error)) throw error
      return { refusal: unavailable() }
    }
  },
  price: (ports) => priceOfOne(ports, "deploy"),
  resource: (_draft, id) => id,
  intend: async (ports, caller, draft, _prepared, { id: publishId, chargeId }) => {
    const { companyId, ...rest } = draft
    const queued = await ports.runner.execute(
      publishesOf(companyId),
      { type: "QueuePublish", publishId, chargeId, ...rest },
      causeOf(caller),
      publishOf(publishId),
    )
    // Else it was abandoned meanwhile.
    if (!queued.accepted || queued.view === null) return "again"
    if (queued.facts.length === 0) return "found"
    const reply = await replyOf(ports, draft, publishId, queued.view.at)
    return { reply, position: queued.position }
  },
  begun: async ({ runner }, { companyId }, publishId) => {
    const stream = publishesOf(companyId)
    if (await runner.read(stream, isAbandoned(publishId))) return "undone"
    return (await runner.read(stream, publishOf(publishId))) === null ? "no" : "yes"
  },
  reply: async (ports, draft, publishId) => {
    const { companyId } = draft
    const view = await ports.runner.read(publishesOf(companyId), publishOf(publishId))
    if (view === null) throw new Error(`${publishId}: ${MESSAGES.no_publish}`)
    return { reply: await replyOf(ports, draft, publishId, view.at), position: null }
  },
})

/** A publish right after it was queued, whatever became of it since. */
async function replyOf(
  ports: Ports,
  { companyId, commit }: Draft,
  id: string,
  createdAt: number,
): Promise<PublishAnswer> {
  const { host } = await addressOf(ports, companyId)
  const fields = { id, commit, status: "queued", address: host, error: null } as const
  return publishAnswer({ ...fields, createdAt, finishedAt: null })
}

/** The route. */
export const publishPreview = route({
  ...PUBLISH_ROUTE,
  name: "publishPreview",
  method: "POST",
  url: "/api/v1/publish/preview",
  summary: "Publish a commit as the company's preview",
  example: { body: { commit: "0513dde97b76591a4381b0a407c47d97bb6bf944" } },
  operation: "code.publish.preview",
  also: ["code.publish.read"],
  permissions: ["Push and upload code"],
  account: "card",
  body: PublishPreview,
  reply: PublishReply,
  success: [202],
  refuses: [
    COMMIT_NOT_FOUND,
    BAD_COMPANY_FILE,
    ...(["unavailable", "spend_limit_reached", "payment_required"] as const),
  ],
  specGap: "The specification leaves the verb open: POST, because it makes something.",
  ...preview,
})
