/** The built-in previews keep what every host of previews does. Their time goes by when the suite says so. */
import { noPreviews, openBuiltInPreviews } from "../../adapters/sandbox/preview-host/built-in.ts"
import { previewHostContract } from "../contracts/preview-host-contract.ts"

previewHostContract("the built-in previews", {
  absent: null,
  open: async () => {
    let now = Date.UTC(2026, 0, 1)
    const ports = { clock: { now: () => now }, previews: noPreviews(), hostId: "simulator:one" }
    return {
      host: openBuiltInPreviews(ports),
      another: openBuiltInPreviews(ports),
      pass: async (ms) => void (now += ms),
      close: async () => undefined,
    }
  },
})
