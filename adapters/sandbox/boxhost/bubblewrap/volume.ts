/** Volumes: files that outlive their sandbox. Like disks, they are images or folders. */
import { chmod, mkdir, open, rename, rm, rmdir, stat } from "node:fs/promises"
import { join } from "node:path"
import type { BoxPlan } from "../port.ts"
import type { DiskKind } from "./disk.ts"
import { ProgramFailed, isNotFoundError, runProgram } from "./programs.ts"
import type { BoxPaths } from "./run-folder.ts"
import { LaunchFailed, type BubblewrapContext } from "./options.ts"

interface VolumeRequest {
  readonly path: string
  readonly bytes: number
  readonly uid: number | null
}

const imagePath = (path: string): string => join(path, "image")
const filesPath = (path: string): string => join(path, "files")

/** The path of a sandbox's volume during the launch. */
export function volumePath({ volume }: BoxPaths, plan: BoxPlan, kind: DiskKind): string {
  return kind === "image" ? volume : filesPath(plan.volume?.path ?? "")
}

/**
 * Creates a volume if needed, mounts it if it is an image, and gives it to the sandbox's user,
 * which may differ each time. Its kind never changes.
 *
 * @throws LaunchFailed if it cannot be mounted, or the user cannot reach it
 */
export async function makeVolume(
  machine: BubblewrapContext,
  { volume }: BoxPaths,
  request: VolumeRequest,
): Promise<DiskKind> {
  const { path, uid } = request
  await mkdir(path, { recursive: true, mode: 0o700 })
  if (await tryMount(machine, volume, request)) {
    if (uid !== null) await changeOwner(uid, volume)
    return "image"
  }
  await mkdir(filesPath(path), { recursive: true, mode: 0o700 })
  if (uid === null) return "folder"
  await chmod(path, 0o711)
  await changeOwner(uid, filesPath(path))
  await checkReachable(uid, filesPath(path))
  return "folder"
}

/** Unmounts the volume of a running sandbox lazily, so that only the sandbox sees it. */
export async function detachVolume({ volume }: BoxPaths): Promise<void> {
  await runProgram("umount", ["--lazy", volume])
}

async function tryMount(
  { isDisabled }: BubblewrapContext,
  volume: string,
  { bytes, path, uid }: VolumeRequest,
): Promise<boolean> {
  const image = imagePath(path)
  if (await exists(image)) {
    await mkdir(volume)
    await mountImage(image, volume).catch((error: unknown) => {
      throw new LaunchFailed(`the volume ${path} cannot be mounted: ${String(error)}`)
    })
    return true
  }
  if (uid === null || isDisabled("images") || (await exists(filesPath(path)))) return false
  await mkdir(volume)
  const unfinished = `${image}.new`
  try {
    await formatImage(unfinished, bytes)
    await mountImage(unfinished, volume)
  } catch (error) {
    // The container may not mount, or the program is missing.
    if (!(error instanceof ProgramFailed)) throw error
    await rm(unfinished, { force: true })
    return false
  }
  await rmdir(join(volume, "lost+found"))
  await rename(unfinished, image)
  return true
}

/** With a journal, so that written data survives a crash of the machine. */
async function formatImage(image: string, bytes: number): Promise<void> {
  const file = await open(image, "w", 0o600)
  await file.truncate(bytes)
  await file.close()
  await runProgram("mkfs.ext4", ["-q", "-m", "0", "-J", "size=16", image])
}

/** `discard` returns deleted space to the machine's disk. */
async function mountImage(image: string, at: string): Promise<void> {
  await runProgram("mount", ["-o", "loop,discard,nosuid,nodev,noatime", image, at])
}

/** The root's owner changes last, so that an interrupted change is repeated. */
async function changeOwner(uid: number, folder: string): Promise<void> {
  if ((await stat(folder)).uid === uid) return
  await runProgram("chown", ["-R", "-h", `${uid}:${uid}`, "--", folder])
}

/** @throws LaunchFailed */
async function checkReachable(uid: number, folder: string): Promise<void> {
  try {
    await runProgram("test", ["-w", folder], { uid, gid: uid, cwd: "/" })
  } catch (error) {
    if (!(error instanceof ProgramFailed)) throw error
    throw new LaunchFailed(
      `the users of sandboxes cannot reach ${folder}; make the folders above it passable (chmod o+x)`,
    )
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (isNotFoundError(error)) return false
    throw error
  }
}
