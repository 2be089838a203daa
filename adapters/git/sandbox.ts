/** A git that sees one repository and no network: what strangers send is parsed there. */

/** What the sandbox is made by. */
export const SANDBOX = "bwrap"

/** What of the machine programs are made of. Links among them lead below `/usr`. */
const SYSTEM = ["/bin", "/lib", "/lib64", "/etc/ld.so.cache"]

/**
 * The arguments in front of a command. The process group is the caller's, and nothing ends it with its
 * parent: a git that is left alone takes its quarantine away by itself.
 *
 * @param shown folders to be read
 * @param written the folder that may be written to, where one may
 */
export function sandboxed(shown: readonly string[], written: string | null): readonly string[] {
  return [
    "--unshare-all",
    "--ro-bind",
    "/usr",
    "/usr",
    ...SYSTEM.flatMap((path) => ["--ro-bind-try", path, path]),
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    // In this order: what is bound later lies over what was bound before.
    ...shown.flatMap((path) => ["--ro-bind", path, path]),
    ...(written === null ? [] : ["--bind", written, written]),
    "--",
  ]
}
