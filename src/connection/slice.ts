/** Installed apps: connecting one, checking in, updates. */
import { connectionOperations, appReleaseOperations } from "./operate/connection.ts"
import { APP_AGGREGATE, RELEASES_STREAM } from "../../domain/connection/aggregates.ts"
import { appsReadModel } from "../../projections/connection/apps.ts"
import type { Slice } from "../frame/slice.ts"
import { checkIn, reportDevice, readAccount } from "./check-in.ts"
import { connectPage, startConnection } from "./start-connection.ts"
import { listUpdates } from "./list-updates.ts"

/** Installed apps of a company. */
export const connectionSlice: Slice = {
  name: "connection",
  streams: { perCompany: [APP_AGGREGATE], perInstallation: [RELEASES_STREAM] },
  groups: {
    connection: `What an installed app does: it asks to be connected, reads its account, checks in once a day, and looks for updates.

An app without a key begins at \`POST /connect/start\`: it shows the code to an owner, asks again with the code, and is
given a key once the owner has approved. None of these calls is counted.`,
  },
  routes: [startConnection, readAccount, checkIn, listUpdates, reportDevice],
  pages: [connectPage],
  readModels: [appsReadModel],
  commands: [...appReleaseOperations, ...connectionOperations],
  topics: {
    app: "installed apps",
    connect: "apps that ask to be connected",
    release: "releases of the app",
  },
}
