/** Callers over HTTP in a process of their own. */
import { assertMeasurement } from "../benchmark.ts"
import type { PeerProcess } from "../fixtures/peer-process.ts"
import { openPeerProcess } from "../fixtures/peer-process.ts"
import type { HttpLoadResult, HttpLoad } from "./http-load.ts"

export type HttpCallers = PeerProcess<HttpLoad, HttpLoadResult>

/** Starts the callers' process. */
export const openHttpCallers = (signal: AbortSignal): HttpCallers =>
  openPeerProcess(new URL("caller-process.ts", import.meta.url), signal)

/** Checks that all answers have one of these statuses. @throws InvalidMeasurement */
export function assertStatuses({ statuses }: HttpLoadResult, allowed: readonly number[]): void {
  const others = Object.entries(statuses).filter(([status]) => !allowed.includes(Number(status)))
  const counts = others.map(([status, count]) => `${count} times ${status}`)
  assertMeasurement(others.length === 0, `calls were answered ${counts.join(", ")}`)
}
