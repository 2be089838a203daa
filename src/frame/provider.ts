/**
 * What a slice asks outside of the program, as data: which provider its settings choose, and the
 * simulator that stands in for it where they choose none.
 */
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

/** What a provider is opened with. */
export interface ProviderContext {
  readonly clock: Clock
  readonly pacer: Pacer
  readonly sealing: Sealing
  /** The program's database, for what stands in tables of the slice's own. */
  readonly pool: Pool
  /** The data folder, absolute: for what is kept in files and named by no setting. */
  readonly dataDir: string
  /** What simulators remember. */
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly settings: SettingsReader
  /** Closes something when the program ends, called so where that takes too long. */
  readonly onShutdown: (what: string, close: () => Promise<void>) => void
  /** The same port, whose process may end right before or behind an act of it, where a test says so. */
  readonly withFailurePoints: <P extends object>(port: P, act: keyof P) => P
}

/** A provider of a slice. */
export interface Provider {
  /** What settings and people call it: `carrier`. */
  readonly name: string
  /** The module that exports it, by its `import.meta.url`: to show settings nothing else is loaded. */
  readonly from: string
  /**
   * The setting that chooses a real one, as far as it is given: one that takes money, reaches people or
   * answers strangers. Null: the simulator is used. Absent: there is no other so far.
   */
  readonly chosenBy?: (given: Environment) => string | null
  /** Whether it is of this machine: nothing of it is simulated then, and nobody is reached by it. */
  readonly isLocal?: boolean | ((given: Environment) => boolean)
  /** It takes money where it is real: then whatever else is simulated must be meant. */
  readonly takesMoney?: true
  /** What can be told to fail, and how. */
  readonly simulator?: Simulator
  /**
   * Opens what the settings choose, as ports by their names.
   *
   * @param ports all ports, once everything is open: for what comes back by itself
   * @throws StartupFault where what was chosen cannot be opened, with a sentence that says what to do
   */
  readonly open: (outside: ProviderContext, ports: () => Ports) => Promise<Partial<ProviderPorts>>
}

/** What of the world outside is simulated under some settings. */
export interface SimulatedProviders {
  /** The names of providers. */
  readonly names: readonly string[]
  /** Whether real money is taken for what they pretend to do. */
  readonly takesRealMoney: boolean
}

/**
 * Opens every provider, and answers all of their ports.
 *
 * @throws StartupFault where one cannot be opened
 */
export async function openProviders(
  providers: readonly Provider[],
  outside: ProviderContext & { readonly tracing: Tracing },
  ports: () => Ports,
): Promise<ProviderPorts> {
  const opened = await Promise.all(providers.map((one) => one.open(outside, ports)))
  // Each slice says by its types what its providers open.
  const provided = Object.assign({}, ...opened) as ProviderPorts
  return withTracing(provided, outside.tracing)
}

/** The same ports. What is asked where nothing is traced begins no trace. */
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
        const ask = (): unknown => Reflect.apply(value, target, given)
        const parent = tracing.currentTraceParent()
        if (parent === null) return ask()
        const asked = { "ledger.provider": name, "ledger.act": String(key) }
        const spanned = {
          name: `${name} ${String(key)}`,
          kind: "client",
          attributes: asked,
        } as const
        return tracing.span(spanned, parent, ask)
      }
    },
  })
}
