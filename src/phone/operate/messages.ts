import { z } from "zod"
import { listMessages } from "../../../projections/phone/messages.ts"
import {
  companyInput,
  timeInput,
  findCompany,
  listLimitInput,
  renderList,
  waitForOwnWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"

const list = operation({
  name: "message list",
  summary: "list a company's texts in both directions, newest last",
  notes: [
    "Times are UTC. If there are more than the limit, the newest are shown.",
    "--json also shows the body of each text.",
  ],
  example: "message list --company acme --since 2026-11-21T12:00:00Z",
  input: z.object({
    company: companyInput,
    since: timeInput.optional().meta({ description: "only those after this time" }),
    before: timeInput.optional().meta({ description: "only those before this time" }),
    limit: listLimitInput,
  }),
  run: async ({ ports }, { company: named, since, before, limit }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const rows = await listMessages(ports.readAll, {
      companyId,
      since: since === undefined ? null : new Date(since),
      before: before === undefined ? null : new Date(before),
      // One extra row tells whether more exist.
      limit: limit + 1,
    })
    const shown = rows.slice(-limit)
    const messages = shown.map((row) => ({
      messageId: row.message_id,
      at: row.created_at.toISOString(),
      direction: row.direction,
      from: row.from_number,
      to: row.to_number,
      body: row.body,
      status: row.status,
      errorCode: row.error_code,
      keyId: row.key_id,
      chargeId: row.charge_id,
    }))
    return { messages, next: rows.length > limit ? (messages[0]?.at ?? null) : null }
  },
  // A body may have many lines, so the table leaves it out.
  render: ({ messages, next }, page) => {
    const rows = messages.map(({ at, messageId, direction, from, to, status, chargeId }) => {
      return { at, messageId, direction, from, to, status, chargeId }
    })
    return renderList(rows, next, page, "messages")
  },
})

export const messageOperations: readonly AdminOperation[] = [list]
