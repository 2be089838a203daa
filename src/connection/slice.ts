/** Installed apps: connecting one, checking in, updates. */
import { APP, RELEASES } from "../../domain/connection/aggregates.ts"
import { apps } from "../../projections/connection/apps.ts"
import type { Slice } from "../frame/slice.ts"
import { checkIn } from "./check-in.ts"
import { listUpdates } from "./list-updates.ts"
import { readAccount } from "./read-account.ts"
import { reportDevice } from "./report-device.ts"
import { startConnection } from "./start-connection.ts"

/** Installed apps of a company. */
export const connection: Slice = {
  name: "connection",
  streams: { ofCompanies: [APP], ofInstallation: [RELEASES] },
  routes: [startConnection, readAccount, checkIn, listUpdates, reportDevice],
  readModels: [apps],
}
