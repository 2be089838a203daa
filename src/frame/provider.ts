/** A slice's connection to the outside, as data: the provider its settings choose, or a simulator. */
import type { Pool } from "pg"
import type { Clock, Pacer } from "../../adapters/machine/clock/port.ts"
import type {
  Simulator,
  SimulatorStore,
  Simulators,
} from "../../adapters/providers/simulators/port.ts"
import type { Sealing } from "../../adapters/sealing/port.ts"
import type { Tracing } from "../../adapters/telemetry/port.ts"
import { NO_TRACING } from "../../adapters/telemetry/port.ts"
import type { Ports, ProviderPorts } from "./ports.ts"
import type { Environment, SettingsReader } from "./settings.ts"

/** What a provider needs to open. */
export interface ProviderContext {
  readonly clock: Clock
  readonly pacer: Pacer
  readonly sealing: Sealing
  /** The program's database, for a slice's own tables. */
  readonly pool: Pool
  /** The data folder, absolute; for files whose path no setting gives. */
  readonly dataDir: string
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly settings: SettingsReader
  /** Registers a close function for shutdown; `what` names it in the warning if closing takes too long. */
  readonly onShutdown: (what: string, close: () => Promise<void>) => void
  /** Wraps a port so that a test can end the process right before or after one of its calls. */
  readonly withFailurePoints: <P extends object>(port: P, act: keyof P) => P
}

export interface Provider {
  /** Name in settings and messages: `carrier`. */
  readonly name: string
  /** The `import.meta.url` of the exporting module: showing settings loads only that module. */
  readonly from: string
  /**
   * The setting that chooses a real provider (one that takes money, contacts people or answers the public);
   * null if the simulator is used. Absent if there is only a simulator.
   */
  readonly chosenBy?: (given: Environment) => string | null
  /** Whether it works on this machine: then nothing is simulated and nothing leaves the machine. */
  readonly isLocal?: boolean | ((given: Environment) => boolean)
  /** Whether the real provider takes money: then simulating other providers must be deliberate. */
  readonly takesMoney?: true
  /** The simulator, with the failures that it can be set to. */
  readonly simulator?: Simulator
  /**
   * Opens the provider that the settings choose, as ports by name.
   *
   * @param ports all ports, available once everything is open; for callbacks from the provider
   * @throws StartupFault with an instruction if the provider cannot be opened
   */
  readonly open: (outside: ProviderContext, ports: () => Ports) => Promise<Partial<ProviderPorts>>
}

/** The providers that some settings leave simulated. */
export interface SimulatedProviders {
  readonly names: readonly string[]
  /** Whether real money is taken for what they simulate. */
  readonly takesRealMoney: boolean
}

/**
 * Opens every provider and returns all of their ports.
 *
 * @throws StartupFault if one cannot be opened
 */
export async function openProviders(
  providers: readonly Provider[],
  outside: ProviderContext & { readonly tracing: Tracing },
  ports: () => Ports,
): Promise<ProviderPorts> {
  const opened = await Promise.all(providers.map((one) => one.open(outside, ports)))
  // Declaration merging gives each slice's ports their types.
  const provided = Object.assign({}, ...opened) as ProviderPorts
  return withTracing(provided, outside.tracing)
}

/** Wraps ports so that each call makes a span. Calls outside a trace make none. */
export function withTracing<P extends object>(ports: P, tracing: Tracing): P {
  if (tracing === NO_TRACING) return ports
  const traced = Object.entries(ports).map(([name, port]) => [
    name,
    typeof port === "object" && port !== null ? tracedPort(name, port, tracing) : port,
  ])
  return Object.fromEntries(traced) as P
}

function tracedPort(name: string, port: object, tracing: Tracing): object {
  return new Proxy(port, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== "function") return value
      return (...given: readonly unknown[]): unknown => {
        const call = (): unknown => Reflect.apply(value, target, given)
        const parent = tracing.currentTraceParent()
        if (parent === null) return call()
        const span = {
          name: `${name} ${String(key)}`,
          kind: "client",
          attributes: { "ledger.provider": name, "ledger.act": String(key) },
        } as const
        return tracing.span(span, parent, call)
      }
    },
  })
}
