/** The routes of installed apps. */
import type { Route } from "../pipeline/route.ts"
import { checkIn } from "./check-in.ts"
import { listUpdates } from "./list-updates.ts"
import { reportDevice } from "./report-device.ts"
import { startConnection } from "./start-connection.ts"

/** Connecting an app, checking in, updates. */
export const connectionRoutes: readonly Route[] = [
  startConnection,
  checkIn,
  listUpdates,
  reportDevice,
]
