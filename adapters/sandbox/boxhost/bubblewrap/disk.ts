/** The files of a box: in a file system image, or in a folder that its agent watches. */
import { chmod, chown, mkdir, open, rm, statfs } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { ProgramFailed, runProgram } from "./programs.ts"
import type { BoxPaths } from "./run-folder.ts"
import type { BubblewrapContext } from "./options.ts"

/** How the size of a box's files is limited. */
export type DiskKind = "image" | "folder"

/**
 * Creates the disk of a box. An image is a file system in a sparse file, which only root can mount;
 * its size is the box's limit.
 */
export async function makeDisk(
  machine: BubblewrapContext,
  { disk, diskImage }: BoxPaths,
  { bytes, uid }: { readonly bytes: number; readonly uid: number | null },
): Promise<DiskKind> {
  await mkdir(disk)
  const kind = (await tryMount(machine, { disk, image: diskImage, bytes, uid }))
    ? "image"
    : "folder"
  for (const name of ["tmp", "home", "workspace", "workspace/repo"]) {
    const path = join(disk, name)
    await mkdir(path)
    await chmod(path, name === "tmp" ? 0o1777 : 0o755)
    if (uid !== null) await chown(path, uid, uid)
  }
  if (uid !== null) await chown(disk, uid, uid)
  return kind
}

async function tryMount(
  machine: BubblewrapContext,
  { bytes, disk, image, uid }: { bytes: number; disk: string; image: string; uid: number | null },
): Promise<boolean> {
  if (uid === null || machine.isDisabled("images")) return false
  try {
    const file = await open(image, "wx", 0o600)
    await file.truncate(bytes)
    await file.close()
    const extended = `lazy_itable_init=1,root_owner=${uid}:${uid}`
    await runProgram("mkfs.ext4", ["-q", "-m", "0", "-E", extended, "-O", "^has_journal", image])
    await runProgram("mount", ["-o", "loop,nosuid,nodev,noatime", image, disk])
    return true
  } catch (error) {
    // The container may not mount, or the program is missing.
    if (!(error instanceof ProgramFailed)) throw error
    await rm(image, { force: true })
    return false
  }
}

/**
 * Unmounts the disk of a running box lazily, so that only the box sees it and it disappears with
 * the box.
 */
export async function detachDisk({ disk, diskImage }: BoxPaths): Promise<void> {
  await runProgram("umount", ["--lazy", disk])
  await rm(diskImage, { force: true })
}

/** Removes the rest of an ended box's disk. */
export async function removeDisk({ disk, diskImage, folder, volume }: BoxPaths): Promise<void> {
  await unmount(volume)
  await unmount(disk)
  await rm(diskImage, { force: true })
  await removeFolder(folder)
}

/** Unmounts a file system. Idempotent. */
async function unmount(disk: string): Promise<void> {
  try {
    await runProgram("umount", ["--quiet", "--lazy", disk])
  } catch (error) {
    // Not mounted or never created.
    if (!(error instanceof ProgramFailed)) throw error
  }
}

/**
 * Removes a folder, which may contain paths longer than the system's limit and folders without
 * permissions.
 */
export async function removeFolder(folder: string): Promise<void> {
  for (let retries = 5; ; retries -= 1) {
    try {
      return await removeTree(folder)
    } catch (error) {
      // An ending process may still have written a file.
      if (!(error instanceof ProgramFailed) || retries === 0) throw error
      await pause(20)
    }
  }
}

async function removeTree(folder: string): Promise<void> {
  try {
    await runProgram("rm", ["-rf", "--one-file-system", "--", folder])
  } catch (error) {
    if (!(error instanceof ProgramFailed)) throw error
    await runProgram("chmod", ["-R", "u+rwx", "--", folder])
    await runProgram("rm", ["-rf", "--one-file-system", "--", folder])
  }
}

/** Free space on a folder's disk, bytes. */
export async function freeBytesOn(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
