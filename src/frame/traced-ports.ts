/** What is asked outside, told of in the trace in which it is asked. */
import type { Tracing } from "../../adapters/telemetry/port.ts"
import { NO_TRACING } from "../../adapters/telemetry/port.ts"

/** The same ports. What is asked where nothing is traced begins no trace. */
export function tracedPorts<P extends object>(ports: P, tracing: Tracing): P {
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
        const parent = tracing.current()
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
