import { machinePacer } from "../../adapters/machine/clock/clock.ts"
import { absent } from "../boxhost/machine.ts"
import { previewHostContract } from "../contracts/preview-host-contract.ts"
import { openPreviews } from "./machine.ts"

previewHostContract("this machine", {
  absent,
  open: async () => {
    const { another, close, host } = await openPreviews()
    return { another, close, host, pass: (ms) => machinePacer.pause(ms) }
  },
})
