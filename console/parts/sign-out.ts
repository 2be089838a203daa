import { notifications } from "@mantine/notifications"
import { signOut } from "../api/session.ts"

/** Signs out, and shows an error if that fails. */
export async function signOutOrNotify(): Promise<void> {
  try {
    await signOut()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    notifications.show({ color: "red", message: error.message })
  }
}
