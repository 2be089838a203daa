import {
  openSimulatedRegistry,
  REGISTRATION_SIMULATOR,
} from "../../../adapters/providers/registry/simulator.ts"
import type { Registry } from "../../../adapters/providers/registry/port.ts"
import type { Ports } from "../../frame/ports.ts"
import type { ProviderContext, Provider } from "../../frame/provider.ts"
import { telnyxAccount } from "../../frame/telnyx-settings.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly registry: Registry
  }
}

/** Provides the registry: Telnyx if `TELNYX_KEY` is set, and the simulator for test mode. */
export const registryProvider: Provider = {
  from: import.meta.url,
  name: "registry",
  chosenBy: (given) => (given["TELNYX_KEY"] === undefined ? null : "TELNYX_KEY"),
  simulator: REGISTRATION_SIMULATOR,
  open: async (outside, ports) => {
    const chosen = await chooseRegistry(outside, ports, openSimulatedRegistry(outside))
    return { registry: outside.withFailurePoints(chosen, "submit") }
  },
}

async function chooseRegistry(
  outside: ProviderContext,
  ports: () => Pick<Ports, "baseUrl">,
  simulator: Registry,
): Promise<Registry> {
  const account = telnyxAccount(outside, ports)
  if (account === null) return simulator
  const [{ openTelnyxRegistry }, { combineRegistries }] = await Promise.all([
    import("../../../adapters/providers/registry/telnyx.ts"),
    import("../../../adapters/providers/registry/simulator.ts"),
  ])
  return combineRegistries(simulator, openTelnyxRegistry(account))
}
