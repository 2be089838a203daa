/** The built-in previews keep what every host of previews does. Their time goes by when the suite says so. */
import {
  newSimulatedPreviews,
  openSimulatedPreviews,
} from "../../adapters/sandbox/preview-host/simulator.ts"
import { previewHostContract } from "../contracts/preview-host-contract.ts"

previewHostContract("the built-in previews", {
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
