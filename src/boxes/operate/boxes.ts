/** Operations on companies' boxes: list, show, stop, and end orphans. */
import { z } from "zod"
import { boxStreamOf } from "../../../domain/boxes/aggregates.ts"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import { parseBoxId } from "../../../domain/boxes/ids.ts"
import type { BoxRow } from "../../../projections/boxes/boxes.ts"
import { findBox, listBoxes } from "../../../projections/boxes/boxes.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import {
  requireAccepted,
  companyInput,
  findCompany,
  listLimitInput,
  waitForOwnWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation, OperatorRefused } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import { boxReplies } from "../box-reply.ts"
import { renewBoxLeases } from "../box-leases.ts"

const boxId = z.string().meta({ description: "the box, by id", argument: "BOX_ID" })

/** Finds a box by its id. @throws OperatorRefused if there is no such box */
async function findBoxRow(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  named: string,
): Promise<BoxRow> {
  await waitForOwnWrites(ports)
  const id = parseBoxId(named)
  const row = id === null ? null : await findBox(ports.readAll, id)
  if (row === null)
    throw new OperatorRefused(
      "not_found",
      `There is no box ${named}. List them with "box list --company COMPANY".`,
    )
  return row
}

async function boxSummary(ports: Pick<Ports, "baseUrl" | "readAs" | "settings">, row: BoxRow) {
  const [box] = await boxReplies(ports, row.company_id, [row])
  const { company_id: companyId, person_id: personId, key_id: keyId } = row
  return { companyId, personId, keyId, ...box }
}

const list = operation({
  name: "box list",
  summary: "list a company's boxes, newest first",
  notes: ["Times are UTC. Ended boxes stay listed until they are deleted."],
  example: "box list --company acme",
  input: z.object({ company: companyInput, limit: listLimitInput }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports }, { company: named, limit }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
    const rows = await listBoxes(ports.readAll, companyId, null, limit)
    return { boxes: await Promise.all(rows.map((row) => boxSummary(ports, row))) }
  },
  render: ({ boxes }, page) => {
    const rows = boxes.map(({ id, size, status, stopReason, createdAt, spent, label }) => ({
      id,
      size,
      status,
      stopReason,
      createdAt,
      minutes: spent?.minutes,
      dollars: spent?.dollars,
      label,
    }))
    return renderTable(rows, page, "boxes")
  },
})

const show = operation({
  name: "box show",
  summary: "show a box and the health of its machine",
  example: "box show box_4Zb0x7",
  input: z.object({ boxId }),
  run: async ({ ports }, { boxId: named }) => {
    const row = await findBoxRow(ports, named)
    const machine = await ports.boxHost.find(row.box_id)
    const signs = (await machine?.readHealth()) ?? null
    return { ...(await boxSummary(ports, row)), machine: signs }
  },
})

const stop = operation({
  name: "box stop",
  summary: "stop a box now; its files are lost",
  example: 'box stop box_4Zb0x7 --reason "requested by the owner"',
  changes: true,
  irreversible: { field: "boxId", says: "the box ends, and unpushed changes are lost" },
  input: z.object({ boxId }),
  run: async ({ ports, cause }, { boxId: named }) => {
    const { company_id: companyId, box_id: id } = await findBoxRow(ports, named)
    const command = { type: "StopBox" as const, boxId: id, reason: "stopped" as const }
    const stopping = { ...command, keyId: null, personId: null }
    requireAccepted(await ports.runner.execute(boxStreamOf(companyId, id), stopping, cause))
    await waitForOwnWrites(ports)
    return boxSummary(ports, await findBoxRow(ports, id))
  },
})

const sweep = operation({
  name: "box sweep",
  summary: "end machines whose box has ended or is unknown",
  notes: ["A server does this by itself every 20 seconds."],
  example: "box sweep",
  input: z.object({}),
  run: async ({ ports }) => {
    await waitForOwnWrites(ports)
    const before = await ports.boxHost.listBoxes()
    // All writes are visible, so a box that is unknown now is an orphan.
    await renewBoxLeases(ports, new Set<BoxId>(before))
    const after = await ports.boxHost.listBoxes()
    return { machines: after.length, ended: before.filter((one) => !after.includes(one)) }
  },
})

export const boxOperations: readonly AdminOperation[] = [list, show, stop, sweep]
