// Makes up the password of PostgreSQL, once: for its server, and for the driver as a pgpass file.
import { randomBytes } from "node:crypto"
import { chmodSync, chownSync, existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** The user of the image, as its Dockerfile has it. The driver reads no pgpass file that others may read. */
const LEDGER = 10_001

const [, , folder = "."] = process.argv
const [server, driver] = [join(folder, "postgres"), join(folder, "pgpass")]
if (!existsSync(driver)) {
  const password = randomBytes(32).toString("hex")
  writeFileSync(server, password, { mode: 0o444 })
  // The last one: where it is, all is.
  writeFileSync(driver, `*:*:*:ledger:${password}\n`, { mode: 0o600 })
  chmodSync(driver, 0o600)
  if (process.getuid?.() === 0) chownSync(driver, LEDGER, LEDGER)
}
