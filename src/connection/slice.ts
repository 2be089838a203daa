/** Installed apps: connection, check-in and updates. */
import { connectionOperations, appReleaseOperations } from "./operate/connection.ts"
import { APP_AGGREGATE, RELEASES_STREAM } from "../../domain/connection/aggregates.ts"
import { appsReadModel } from "../../projections/connection/apps.ts"
import type { Slice } from "../frame/slice.ts"
import { checkIn, reportDevice, readAccount } from "./check-in.ts"
import { connectPage, startConnection } from "./start-connection.ts"
import { listUpdates } from "./list-updates.ts"

export const connectionSlice: Slice = {
  name: "connection",
  streams: { perCompany: [APP_AGGREGATE], perInstallation: [RELEASES_STREAM] },
  groups: {
    connection: `Calls of an installed app: it requests a connection, reads its account, checks in once a day and looks for updates.

An app without a key starts with \`POST /connect/start\`: it shows the code to an owner, sends the code again, and gets a
key once the owner has approved. These calls are not counted.`,
  },
  routes: [startConnection, readAccount, checkIn, listUpdates, reportDevice],
  pages: [connectPage],
  readModels: [appsReadModel],
  commands: [...appReleaseOperations, ...connectionOperations],
  topics: {
    app: "installed apps",
    connect: "apps that request a connection",
    release: "releases of the app",
  },
}
