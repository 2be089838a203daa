import { machinePacer } from "../../adapters/machine/clock/clock.ts"
import { boxHostContract } from "../contracts/box-host-contract.ts"
import { absent, newPlan, openHosts } from "./machine.ts"

boxHostContract("this machine", {
  absent,
  open: async () => {
    const { another, close, host } = await openHosts()
    return { host, another, close, plan: () => newPlan(), pass: (ms) => machinePacer.pause(ms) }
  },
})
