import { once } from "node:events"
import { join } from "node:path"
import { onTestFinished } from "vitest"
import { serveOperators } from "../../src/frame/http/operator-app.ts"
import type { OperatorRequest } from "../../src/frame/operator/protocol.ts"
import type { Following } from "../../src/frame/operator/cli/client.ts"
import { askOperation, onSocket } from "../../src/frame/operator/cli/client.ts"
import type { AdminContext, AdminOperation } from "../../src/frame/operator/operation.ts"
import { NO_PORTS, PORT, fakeOperation, testFolder } from "./fake-host.ts"

/** Serves these operations on a socket in a folder of the test's own. */
export async function serve(
  operations: readonly AdminOperation[],
  serving: Partial<Parameters<typeof serveOperators>[0]> = {},
) {
  const socketPath = join(await testFolder(), "admin.sock")
  const faults: unknown[] = []
  const close = await serveOperators({
    socketPath,
    operations,
    ports: NO_PORTS,
    identity: { folderId: "folder-1", pid: process.pid, settings: [PORT] },
    onFault: (error) => faults.push(error),
    ...serving,
  })
  let closed: Promise<void> | undefined
  const server = { close: () => (closed ??= close()) }
  onTestFinished(() => server.close())
  return { server, socketPath, faults }
}

/** Asks a server on a socket. */
export const askServer = (socketPath: string, asked: OperatorRequest, following: Following) =>
  askOperation(onSocket(socketPath), asked, following)

/** A request of ada's. */
export const request = (operation: string, input: unknown = {}) => ({
  operation,
  input,
  actor: "ada",
  reason: null,
})

/** The caller's side of an operation, and what it heard. */
export function talkOf(signal = new AbortController().signal) {
  const heard = { progress: [] as string[], chunks: [] as Uint8Array[] }
  const talk = {
    progress: (message: string) => void heard.progress.push(message),
    send: async (chunk: Uint8Array) => {
      heard.chunks.push(chunk)
    },
    signal,
  }
  return { heard, talk }
}

/** An operation that waits until its signal is aborted. */
export function waiting() {
  const began = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<string>()
  const work = async ({ signal }: AdminContext) => {
    began.resolve()
    await once(signal, "abort")
    ended.resolve("aborted")
    signal.throwIfAborted()
  }
  return { operation: fakeOperation("wait", work), began: began.promise, ended: ended.promise }
}
