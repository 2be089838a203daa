/** What companies publish, as an operator sees it, tries it again, and turns it off. */
import { z } from "zod"
import {
  publishStreamOf,
  PUBLISHING_SWITCHES_STREAM,
} from "../../../domain/publishing/aggregates.ts"
import { parsePublishId } from "../../../domain/publishing/ids.ts"
import { isPublishingEnabled } from "../../../domain/publishing/publishing-switches.ts"
import type { PublishRow } from "../../../projections/publishing/publishes.ts"
import { findPublish, listPublishes } from "../../../projections/publishing/publishes.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import {
  requireAccepted,
  companyInput,
  findCompany,
  listLimitInput,
  waitForOwnWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import { previewSiteOf } from "../preview-site.ts"
import { toPrintableText, readLog } from "../publish-logs.ts"
import { publishReplyFromRow } from "../publish-reply.ts"

const publishId = z.string().meta({ description: "the publish, by id", argument: "PUBLISH_ID" })

/** The publish of an id that was typed. @throws OperatorRefused where there is none */
async function findPublishRow(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  named: string,
): Promise<PublishRow> {
  await waitForOwnWrites(ports)
  const id = parsePublishId(named)
  const row = id === null ? null : await findPublish(ports.readAll, id)
  if (row === null) throw new OperatorRefused("not_found", `There is no publish ${named}.`)
  return row
}

async function publishSummary(
  ports: Pick<Ports, "baseUrl" | "runner" | "sealing" | "settings">,
  row: PublishRow,
) {
  const { url } = await previewSiteOf(ports, row.company_id)
  const { company_id: companyId, person_id: personId, key_id: keyId } = row
  const { address: _host, ...publish } = publishReplyFromRow(row, url)
  return { companyId, personId, keyId, ...publish, url }
}

const list = operation({
  name: "publish list",
  summary: "list what a company published, the newest first",
  notes: ["Times are UTC. replaced: a later one took its place, or went live before it."],
  example: "publish list --company acme",
  input: z.object({ company: companyInput, limit: listLimitInput }),
  run: async ({ ports }, { company: named, limit }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const rows = await listPublishes(ports.readAll, companyId, limit)
    return { publishes: await Promise.all(rows.map((row) => publishSummary(ports, row))) }
  },
  render: ({ publishes }, page) => {
    const rows = publishes.map(({ id, commit, status, createdAt, finishedAt, error }) => ({
      id,
      commit: commit.slice(0, 12),
      status,
      createdAt,
      finishedAt,
      error: error?.split("\n", 1)[0] ?? null,
    }))
    return renderTable(rows, page, "publishes")
  },
})

const log = operation({
  name: "publish log",
  summary: "show what the build, the release and the app of a publish wrote",
  notes: [
    "Of a build the first and the last MiB are kept, for 30 days; of an app that runs the newest MB.",
    "What a build wrote is there once it has ended, what an app wrote as long as it runs.",
  ],
  example: "publish log pub_4Zb0x7",
  input: z.object({ publishId }),
  consoleAccess: { permission: "Create test environments" },
  run: async ({ ports }, { publishId: named }) => {
    const row = await findPublishRow(ports, named)
    const { company_id: companyId, publish_id: id, status } = row
    const of = { companyId, publishId: id }
    const [build, start] = [await readLog(ports, of, "build"), await readLog(ports, of, "start")]
    const app = await runningAppOf(ports, row)
    return { publishId: id, status, error: row.error, build, start, app }
  },
  render: ({ publishId: id, status, error, build, start, app }) => {
    const parts = [
      `${id} ${status}`,
      ...(error === null ? [] : [(error.split("\n", 1)[0] ?? "").trim()]),
      ...(build === null ? [NO_LOG_REASONS[status] ?? "No log of its build is kept."] : []),
      ...(build === null ? [] : logSection("build", build)),
      ...(start === null ? [] : logSection("start", start)),
      // Of one that did not come up that is the same.
      ...(app === null || status === "failed" ? [] : logSection(`app (${app.status})`, app.log)),
    ]
    return `${parts.join("\n")}\n`
  },
})

/** Why there is no log of a build yet. */
const NO_LOG_REASONS: Readonly<Record<string, string>> = {
  queued: "It waits to be built.",
  building: "It is being built: its log is there once that has ended, in 10 minutes at the latest.",
  uploading: "What was built is being kept; then its log is there.",
}

/** What somebody wrote, under a title. */
const logSection = (who: string, words: string): readonly string[] =>
  words.trim() === "" ? [`Its ${who} wrote nothing.`] : ["", `Its ${who}:`, words.trimEnd()]

/** What the app of a publish wrote since it runs; null where it does not run here. */
async function runningAppOf({ previewHost }: Pick<Ports, "previewHost">, row: PublishRow) {
  const standing = await previewHost.readStatus(row.company_id)
  const found = standing?.versions.find((one) => one.publishId === row.publish_id)
  return found === undefined ? null : { status: found.status, log: toPrintableText(found.log) }
}

const retry = operation({
  name: "publish retry",
  summary: "build a publish that failed once more, as the newest",
  notes: ["Nothing is charged for it: what it cost was given back when it failed."],
  example: 'publish retry pub_4Zb0x7 --reason "the disk was full"',
  changes: true,
  input: z.object({ publishId }),
  run: async ({ ports, cause }, { publishId: named }) => {
    const { company_id: companyId, publish_id: id } = await findPublishRow(ports, named)
    const again = { type: "RetryPublish" as const, publishId: id }
    requireAccepted(await ports.runner.execute(publishStreamOf(companyId), again, cause))
    return publishSummary(ports, await findPublishRow(ports, id))
  },
})

const optionalCompany = companyInput
  .optional()
  .meta({ description: "one company, by id or name; default all of them" })

/** Turns publishing off or on. */
async function setPublishing(
  { ports, cause }: AdminContext,
  one: string | undefined,
  isOn: boolean,
) {
  const companyId = one === undefined ? null : await findCompany(ports, one)
  const command = { type: "SwitchPublishing" as const, companyId, isOn }
  requireAccepted(await ports.runner.execute(PUBLISHING_SWITCHES_STREAM, command, cause))
  const now =
    companyId === null
      ? null
      : await ports.runner.read(PUBLISHING_SWITCHES_STREAM, isPublishingEnabled(companyId))
  return { companyId, publishing: (now ?? isOn) ? ("on" as const) : ("off" as const) }
}

const off = operation({
  name: "publish off",
  summary: "turn publishing off: calls are answered 503, and nothing is charged",
  notes: ["What is queued goes on, and previews stay as they are."],
  example: 'publish off --reason "the machine is moved"',
  changes: true,
  input: z.object({ company: optionalCompany }),
  run: (context, input) => setPublishing(context, input.company, false),
})

const on = operation({
  name: "publish on",
  summary: "turn publishing on again",
  notes: ["Where it is off for all companies, it stays off for each."],
  example: "publish on",
  changes: true,
  input: z.object({ company: optionalCompany }),
  run: (context, input) => setPublishing(context, input.company, true),
})

/** Operations on what companies publish. */
export const publishOperations: readonly AdminOperation[] = [list, log, retry, off, on]
