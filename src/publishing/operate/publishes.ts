/** Operations on publishes: list, read logs, retry, and turn publishing off or on. */
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

/** Finds a publish by its id. @throws OperatorRefused if there is no such publish */
async function findPublishRow(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  named: string,
): Promise<PublishRow> {
  await waitForOwnWrites(ports)
  const id = parsePublishId(named)
  const row = id === null ? null : await findPublish(ports.readAll, id)
  if (row === null)
    throw new OperatorRefused(
      "not_found",
      `No publish ${named}. List a company's publishes: publish list --company COMPANY.`,
    )
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
  summary: "list a company's publishes, newest first",
  notes: ["Times are UTC. replaced: a later publish is live, or went live first."],
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
  summary: "show the logs of a publish: its build, its release and its app",
  notes: [
    "The first and last MiB of a build log are kept for 30 days; of a running app's log, only the newest MB is kept.",
    "A build log is available when the build has ended, an app log while the app runs.",
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
      ...(build === null ? [NO_LOG_REASONS[status] ?? "Its build log no longer exists."] : []),
      ...(build === null ? [] : logSection("build", build)),
      ...(start === null ? [] : logSection("start", start)),
      // For a failed start the start log is the app log.
      ...(app === null || status === "failed" ? [] : logSection(`app (${app.status})`, app.log)),
    ]
    return `${parts.join("\n")}\n`
  },
})

const NO_LOG_REASONS: Readonly<Record<string, string>> = {
  queued: "The build is queued.",
  building: "The build is running. Its log is available when it ends, within 10 minutes.",
  uploading: "The result is being stored. The log is available after that.",
}

const logSection = (who: string, text: string): readonly string[] =>
  text.trim() === "" ? [`The ${who} log is empty.`] : ["", `Log of the ${who}:`, text.trimEnd()]

/** Log and status of a publish's running app; null if it does not run on this host. */
async function runningAppOf({ previewHost }: Pick<Ports, "previewHost">, row: PublishRow) {
  const status = await previewHost.readStatus(row.company_id)
  const found = status?.versions.find((one) => one.publishId === row.publish_id)
  return found === undefined ? null : { status: found.status, log: toPrintableText(found.log) }
}

const retry = operation({
  name: "publish retry",
  summary: "build a failed publish again, as the newest",
  notes: ["The retry is free: the charge was refunded when the publish failed."],
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
  .meta({ description: "one company, by id or name; default all companies" })

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
  summary: "turn publishing off: publish calls get 503 and are not charged",
  notes: ["Queued publishes continue, and previews stay online."],
  example: 'publish off --reason "we move the machine"',
  changes: true,
  input: z.object({ company: optionalCompany }),
  run: (context, input) => setPublishing(context, input.company, false),
})

const on = operation({
  name: "publish on",
  summary: "turn publishing on again",
  notes: ["If publishing is off for all companies, it stays off for each."],
  example: "publish on",
  changes: true,
  input: z.object({ company: optionalCompany }),
  run: (context, input) => setPublishing(context, input.company, true),
})

export const publishOperations: readonly AdminOperation[] = [list, log, retry, off, on]
