/** Builds the web app with everything that the slices declare. */
import type { FastifyInstance } from "fastify"
import { freeBytes } from "../../../adapters/machine/machine.ts"
import type { WorkerSlot } from "../../../adapters/postgres/home-worker.ts"
import { buildApp } from "../../frame/http/app.ts"
import type { Metric } from "../../frame/http/metrics.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import { DOCUMENT_EXTRAS } from "../../document-examples.ts"
import { PROGRAM } from "../../slices.ts"
import type { Config } from "../settings/config.ts"
import { PRICES_STREAM } from "../../../domain/charging/aggregates.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import { priceOfItem } from "../../../domain/charging/price-book.ts"

/** Builds the app without listening. @param processNumber the number of this worker */
export function buildInstallationApp(
  ports: AdminPorts,
  config: Pick<
    Config,
    "rateLimits" | "trustProxy" | "baseUrl" | "simulatedProviders" | "logSampleRate" | "dataDir"
  >,
  processNumber?: WorkerSlot,
): Promise<FastifyInstance> {
  return buildApp(ports, PROGRAM.entries, PROGRAM.retiredPaths, {
    rateLimits: config.rateLimits,
    trustProxy: config.trustProxy,
    ownHost: config.baseUrl === null ? null : new URL(config.baseUrl).hostname.toLowerCase(),
    hostRoutes: PROGRAM.hostRoutes(ports),
    aliases: PROGRAM.aliases(ports),
    documentContent: DOCUMENT_EXTRAS,
    webhooks: PROGRAM.webhooks,
    pages: PROGRAM.pages,
    entryPoints: PROGRAM.entryPoints,
    probes: PROGRAM.probes,
    metrics: [...PROGRAM.metrics, diskMeasure(config.dataDir)],
    simulatedProviders: config.simulatedProviders,
    logSampleRate: config.logSampleRate,
    ...(processNumber !== undefined && { processNumber }),
  })
}

/** The free disk space of the data folder, as `doctor` measures it. */
function diskMeasure(dataDir: string): Metric {
  return {
    name: "ledger_disk_free_bytes",
    help: "Free space on the disk of the data folder, for this user, in bytes.",
    read: async () => [{ value: await freeBytes(dataDir) }],
  }
}

/**
 * Refuses to serve if Stripe takes payments and API calls are free, which is for volume tests only.
 * Operator commands still work, so that the price can be set.
 *
 * @throws StartupFault with the fix
 */
export async function requirePaidCalls({
  runner,
  simulatedCards,
}: Pick<AdminPorts, "runner" | "simulatedCards">): Promise<void> {
  if (simulatedCards !== null) return
  const priceMicros = await runner.readLatest(PRICES_STREAM, (book) => {
    return priceOfItem(book, "api_call").unitPriceMicros
  })
  if (priceMicros > 0) return
  throw new StartupFault(
    "CARDS_STRIPE_KEY is set and API calls are free, which is for volume tests only. Set a " +
      "price with `company-ledger price set api_call --dollars 0.0001`.",
  )
}
