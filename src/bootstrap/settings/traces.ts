/** Traces for an OpenTelemetry collector. */
import { z } from "zod"
import type { Tracing } from "../../../adapters/telemetry/port.ts"
import { NO_TRACING } from "../../../adapters/telemetry/port.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Log } from "../../frame/kernel/log.ts"

const SHARE_MESSAGE = "must be a share from 0 to 1"

/** Settings with the standard names of OpenTelemetry. */
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

export interface TraceCollector {
  readonly url: string
  /** The share of traces starting here that are sent, 0 to 1. */
  readonly sampleRatio: number
}

/** Opens tracing. Without a collector, OpenTelemetry is not loaded. */
export async function openTraces(traces: TraceCollector | null, { warn }: Log): Promise<Tracing> {
  if (traces === null) return NO_TRACING
  const { openTracing } = await import("../../../adapters/telemetry/opentelemetry.ts")
  return openTracing({ ...traces, instanceId: newId("proc"), warn })
}
