import { once } from "node:events"
import { join } from "node:path"
import { onTestFinished } from "vitest"
import type { AdminContext, AdminOperation } from "../../src/frame/operator/operation.ts"
import { runOperation } from "../../src/frame/operator/run-operation.ts"
import type { AdminServing } from "../../src/frame/operator/socket-server.ts"
import { serveAdmin } from "../../src/frame/operator/socket-server.ts"
import { NO_PORTS, PORT, fakeOperation, testFolder } from "./fake-host.ts"

/** Serves these operations on a socket in a folder of the test's own. */
export async function serve(
  operations: readonly AdminOperation[],
  serving: Partial<AdminServing> = {},
) {
  const socketPath = join(await testFolder(), "admin.sock")
  const faults: unknown[] = []
  const server = await serveAdmin({
    socketPath,
    folderId: "folder-1",
    settings: [PORT],
    run: (request, talk) => runOperation(operations, NO_PORTS, request, talk),
    onFault: (error) => faults.push(error),
    ...serving,
  })
  onTestFinished(() => server.close())
  return { server, socketPath, faults }
}

/** A request of ada's. */
export const request = (operation: string, input: unknown = {}) => ({
  operation,
  input,
  actor: "ada",
  reason: null,
})

/** The caller's side of an operation, and what it heard. */
export function talkOf(signal = new AbortController().signal) {
  const heard = { progress: [] as string[], chunks: [] as (string | Uint8Array)[] }
  const talk = {
    progress: (message: string) => void heard.progress.push(message),
    send: async (chunk: string | Uint8Array) => void heard.chunks.push(chunk),
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
