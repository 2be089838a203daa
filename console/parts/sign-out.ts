import { notifications } from "@mantine/notifications"
import { signOut } from "../api/session.ts"

/** Signs out; says why where that cannot be done. */
export async function signOutOrNotify(): Promise<void> {
  try {
    await signOut()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    notifications.show({ color: "red", message: error.message })
  }
}
