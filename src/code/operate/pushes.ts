/** Pushes to a company's code, as an operator sees them, and what of them is let through. */
import { z } from "zod"
import { codeStreamOf } from "../../../domain/code/aggregates.ts"
import { listPushes } from "../../../projections/code/pushes.ts"
import {
  requireAccepted,
  companyInput,
  findCompany,
  findUnerasedCompany,
  listLimitInput,
  renderList,
  waitForOwnWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { escapeNonPrintable } from "../push-refusal.ts"
import { scrubObject } from "../serve-push.ts"

const list = operation({
  name: "code pushes",
  summary: "list the pushes to a company's code, newest first, and why some were refused",
  notes: [
    "Times are UTC. accepted: it is on its way. other: not all of its refs moved as it wanted; each says what it did.",
    "Of many refusals in a minute the first ten are kept, and all for which a key was switched off.",
  ],
  example: "code pushes --company acme --limit 20",
  input: z.object({
    company: companyInput,
    before: z.int().nonnegative().optional().meta({ description: "only earlier ones" }),
    limit: listLimitInput,
  }),
  consoleAccess: { permission: "Download and pull the code" },
  run: async ({ ports }, { company: named, before, limit }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const rows = await listPushes(ports.readAll, companyId, before ?? null, limit + 1)
    const pushes = rows.slice(0, limit).map((row) => ({
      revision: Number(row.revision),
      at: row.pushed_at.toISOString(),
      pushId: row.push_id,
      status: row.status,
      code: row.code,
      personId: row.person_id,
      keyId: row.key_id,
      objects: Number(row.objects),
      bytes: Number(row.bytes),
      lines: row.lines?.split("\n").map(escapeNonPrintable) ?? null,
    }))
    return { pushes, next: rows.length > limit ? (pushes.at(-1)?.revision ?? null) : null }
  },
  render: ({ pushes, next }, page) => {
    const rows = pushes.map(({ lines, ...push }) => ({
      ...push,
      about: lines?.join(" · ") ?? null,
    }))
    return renderList(rows, next, page, "pushes")
  },
})

const allowSecret = operation({
  name: "repository allow-secret",
  summary: "let a text through that looks like a secret and is none",
  notes: ["An API key of this service is never let through."],
  example:
    'repository allow-secret 0f3c5a1e9b7d24680f3c5a1e9b7d2468 --company acme --reason "an example"',
  changes: true,
  needsReason: true,
  input: z.object({
    fingerprint: z
      .string()
      .regex(/^[0-9a-f]{32}$/, "must be the 32 hex digits that the refusal showed")
      .meta({ description: "the fingerprint that the refusal showed", argument: "FINGERPRINT" }),
    company: companyInput,
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { fingerprint, company: named }) => {
    const companyId = await findUnerasedCompany(ports, named)
    const command = { type: "AllowSecret" as const, fingerprint }
    requireAccepted(await ports.runner.execute(codeStreamOf(companyId), command, cause))
    return { fingerprint, companyId, allowed: true }
  },
})

/** Operations on pushes. */
export const pushOperations: readonly AdminOperation[] = [list, allowSecret]

/** Takes an object out. @throws OperatorRefused where a ref reaches it, or it is not there */
export const scrubOperation: AdminOperation = operation({
  name: "repository scrub",
  summary: "take a file's content, or a commit, out of a company's repository for good",
  notes: [
    "For a secret that came in: git hands out whatever was pushed once, to whoever knows its id, also when no branch has it. First take it out of all branches and tags (rewrite the commits, push with --force; delete old branches).",
    "All else that no branch or tag reaches goes too. Nobody can push meanwhile. Backups of before have it still.",
    "git rev-parse COMMIT:PATH says the id of a file's content. For what stands in a commit's message or a tag's, give the id of that commit or tag.",
  ],
  example:
    'repository scrub 0f3c5a1e9b7d24680f3c5a1e9b7d24680f3c5a1e --company acme --reason "a password"',
  changes: true,
  needsReason: true,
  isLongRunning: true,
  irreversible: { field: "blob", says: "the content is taken out of the repository, for ever" },
  input: z.object({
    blob: z
      .string()
      .regex(/^[0-9a-f]{40}$/, "must be the id of a file's content or of a commit, 40 hex digits")
      .meta({ description: "the id of the content, commit, folder or tag", argument: "BLOB" }),
    company: companyInput,
  }),
  consoleAccess: { roles: ["owner"] },
  run: async ({ ports, cause }, { blob, company: named }) => {
    const companyId = await findUnerasedCompany(ports, named)
    requireAccepted(
      await ports.runner.execute(codeStreamOf(companyId), { type: "StartScrub", blob }, cause),
    )
    const found = await scrubObject(ports, companyId, blob, cause)
    if (found.outcome === "reached") {
      const at = escapeNonPrintable(found.path)
      const message = `A branch or tag has it still, or its history does${at === "" ? "" : `, at ${at}`}: rewrite that first.`
      throw new OperatorRefused("still_reached", message)
    }
    if (found.outcome === "missing") {
      throw new OperatorRefused("not_found", `The repository has nothing of the id ${blob}.`)
    }
    return { companyId, blob, gone: true }
  },
})
