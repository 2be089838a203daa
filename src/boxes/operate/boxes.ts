/** Boxes of companies: listed, looked at, stopped, and those that nobody knows ended. */
import { z } from "zod"
import { boxStreamOf } from "../../../domain/boxes/aggregates.ts"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import { parseBoxId } from "../../../domain/boxes/ids.ts"
import type { BoxRow } from "../../../projections/boxes/boxes.ts"
import { findBox, listBoxes } from "../../../projections/boxes/boxes.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import {
  accepted,
  company,
  findCompany,
  listLimit,
  showWrites,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation, OperatorRefused } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import { boxAnswers } from "../box-reply.ts"
import { keepBoxes } from "../leases.ts"

const boxId = z.string().meta({ description: "the box, by id", argument: "BOX_ID" })

/** The box of an id that was typed. @throws OperatorRefused where there is none */
async function findNamed(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  named: string,
): Promise<BoxRow> {
  await showWrites(ports)
  const id = parseBoxId(named)
  const row = id === null ? null : await findBox(ports.readAll, id)
  if (row === null) throw new OperatorRefused("not_found", `There is no box ${named}.`)
  return row
}

/** A box as commands show it. */
async function shown(ports: Pick<Ports, "baseUrl" | "readAs" | "settings">, row: BoxRow) {
  const [box] = await boxAnswers(ports, row.company_id, [row])
  const { company_id: companyId, person_id: personId, key_id: keyId } = row
  return { companyId, personId, keyId, ...box }
}

const list = operation({
  name: "box list",
  summary: "list a company's boxes, the newest first",
  notes: ["Times are UTC. Boxes that ended are listed until somebody deletes them."],
  example: "box list --company acme",
  input: z.object({ company, limit: listLimit }),
  console: { roles: OWNER_OR_ADMIN },
  run: async ({ ports }, { company: named, limit }) => {
    const companyId = await findCompany(ports, named)
    await showWrites(ports)
    const rows = await listBoxes(ports.readAll, companyId, null, limit)
    return { boxes: await Promise.all(rows.map((row) => shown(ports, row))) }
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
  summary: "show a box, and whether its machine is there",
  example: "box show box_4Zb0x7",
  input: z.object({ boxId }),
  run: async ({ ports }, { boxId: named }) => {
    const row = await findNamed(ports, named)
    const machine = await ports.boxHost.find(row.box_id)
    const signs = (await machine?.hello()) ?? null
    return { ...(await shown(ports, row)), machine: signs }
  },
})

const stop = operation({
  name: "box stop",
  summary: "stop a box now; its files are gone then",
  example: 'box stop box_4Zb0x7 --reason "asked for by the owner"',
  changes: true,
  irreversible: { field: "boxId", says: "the box ends, and what it did not push is gone" },
  input: z.object({ boxId }),
  run: async ({ ports, cause }, { boxId: named }) => {
    const { company_id: companyId, box_id: id } = await findNamed(ports, named)
    const command = { type: "StopBox" as const, boxId: id, reason: "stopped" as const }
    const stopping = { ...command, keyId: null, personId: null }
    accepted(await ports.runner.execute(boxStreamOf(companyId, id), stopping, cause))
    await showWrites(ports)
    return shown(ports, await findNamed(ports, id))
  },
})

const sweep = operation({
  name: "box sweep",
  summary: "end machines of boxes that have ended, or that nobody knows",
  notes: ["A server does so by itself, every twenty seconds."],
  example: "box sweep",
  input: z.object({}),
  run: async ({ ports }) => {
    await showWrites(ports)
    const before = await ports.boxHost.list()
    // Everything is shown that was written: who is unknown now stays so.
    await keepBoxes(ports, new Set<BoxId>(before))
    const after = await ports.boxHost.list()
    return { machines: after.length, ended: before.filter((one) => !after.includes(one)) }
  },
})

/** Operations on boxes. */
export const boxOperations: readonly AdminOperation[] = [list, show, stop, sweep]
