/** Simulated boxes fulfil the contract of box hosts; the suite advances their clock. */
import type { SimulatedBoxes } from "../../adapters/sandbox/boxhost/simulator.ts"
import { openSimulatedBoxHost } from "../../adapters/sandbox/boxhost/simulator.ts"
import { boxHostContract } from "../contracts/box-host-contract.ts"
import { SAMPLE_BOX_PLAN } from "./simulated-boxes.ts"

boxHostContract("the simulator", {
  unavailableReason: null,
  open: async () => {
    let now = Date.UTC(2026, 0, 1)
    let boxCount = 0
    const waiting = new Set<{ readonly until: number; readonly end: () => void }>()
    const pacer = {
      pause: (ms: number, signal?: AbortSignal) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        signal?.addEventListener("abort", () => resolve())
        waiting.add({ until: now + ms, end: resolve })
        return promise
      },
    }
    const boxes: SimulatedBoxes = new Map()
    const opened = () => openSimulatedBoxHost({ clock: { now: () => now }, pacer, boxes })
    return {
      host: opened(),
      otherHost: opened(),
      plan: () => ({
        ...SAMPLE_BOX_PLAN,
        boxId: `box_${(boxCount += 1)}` as const,
        leaseMs: 600_000,
      }),
      advance: async (ms) => {
        // Earlier calls are under way by then.
        await new Promise(setImmediate)
        now += ms
        for (const one of waiting) if (one.until <= now) one.end()
      },
      close: async () => undefined,
    }
  },
})
