/**
 * The connections of preview links. A link is open to anyone who has it, for a limited number of concurrent
 * connections, which end with the link. Bytes that pass count as traffic.
 */
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import type { PreviewRow } from "../../projections/boxes/previews.ts"
import { findPreview } from "../../projections/boxes/previews.ts"
import type { Ports } from "../frame/ports.ts"
import { BOX_MINUTE_MS } from "../../domain/boxes/box.ts"
import { logActivity } from "./activity.ts"
import { readBox } from "./find-box.ts"

/** When this process last logged traffic of a port, by the counters of its machine. */
const lastLoggedByPort = new WeakMap<Ports["counters"], Map<string, number>>()

/** Enough for people and their browsers; more is a loop. */
export const MAX_PREVIEW_CONNECTIONS = 100
/** Another process may have closed the link, so its state is read at this interval. */
const CHECK_INTERVAL_MS = 1_000

/** A reserved connection of a link. */
export interface ConnectionSlot {
  /** Uses the slot for a connection, and releases it when that closes. */
  readonly attach: (connection: Duplex, visitor: IncomingMessage["socket"]) => void
  /** Releases the slot without a connection. */
  readonly release: () => void
}

export interface PreviewConnections {
  /** Reserves a slot of a link; null if all are taken. */
  readonly reserve: (row: PreviewRow) => ConnectionSlot | null
}

interface OpenLink {
  reserved: number
  readonly open: Map<Duplex, IncomingMessage["socket"]>
  readonly released: AbortController
}

/** Creates the connection slots of this process. */
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

/** Watches a link while it has connections, and ends them when it is closed. */
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
      // The next check tries again: connections stay open while the database is down.
      if (!signal.aborted)
        ports.log.warn("the state of an open preview link could not be read", error)
    }
    const passed = bytesOf(open)
    if (passed !== before) await logPreviewTraffic(ports, row)
    before = passed
  }
}

const bytesOf = (open: OpenLink["open"]): number =>
  [...open.values()].reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0)

/** Logs that a link has traffic; an error is logged and does not stop the request. */
export async function logPreviewTraffic(
  ports: Pick<Ports, "clock" | "counters" | "activityLog" | "log" | "runner" | "sealing">,
  row: PreviewRow,
): Promise<void> {
  try {
    await logTrafficOncePerMinute(ports, row)
  } catch (error) {
    ports.log.warn("traffic of a preview link could not be logged", error)
  }
}

async function logTrafficOncePerMinute(
  ports: Pick<Ports, "clock" | "counters" | "activityLog" | "runner" | "sealing">,
  { company_id: companyId, box_id: boxId, port }: PreviewRow,
): Promise<void> {
  const now = ports.clock.now()
  const loggedAt = lastLoggedByPort.get(ports.counters) ?? new Map<string, number>()
  lastLoggedByPort.set(ports.counters, loggedAt)
  const name = `${boxId}:${port}`
  if (now - (loggedAt.get(name) ?? -BOX_MINUTE_MS) < BOX_MINUTE_MS) return
  loggedAt.set(name, now)
  for (const [one, at] of loggedAt) if (now - at >= BOX_MINUTE_MS) loggedAt.delete(one)
  const view = await readBox(ports, companyId, boxId)
  if (view === null) return
  const done = { action: "preview", detail: String(port), result: "opened" } as const
  await logActivity(ports, null, { companyId, boxId, view }, done)
}
