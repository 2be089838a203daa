import { once } from "node:events"
import { join } from "node:path"
import { onTestFinished } from "vitest"
import { serveOperatorSocket } from "../../src/frame/http/operator-app.ts"
import type { OperatorRequest } from "../../src/frame/operator/protocol.ts"
import type { OperationObserver } from "../../src/frame/operator/cli/client.ts"
import { callOperation, sendOverSocket } from "../../src/frame/operator/cli/client.ts"
import type { AdminContext, AdminOperation } from "../../src/frame/operator/operation.ts"
import { UNUSED_PORTS, PORT_SETTING, fakeOperation, testFolder } from "./fake-host.ts"

/** Serves these operations on a socket in a new folder of the test. */
export async function serveOperations(
  operations: readonly AdminOperation[],
  serving: Partial<Parameters<typeof serveOperatorSocket>[0]> = {},
) {
  const socketPath = join(await testFolder(), "admin.sock")
  const faults: unknown[] = []
  const close = await serveOperatorSocket({
    socketPath,
    operations,
    ports: UNUSED_PORTS,
    identity: { folderId: "folder-1", pid: process.pid, settings: [PORT_SETTING] },
    onFault: (error) => faults.push(error),
    ...serving,
  })
  let closed: Promise<void> | undefined
  const server = { close: () => (closed ??= close()) }
  onTestFinished(() => server.close())
  return { server, socketPath, faults }
}

/** Calls an operation of the server on a socket. */
export const askServer = (
  socketPath: string,
  request: OperatorRequest,
  observer: OperationObserver,
) => callOperation(sendOverSocket(socketPath), request, observer)

/** A request by the actor ada. */
export const operatorRequest = (operation: string, input: unknown = {}) => ({
  operation,
  input,
  actor: "ada",
  reason: null,
})

/** An observer of an operation, and what it received. */
export function newRecordingClient(signal = new AbortController().signal) {
  const received = { progress: [] as string[], chunks: [] as Uint8Array[] }
  const observer = {
    progress: (message: string) => void received.progress.push(message),
    send: async (chunk: Uint8Array) => {
      received.chunks.push(chunk)
    },
    signal,
  }
  return { received, observer }
}

/** An operation that waits until its signal is aborted. */
export function waitingOperation() {
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
