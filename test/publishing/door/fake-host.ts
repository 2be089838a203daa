/** A host of apps for tests of the door: whatever listens is the test's, on this machine. */
import { once } from "node:events"
import type { AddressInfo, Server, Socket } from "node:net"
import { connect, createServer } from "node:net"
import type {
  AppPlan,
  AppStanding,
  PreviewHost,
} from "../../../adapters/providers/preview-host/port.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"

/** A host of apps whose start and standing a test decides; what listens is the test's. */
export interface FakeHost {
  readonly port: PreviewHost
  /** The plans it was given to start. */
  readonly started: AppPlan[]
  readonly standings: Map<PublishId, AppStanding["status"]>
  /** Done before a version runs; it does not come up where this throws. */
  beforeStart: (plan: AppPlan) => Promise<void>
  /** Has a version listen. */
  readonly listen: (publishId: PublishId, handle: (socket: Socket) => void) => Promise<void>
  readonly close: () => void
}

/** Opens one. */
export function openFakeHost(): FakeHost {
  const servers = new Map<PublishId, Server>()
  const sockets = new Set<Socket>()
  const standings: FakeHost["standings"] = new Map()
  const none = async () => undefined
  const hosting: FakeHost = {
    started: [],
    standings,
    beforeStart: none,
    listen: async (publishId, handle) => {
      const inner = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => undefined)
        handle(socket)
      })
      servers.get(publishId)?.close()
      servers.set(publishId, inner)
      await once(inner.listen(0, "127.0.0.1"), "listening")
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      for (const inner of servers.values()) inner.close()
    },
    port: {
      hostId: "here",
      isAble: async () => true,
      build: async () => ({ ok: false, log: Buffer.alloc(0), why: "nothing is built here" }),
      start: async (plan) => {
        hosting.started.push(plan)
        await hosting.beforeStart(plan)
        standings.set(plan.publishId, "running")
        return ""
      },
      dial: async ({ publishId }) => {
        const inner = servers.get(publishId)
        if (inner === undefined || standings.get(publishId) !== "running") return null
        const socket = connect((inner.address() as AddressInfo).port, "127.0.0.1")
        await once(socket, "connect")
        return socket
      },
      look: async () => ({
        versions: [...standings].map(([publishId, status]) => ({ publishId, status, log: "" })),
        activities: 0,
        leaseLeftMs: 60_000,
      }),
      extend: none,
      end: none,
      sleep: none,
      erase: none,
      measure: async () => null,
      list: async () => [],
    },
  }
  return hosting
}
