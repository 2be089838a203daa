/** The routes of installed apps. */
import type { Route } from "../frame/calls/route.ts"
import { checkIn } from "./check-in.ts"
import { listUpdates } from "./list-updates.ts"
import { readAccount } from "./read-account.ts"
import { reportDevice } from "./report-device.ts"
import { startConnection } from "./start-connection.ts"

/** Connecting an app, checking in, updates. */
export const connectionRoutes: readonly Route[] = [
  startConnection,
  readAccount,
  checkIn,
  listUpdates,
  reportDevice,
]
