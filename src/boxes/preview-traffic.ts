/** Traffic by a link is noted as something done in its box, once a minute. */
import { MINUTE_MS } from "../../domain/boxes/box.ts"
import type { PreviewRow } from "../../projections/boxes/previews.ts"
import type { Ports } from "../frame/ports.ts"
import { noteBy } from "./activity.ts"
import { readBox } from "./find-box.ts"

/** When traffic of a port was last noted by this process; of one machine it is one. */
const noted = new WeakMap<Ports["counts"], Map<string, number>>()

/** Notes that somebody is at a link, which is served, too, where that cannot be noted. */
export async function noteTraffic(
  ports: Pick<Ports, "clock" | "counts" | "journal" | "log" | "runner" | "sealing">,
  row: PreviewRow,
): Promise<void> {
  try {
    await noteOnce(ports, row)
  } catch (error) {
    ports.log.warn("a visit of a preview could not be noted", error)
  }
}

async function noteOnce(
  ports: Pick<Ports, "clock" | "counts" | "journal" | "runner" | "sealing">,
  { company_id: companyId, box_id: boxId, port }: PreviewRow,
): Promise<void> {
  const now = ports.clock.now()
  const own = noted.get(ports.counts) ?? new Map<string, number>()
  noted.set(ports.counts, own)
  const name = `${boxId}:${port}`
  if (now - (own.get(name) ?? -MINUTE_MS) < MINUTE_MS) return
  own.set(name, now)
  for (const [one, at] of own) if (now - at >= MINUTE_MS) own.delete(one)
  const view = await readBox(ports, companyId, boxId)
  if (view === null) return
  const done = { action: "preview", detail: String(port), result: "opened" } as const
  await noteBy(ports, null, { companyId, boxId, view }, done)
}
