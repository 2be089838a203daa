/** Where boxes run: on this machine, by bubblewrap, or nowhere, in a simulator for tests. */
import { BOXHOST, failingBoxHost } from "../../../adapters/providers/boxhost/failing.ts"
import type { BoxHost } from "../../../adapters/providers/boxhost/port.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly boxHost: BoxHost
  }
}

/** Runs boxes. */
export const boxHostProvider: Provider = {
  from: import.meta.url,
  name: "boxhost",
  ofMachine: true,
  simulator: BOXHOST,
  open: async ({ clock, pacer, simulators }) => {
    const { openBuiltInBoxHost } = await import("../../../adapters/providers/boxhost/built-in.ts")
    const host = openBuiltInBoxHost({ clock, pacer })
    return { boxHost: failingBoxHost(host, { simulators, pacer }) }
  },
}
