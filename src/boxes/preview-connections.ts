/**
 * The connections by links: a link is open to everybody who has it, to so many at once, and they end with
 * it. As long as bytes pass, that is traffic.
 */
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import type { PreviewRow } from "../../projections/boxes/previews.ts"
import { findPreview } from "../../projections/boxes/previews.ts"
import type { Ports } from "../frame/ports.ts"
import { BOX_MINUTE_MS } from "../../domain/boxes/box.ts"
import { logActivity } from "./activity.ts"
import { readBox } from "./find-box.ts"

/** When traffic of a port was last noted by this process; of one machine it is one. */
const lastLoggedByPort = new WeakMap<Ports["counters"], Map<string, number>>()

/** As many of a link as people and their browsers need; more is somebody's loop. */
export const MAX_PREVIEW_CONNECTIONS = 100
/** A link with connections is looked at so often: whoever closed it may have done so in another process. */
const CHECK_INTERVAL_MS = 1_000

/** The place of a connection by a link. */
export interface ConnectionSlot {
  /** Puts a connection there, which gives the place back when it closes. */
  readonly attach: (connection: Duplex, visitor: IncomingMessage["socket"]) => void
  /** Gives it back without one. */
  readonly release: () => void
}

/** The places of all links. */
export interface PreviewConnections {
  /** Takes one of a link's; null where all are taken. */
  readonly reserve: (row: PreviewRow) => ConnectionSlot | null
}

/** A link that somebody is at. */
interface OpenLink {
  reserved: number
  readonly open: Map<Duplex, IncomingMessage["socket"]>
  readonly released: AbortController
}

/** Opens them. */
export function openPreviewConnections(ports: Ports): PreviewConnections {
  const links = new Map<string, OpenLink>()
  const begin = (row: PreviewRow): OpenLink => {
    const link: OpenLink = { reserved: 0, open: new Map(), released: new AbortController() }
    links.set(row.tag, link)
    void watchLink(ports, row, link)
    return link
  }
  return {
    reserve: (row) => {
      const link = links.get(row.tag) ?? begin(row)
      if (link.reserved >= MAX_PREVIEW_CONNECTIONS) return null
      link.reserved += 1
      const release = () => {
        link.reserved -= 1
        if (link.reserved > 0) return
        links.delete(row.tag)
        link.released.abort()
      }
      return {
        release,
        attach: (connection, visitor) => {
          link.open.set(connection, visitor)
          connection.once("close", () => {
            link.open.delete(connection)
            release()
          })
        },
      }
    },
  }
}

/** Looks at a link as long as somebody is at it: its end is theirs. */
async function watchLink(
  ports: Ports,
  row: PreviewRow,
  { open, released }: OpenLink,
): Promise<void> {
  const { signal } = released
  for (let before = 0; ;) {
    await ports.pacer.pause(CHECK_INTERVAL_MS, signal)
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
    if (passed !== before) await logPreviewTraffic(ports, row)
    before = passed
  }
}

const bytesOf = (open: OpenLink["open"]): number =>
  [...open.values()].reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0)

/** Notes that somebody is at a link, which is served, too, where that cannot be noted. */
export async function logPreviewTraffic(
  ports: Pick<Ports, "clock" | "counters" | "activityLog" | "log" | "runner" | "sealing">,
  row: PreviewRow,
): Promise<void> {
  try {
    await logTrafficOncePerMinute(ports, row)
  } catch (error) {
    ports.log.warn("a visit of a preview could not be noted", error)
  }
}

async function logTrafficOncePerMinute(
  ports: Pick<Ports, "clock" | "counters" | "activityLog" | "runner" | "sealing">,
  { company_id: companyId, box_id: boxId, port }: PreviewRow,
): Promise<void> {
  const now = ports.clock.now()
  const own = lastLoggedByPort.get(ports.counters) ?? new Map<string, number>()
  lastLoggedByPort.set(ports.counters, own)
  const name = `${boxId}:${port}`
  if (now - (own.get(name) ?? -BOX_MINUTE_MS) < BOX_MINUTE_MS) return
  own.set(name, now)
  for (const [one, at] of own) if (now - at >= BOX_MINUTE_MS) own.delete(one)
  const view = await readBox(ports, companyId, boxId)
  if (view === null) return
  const done = { action: "preview", detail: String(port), result: "opened" } as const
  await logActivity(ports, null, { companyId, boxId, view }, done)
}
