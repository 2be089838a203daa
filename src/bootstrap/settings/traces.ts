/** Traces, for whoever names a collector of OpenTelemetry. */
import { z } from "zod"
import type { Tracing } from "../../../adapters/telemetry/port.ts"
import { NO_TRACING } from "../../../adapters/telemetry/port.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Log } from "../../frame/kernel/log.ts"

const SHARE_MESSAGE = "must be a share from 0 to 1"

/** Its settings, by names that others read as well. */
export const traceSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: "must be an address such as http://localhost:4318" })
    .optional(),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number(SHARE_MESSAGE)
    .min(0, SHARE_MESSAGE)
    .max(1, SHARE_MESSAGE)
    .default(1),
}

/** Who collects traces. */
export interface TraceCollector {
  readonly url: string
  /** The share of traces that begin here and are told of, 0 to 1. */
  readonly sampleRatio: number
}

/** Begins to tell; without a collector nothing of OpenTelemetry is loaded. */
export async function openTraces(traces: TraceCollector | null, { warn }: Log): Promise<Tracing> {
  if (traces === null) return NO_TRACING
  const { openTracing } = await import("../../../adapters/telemetry/opentelemetry.ts")
  return openTracing({ ...traces, instanceId: newId("proc"), warn })
}
