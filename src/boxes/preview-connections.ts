/**
 * The connections by links: a link is open to everybody who has it, to so many at once, and they end with
 * it. As long as bytes pass, that is traffic.
 */
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import type { PreviewRow } from "../../projections/boxes/previews.ts"
import { findPreview } from "../../projections/boxes/previews.ts"
import type { Ports } from "../frame/ports.ts"
import { MINUTE_MS } from "../../domain/boxes/box.ts"
import { noteBy } from "./activity.ts"
import { readBox } from "./find-box.ts"

/** When traffic of a port was last noted by this process; of one machine it is one. */
const noted = new WeakMap<Ports["counts"], Map<string, number>>()

/** As many of a link as people and their browsers need; more is somebody's loop. */
export const MOST_CONNECTIONS = 100
/** A link with connections is looked at so often: whoever closed it may have done so in another process. */
const LOOK_MS = 1_000

/** The place of a connection by a link. */
export interface Place {
  /** Puts a connection there, which gives the place back when it closes. */
  readonly fill: (connection: Duplex, visitor: IncomingMessage["socket"]) => void
  /** Gives it back without one. */
  readonly leave: () => void
}

/** The places of all links. */
export interface PreviewConnections {
  /** Takes one of a link's; null where all are taken. */
  readonly take: (row: PreviewRow) => Place | null
}

/** A link that somebody is at. */
interface Visited {
  taken: number
  readonly open: Map<Duplex, IncomingMessage["socket"]>
  readonly left: AbortController
}

/** Opens them. */
export function openConnections(ports: Ports): PreviewConnections {
  const links = new Map<string, Visited>()
  const begin = (row: PreviewRow): Visited => {
    const link: Visited = { taken: 0, open: new Map(), left: new AbortController() }
    links.set(row.tag, link)
    void watch(ports, row, link)
    return link
  }
  return {
    take: (row) => {
      const link = links.get(row.tag) ?? begin(row)
      if (link.taken >= MOST_CONNECTIONS) return null
      link.taken += 1
      const leave = () => {
        link.taken -= 1
        if (link.taken > 0) return
        links.delete(row.tag)
        link.left.abort()
      }
      return {
        leave,
        fill: (connection, visitor) => {
          link.open.set(connection, visitor)
          connection.once("close", () => {
            link.open.delete(connection)
            leave()
          })
        },
      }
    },
  }
}

/** Looks at a link as long as somebody is at it: its end is theirs. */
async function watch(ports: Ports, row: PreviewRow, { open, left }: Visited): Promise<void> {
  const { signal } = left
  for (let before = 0; ;) {
    await ports.pacer.pause(LOOK_MS, signal)
    if (signal.aborted) return
    try {
      if ((await findPreview(ports.readAll, row.tag)) === null) {
        for (const connection of open.keys()) connection.destroy()
      }
    } catch (error) {
      // It is looked at again: a database that is away closes nothing.
      if (!signal.aborted) ports.log.warn("a link that is visited cannot be looked at", error)
    }
    const passed = bytesOf(open)
    if (passed !== before) await noteTraffic(ports, row)
    before = passed
  }
}

const bytesOf = (open: Visited["open"]): number =>
  [...open.values()].reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0)

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
