/**
 * The registry: the built-in one, or Telnyx where a key of it is set; then the built-in one still takes what
 * is sent in test mode.
 */
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

/** Has businesses, campaigns and numbers reviewed. */
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

/** The built-in registry alone, or with Telnyx, which is loaded where it is chosen. */
async function chooseRegistry(
  outside: ProviderContext,
  ports: () => Pick<Ports, "baseUrl">,
  builtIn: Registry,
): Promise<Registry> {
  const account = telnyxAccount(outside, ports)
  if (account === null) return builtIn
  const [{ openTelnyxRegistry }, { combineRegistries }] = await Promise.all([
    import("../../../adapters/providers/registry/telnyx.ts"),
    import("../../../adapters/providers/registry/simulator.ts"),
  ])
  return combineRegistries(builtIn, openTelnyxRegistry(account))
}
