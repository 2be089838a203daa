import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { boxHostContract } from "../contracts/box-host-contract.ts"
import { noSandboxReason, newBoxPlan, openSandboxHosts } from "./sandbox-hosts.ts"

boxHostContract("this machine", {
  unavailableReason: noSandboxReason,
  open: async () => {
    const { another: otherHost, close, host } = await openSandboxHosts()
    return {
      host,
      otherHost,
      close,
      plan: () => newBoxPlan(),
      advance: (ms) => machinePacer.pause(ms),
    }
  },
})
