/** The web framework's app with everything that the list of slices brings. */
import type { FastifyInstance } from "fastify"
import { freeBytes } from "../../../adapters/machine/machine.ts"
import type { Seat } from "../../../adapters/postgres/homes.ts"
import { buildApp } from "../../frame/http/app.ts"
import type { Measure } from "../../frame/http/metrics.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import { SHOWN } from "../../shown.ts"
import { PROGRAM } from "../../slices.ts"
import type { Config } from "../settings/config.ts"
import { PRICES } from "../../../domain/charging/aggregates.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import { priceOf } from "../../../domain/charging/price-book.ts"

/** Builds it; it does not listen. @param seat which of several processes of this machine it is */
export function appOf(
  ports: AdminPorts,
  config: Pick<
    Config,
    "rateLimits" | "trustProxy" | "baseUrl" | "simulated" | "logRequests" | "dataDir"
  >,
  seat?: Seat,
): Promise<FastifyInstance> {
  return buildApp(ports, PROGRAM.entries, PROGRAM.retired, {
    rateLimits: config.rateLimits,
    trustProxy: config.trustProxy,
    ownHost: config.baseUrl === null ? null : new URL(config.baseUrl).hostname.toLowerCase(),
    doors: PROGRAM.doors(ports),
    aliases: PROGRAM.aliases(ports),
    shown: SHOWN,
    webhooks: PROGRAM.webhooks,
    pages: PROGRAM.pages,
    waysIn: PROGRAM.waysIn,
    probes: PROGRAM.probes,
    measures: [...PROGRAM.measures, diskMeasure(config.dataDir)],
    simulated: config.simulated,
    logRequests: config.logRequests,
    ...(seat !== undefined && { seat }),
  })
}

/** Room on the disk of the data folder, as `doctor` looks at it. */
function diskMeasure(dataDir: string): Measure {
  return {
    name: "ledger_disk_free_bytes",
    help: "What is free on the disk of the data folder, for this user.",
    read: async () => [{ value: await freeBytes(dataDir) }],
  }
}

/**
 * Refuses to serve where Stripe takes payments and calls of the API are free, which is for volume
 * tests: they may have been made free before its key was set. An operator's commands still work, so
 * that the price can be mended.
 *
 * @throws StartupFault with the fix
 */
export async function refuseFreeCalls({
  runner,
  testCards,
}: Pick<AdminPorts, "runner" | "testCards">): Promise<void> {
  if (testCards !== null) return
  const priceMicros = await runner.readLatest(PRICES, (book) => {
    return priceOf(book, "api_call").unitPriceMicros
  })
  if (priceMicros > 0) return
  throw new StartupFault(
    "CARDS_STRIPE_KEY is set and calls of the API are free, which is for volume tests only: give " +
      "them a price with `company-ledger price set api_call --dollars 0.0001`.",
  )
}
