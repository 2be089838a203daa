/** What companies publish, as an operator sees it, tries it again, and turns it off. */
import { z } from "zod"
import { publishesOf, SWITCHES } from "../../../domain/publishing/aggregates.ts"
import { parsePublishId } from "../../../domain/publishing/ids.ts"
import { isOnFor } from "../../../domain/publishing/switches.ts"
import type { PublishRow } from "../../../projections/publishing/publishes.ts"
import { findPublish, listPublishes } from "../../../projections/publishing/publishes.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import {
  accepted,
  company,
  findCompany,
  listLimit,
  showWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { operation, OperatorRefused } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import { addressOf } from "../address.ts"
import { printable, readLog } from "../build-log.ts"
import { answerOfRow } from "../publish-reply.ts"

const publishId = z.string().meta({ description: "the publish, by id", argument: "PUBLISH_ID" })

/** The publish of an id that was typed. @throws OperatorRefused where there is none */
async function findNamed(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  named: string,
): Promise<PublishRow> {
  await showWrites(ports)
  const id = parsePublishId(named)
  const row = id === null ? null : await findPublish(ports.readAll, id)
  if (row === null) throw new OperatorRefused("not_found", `There is no publish ${named}.`)
  return row
}

async function shown(
  ports: Pick<Ports, "baseUrl" | "runner" | "sealing" | "settings">,
  row: PublishRow,
) {
  const { url } = await addressOf(ports, row.company_id)
  const { company_id: companyId, person_id: personId, key_id: keyId } = row
  const { address: _host, ...publish } = answerOfRow(row, url)
  return { companyId, personId, keyId, ...publish, url }
}

const list = operation({
  name: "publish list",
  summary: "list what a company published, the newest first",
  notes: ["Times are UTC. replaced: a later one took its place, or went live before it."],
  example: "publish list --company acme",
  input: z.object({ company, limit: listLimit }),
  run: async ({ ports }, { company: named, limit }) => {
    const companyId = await findCompany(ports, named)
    await showWrites(ports)
    const rows = await listPublishes(ports.readAll, companyId, limit)
    return { publishes: await Promise.all(rows.map((row) => shown(ports, row))) }
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
  console: { permission: "Create test environments" },
  run: async ({ ports }, { publishId: named }) => {
    const row = await findNamed(ports, named)
    const { company_id: companyId, publish_id: id, status } = row
    const of = { companyId, publishId: id }
    const [build, start] = [await readLog(ports, of, "build"), await readLog(ports, of, "start")]
    const app = await appOf(ports, row)
    return { publishId: id, status, error: row.error, build, start, app }
  },
  render: ({ publishId: id, status, error, build, start, app }) => {
    const parts = [
      `${id} ${status}`,
      ...(error === null ? [] : [(error.split("\n", 1)[0] ?? "").trim()]),
      ...(build === null ? [NO_LOG[status] ?? "No log of its build is kept."] : []),
      ...(build === null ? [] : wrote("build", build)),
      ...(start === null ? [] : wrote("start", start)),
      // Of one that did not come up that is the same.
      ...(app === null || status === "failed" ? [] : wrote(`app (${app.status})`, app.log)),
    ]
    return `${parts.join("\n")}\n`
  },
})

/** Why there is no log of a build yet. */
const NO_LOG: Readonly<Record<string, string>> = {
  queued: "It waits to be built.",
  building: "It is being built: its log is there once that has ended, in 10 minutes at the latest.",
  uploading: "What was built is being kept; then its log is there.",
}

/** What somebody wrote, under a title. */
const wrote = (who: string, words: string): readonly string[] =>
  words.trim() === "" ? [`Its ${who} wrote nothing.`] : ["", `Its ${who}:`, words.trimEnd()]

/** What the app of a publish wrote since it runs; null where it does not run here. */
async function appOf({ previewHost }: Pick<Ports, "previewHost">, row: PublishRow) {
  const standing = await previewHost.look(row.company_id)
  const found = standing?.versions.find((one) => one.publishId === row.publish_id)
  return found === undefined ? null : { status: found.status, log: printable(found.log) }
}

const retry = operation({
  name: "publish retry",
  summary: "build a publish that failed once more, as the newest",
  notes: ["Nothing is charged for it: what it cost was given back when it failed."],
  example: 'publish retry pub_4Zb0x7 --reason "the disk was full"',
  changes: true,
  input: z.object({ publishId }),
  run: async ({ ports, cause }, { publishId: named }) => {
    const { company_id: companyId, publish_id: id } = await findNamed(ports, named)
    const again = { type: "RetryPublish" as const, publishId: id }
    accepted(await ports.runner.execute(publishesOf(companyId), again, cause))
    return shown(ports, await findNamed(ports, id))
  },
})

const named = company
  .optional()
  .meta({ description: "one company, by id or name; default all of them" })

/** Turns publishing off or on. */
async function turn({ ports, cause }: AdminContext, one: string | undefined, isOn: boolean) {
  const companyId = one === undefined ? null : await findCompany(ports, one)
  const command = { type: "TurnPublishing" as const, companyId, isOn }
  accepted(await ports.runner.execute(SWITCHES, command, cause))
  const now = companyId === null ? null : await ports.runner.read(SWITCHES, isOnFor(companyId))
  return { companyId, publishing: (now ?? isOn) ? ("on" as const) : ("off" as const) }
}

const off = operation({
  name: "publish off",
  summary: "turn publishing off: calls are answered 503, and nothing is charged",
  notes: ["What is queued goes on, and previews stay as they are."],
  example: 'publish off --reason "the machine is moved"',
  changes: true,
  input: z.object({ company: named }),
  run: (context, input) => turn(context, input.company, false),
})

const on = operation({
  name: "publish on",
  summary: "turn publishing on again",
  notes: ["Where it is off for all companies, it stays off for each."],
  example: "publish on",
  changes: true,
  input: z.object({ company: named }),
  run: (context, input) => turn(context, input.company, true),
})

/** Operations on what companies publish. */
export const publishOperations: readonly AdminOperation[] = [list, log, retry, off, on]
