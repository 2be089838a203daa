import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { noSandboxReason } from "../boxhost/sandbox-hosts.ts"
import { previewHostContract } from "../contracts/preview-host-contract.ts"
import { openSandboxPreviews } from "./sandbox-previews.ts"

previewHostContract("this machine", {
  unavailableReason: noSandboxReason,
  open: async () => {
    const { another: otherHost, close, host } = await openSandboxPreviews()
    return { otherHost, close, host, advance: (ms) => machinePacer.pause(ms) }
  },
})
