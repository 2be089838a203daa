/** Operations on pushes: list them, allow an apparent secret, and remove an object. */
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
  summary: "list the pushes to a company's code, newest first, and why some were rejected",
  notes: [
    "Times are UTC. accepted: in progress. other: not all refs moved as requested; each shows its result.",
    "In each minute the first ten rejections are stored, plus every one that revoked a key.",
  ],
  example: "code pushes --company acme --limit 20",
  input: z.object({
    company: companyInput,
    before: z
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "only pushes before this revision" }),
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
  summary: "allow a text that only looks like a secret",
  notes: ["API keys of this service cannot be allowed."],
  example:
    'repository allow-secret 0f3c5a1e9b7d24680f3c5a1e9b7d2468 --company acme --reason "an example"',
  changes: true,
  needsReason: true,
  input: z.object({
    fingerprint: z
      .string()
      .regex(/^[0-9a-f]{32}$/, "must be the 32 hex digits that the refusal shows")
      .meta({ description: "the fingerprint that the refusal shows", argument: "FINGERPRINT" }),
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

export const pushOperations: readonly AdminOperation[] = [list, allowSecret]

/** Removes an object. @throws OperatorRefused if a ref reaches it, or it does not exist */
export const scrubOperation: AdminOperation = operation({
  name: "repository scrub",
  summary: "remove a file's content or a commit from a company's repository for good",
  notes: [
    "Use it for a pushed secret: git serves every pushed object to anyone who knows its id, even if no branch has it. First remove it from all branches and tags (rewrite the commits, push with --force; delete old branches).",
    "All other objects that no branch or tag reaches are removed, too. Pushes are rejected meanwhile. Older backups still have the object.",
    "git rev-parse COMMIT:PATH prints the id of a file's content. For text in the message of a commit or tag, use the id of that commit or tag.",
  ],
  example:
    'repository scrub 0f3c5a1e9b7d24680f3c5a1e9b7d24680f3c5a1e --company acme --reason "a password"',
  changes: true,
  needsReason: true,
  isLongRunning: true,
  irreversible: { field: "blob", says: "the content is removed from the repository for good" },
  input: z.object({
    blob: z
      .string()
      .regex(/^[0-9a-f]{40}$/, "must be the id of a file's content or of a commit: 40 hex digits")
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
    if (found.outcome === "reachable") {
      const at = escapeNonPrintable(found.path)
      const message = `A branch or tag, or its history, still has it${at === "" ? "" : ` at ${at}`}. Rewrite that history first.`
      throw new OperatorRefused("still_reached", message)
    }
    if (found.outcome === "missing") {
      throw new OperatorRefused("not_found", `The repository has no object ${blob}.`)
    }
    return { companyId, blob, gone: true }
  },
})
