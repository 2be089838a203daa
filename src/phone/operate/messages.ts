/** Texts of a company, as an operator lists them. */
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
  summary: "list a company's texts in both directions, the newest last",
  notes: [
    "Times are UTC. Where there are more than are shown, they are the newest.",
    "With --json each text's body is shown as well.",
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
      // One more than is shown says whether there are more.
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
  // One line a text, whose body may have many.
  render: ({ messages, next }, page) => {
    const rows = messages.map(({ at, messageId, direction, from, to, status, chargeId }) => {
      return { at, messageId, direction, from, to, status, chargeId }
    })
    return renderList(rows, next, page, "messages")
  },
})

/** Operations on texts. */
export const messageOperations: readonly AdminOperation[] = [list]
