/** Findings about boxes on this machine, in sentences. */
import type { LaunchedBox } from "./launch.ts"
import type { BubblewrapContext } from "./options.ts"

/** A finding about the boxes of a machine. */
export interface HostFinding {
  readonly component: "driver" | "limits" | "disk" | "network"
  readonly isHealthy: boolean
  readonly message: string
  /** How to fix it; null if it is healthy. */
  readonly fix: string | null
}

const createFinding = (
  component: HostFinding["component"],
  message: string,
  fix: string | null,
): HostFinding => {
  return { component, isHealthy: fix === null, message, fix }
}

/** The findings of a probe: the launched box, or why it could not be launched. */
export function hostFindings(
  machine: BubblewrapContext,
  outcome: LaunchedBox | string,
): readonly HostFinding[] {
  if (typeof outcome === "string") {
    const fix =
      "Install bubblewrap 0.8 or newer and util-linux, and allow user namespaces: " +
      "kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; " +
      "a container needs a seccomp profile and an AppArmor profile that allow them."
    return [createFinding("driver", `Boxes cannot be created here: ${outcome}`, fix)]
  }
  return [
    driverFinding(machine),
    limitsFinding(machine),
    diskFinding(outcome),
    networkFinding(outcome),
  ]
}

function driverFinding({ isRoot, isDisabled, policy }: BubblewrapContext): HostFinding {
  const users = isRoot ? "each with its own user" : "all with the user of this program"
  const filter = isDisabled("seccomp") ? null : policy.seccompFilter(process.arch)
  if (filter !== null)
    return createFinding("driver", `Boxes are created by bubblewrap, ${users}.`, null)
  const message = `Boxes are created by bubblewrap, ${users}, without a filter of system calls.`
  return createFinding(
    "driver",
    message,
    "Run on x64 or arm64: there is no filter for other processors.",
  )
}

function limitsFinding({
  controlGroups: { controllers, version },
}: BubblewrapContext): HostFinding {
  const enforced = [...controllers].join(", ")
  if (controllers.size === 3) {
    return createFinding(
      "limits",
      `Control groups (version ${version}) limit ${enforced} of boxes.`,
      null,
    )
  }
  const rest =
    controllers.size === 0
      ? "The kernel limits only single processes"
      : `The kernel limits only ${enforced} of boxes`
  return createFinding(
    "limits",
    `${rest}; the box agents enforce the other limits.`,
    "Run as root, or give the program control groups of its own with memory, pids and cpu: " +
      "Delegate=yes in its systemd unit.",
  )
}

function diskFinding({ disk: kind }: LaunchedBox): HostFinding {
  if (kind === "image") {
    return createFinding("disk", "Each box has its own file system of its maximum size.", null)
  }
  return createFinding(
    "disk",
    "The files of boxes are in folders users sizes are checked every five seconds.",
    "Run as root with mkfs.ext4 (e2fsprogs) and loop devices, for limits that cannot be exceeded.",
  )
}

function networkFinding({ firewall, network: way }: LaunchedBox): HostFinding {
  if (way !== "none") {
    const program = way === "slirp" ? "slirp4netns" : "pasta"
    const rules = firewall === "nft" ? "nftables" : "routing rules"
    return createFinding(
      "network",
      `Boxes reach the internet through ${program}, restricted by ${rules}.`,
      null,
    )
  }
  const message =
    firewall === null
      ? "Boxes have no network: their firewall cannot be loaded."
      : "Boxes have no network: neither slirp4netns nor pasta works here."
  const fix =
    firewall === null
      ? "Install nftables or iproute2."
      : "Install slirp4netns or passt, and let the program use /dev/net/tun: mode 0666, and in " +
        "containers --device /dev/net/tun."
  return createFinding("network", message, fix)
}
