/** Simulated previews fulfil the contract of preview hosts; the suite advances their clock. */
import {
  newSimulatedPreviews,
  openSimulatedPreviews,
} from "../../adapters/sandbox/preview-host/simulator.ts"
import { previewHostContract } from "../contracts/preview-host-contract.ts"

previewHostContract("the simulator", {
  unavailableReason: null,
  open: async () => {
    let now = Date.UTC(2026, 0, 1)
    const ports = {
      clock: { now: () => now },
      previews: newSimulatedPreviews(),
      hostId: "simulator:one",
    }
    return {
      host: openSimulatedPreviews(ports),
      otherHost: openSimulatedPreviews(ports),
      advance: async (ms) => void (now += ms),
      close: async () => undefined,
    }
  },
})
