/** Tells systemd that a service of `Type=notify` serves. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"

const run = promisify(execFile)

/**
 * Says that the program serves, where a supervisor waits for that: it names a socket in `NOTIFY_SOCKET`. That is a
 * socket of datagrams, which Node does not speak, so systemd's own program says it; the unit lets it by
 * `NotifyAccess=all`.
 *
 * @throws the operating system's error where that program cannot be started, and its words where it failed
 */
export async function tellReady(): Promise<void> {
  if ((process.env["NOTIFY_SOCKET"] ?? "") === "") return
  await run("systemd-notify", ["--ready"])
}
