/** What boxes come to on this machine, in sentences. */
import type { LaunchedBox } from "./launch.ts"
import type { BubblewrapContext } from "./options.ts"

/** Something about the boxes of a machine. */
export interface HostFinding {
  readonly component: "driver" | "limits" | "disk" | "network"
  readonly isHealthy: boolean
  readonly message: string
  /** What to do about it; null where all is well. */
  readonly fix: string | null
}

const createFinding = (
  component: HostFinding["component"],
  message: string,
  fix: string | null,
): HostFinding => {
  return { component, isHealthy: fix === null, message, fix }
}

/** What was found by making a box: how it turned out, or why it could not be made. */
export function hostFindings(
  machine: BubblewrapContext,
  outcome: LaunchedBox | string,
): readonly HostFinding[] {
  if (typeof outcome === "string") {
    const fix =
      "Install bubblewrap 0.8 or newer and util-linux, and allow user namespaces: " +
      "kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; " +
      "a container needs a seccomp profile and an AppArmor profile that allow them."
    return [createFinding("driver", `No box can be made here: ${outcome}`, fix)]
  }
  return [
    driverFinding(machine),
    limitsFinding(machine),
    diskFinding(outcome),
    networkFinding(outcome),
  ]
}

function driverFinding({ isRoot, isDisabled, policy }: BubblewrapContext): HostFinding {
  const whose = isRoot ? "each with a user of its own" : "all with the user of this program"
  const filter = isDisabled("seccomp") ? null : policy.seccompFilter(process.arch)
  if (filter !== null)
    return createFinding("driver", `Boxes are made by bubblewrap, ${whose}.`, null)
  const says = `Boxes are made by bubblewrap, ${whose}, without a filter of system calls.`
  return createFinding(
    "driver",
    says,
    "Run on x64 or arm64: no filter is known for other processors.",
  )
}

function limitsFinding({
  controlGroups: { controllers, version },
}: BubblewrapContext): HostFinding {
  const held = [...controllers].join(", ")
  if (controllers.size === 3) {
    return createFinding(
      "limits",
      `Control groups of version ${version} hold ${held} of boxes.`,
      null,
    )
  }
  const rest = controllers.size === 0 ? "Nothing but limits of single processes" : `Only ${held}`
  return createFinding(
    "limits",
    `${rest} held by the kernel; the keepers of boxes look at the rest.`,
    "Run as root, or give the program control groups of its own with memory, pids and cpu: " +
      "Delegate=yes in its systemd unit.",
  )
}

function diskFinding({ disk: kind }: LaunchedBox): HostFinding {
  if (kind === "image") {
    return createFinding(
      "disk",
      "Boxes have file systems of their own, as large as they may be.",
      null,
    )
  }
  return createFinding(
    "disk",
    "The files of boxes lie in folders whose sizes are looked at every five seconds.",
    "Run as root with mkfs.ext4 (e2fsprogs) and loop devices, for limits that are never passed.",
  )
}

function networkFinding({ firewall, network: way }: LaunchedBox): HostFinding {
  if (way !== "none") {
    const program = way === "slirp" ? "slirp4netns" : "pasta"
    const rules = firewall === "nft" ? "nftables" : "rules of routing"
    return createFinding(
      "network",
      `Boxes reach the internet by ${program}, fenced by ${rules}.`,
      null,
    )
  }
  const says =
    firewall === null
      ? "Boxes have no network: their firewall cannot be loaded."
      : "Boxes have no network: no program that makes one works here."
  const fix =
    firewall === null
      ? "Install nftables or iproute2."
      : "Install slirp4netns or passt, and let the program use /dev/net/tun: mode 0666, and in " +
        "containers --device /dev/net/tun."
  return createFinding("network", says, fix)
}
