/** Installed apps: connecting one, checking in, updates. */
import { connectionOperations } from "./operate/connection.ts"
import { releaseOperations } from "./operate/releases.ts"
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
  operations: [...releaseOperations, ...connectionOperations],
  topics: {
    app: "installed apps",
    connect: "apps that ask to be connected",
    release: "releases of the app",
  },
}
